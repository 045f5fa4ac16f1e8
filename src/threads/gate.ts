import { setTimeout as sleep } from 'node:timers/promises'

/** What threads wait for that load their modules meanwhile. */
export type Gate = Int32Array<SharedArrayBuffer>

const CELLS = { state: 0, waiting: 1 } as const
const CLOSED = 0
const OPEN = 1

const POLL_MS = 5

export function createGate(): Gate {
  return new Int32Array(new SharedArrayBuffer(Object.keys(CELLS).length * Int32Array.BYTES_PER_ELEMENT))
}

export function openGate(gate: Gate): void {
  Atomics.store(gate, CELLS.state, OPEN)
  Atomics.notify(gate, CELLS.state)
}

/** Blocks this thread, which has nothing else to do yet, until the gate is open. */
export function waitAtGate(gate: Gate): void {
  Atomics.add(gate, CELLS.waiting, 1)
  Atomics.wait(gate, CELLS.state, CLOSED)
}

/**
 * Resolves when so many threads have come to the gate, or after `timeoutMs`. A thread must not be ended before: Node.js's
 * native modules do not survive an end while they are being loaded, and take the process with them.
 */
export async function untilWaiting(gate: Gate, threads: number, timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs
  while (Atomics.load(gate, CELLS.waiting) < threads && performance.now() < deadline) await sleep(POLL_MS)
}
