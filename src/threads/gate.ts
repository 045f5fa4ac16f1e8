/** What threads wait for that load their modules meanwhile. */
export type Gate = Int32Array<SharedArrayBuffer>

const CLOSED = 0
const OPEN = 1

export function createGate(): Gate {
  return new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
}

export function openGate(gate: Gate): void {
  Atomics.store(gate, 0, OPEN)
  Atomics.notify(gate, 0)
}

/** Blocks this thread, which has nothing else to do yet, until the gate is open. */
export function waitAtGate(gate: Gate): void {
  Atomics.wait(gate, 0, CLOSED)
}
