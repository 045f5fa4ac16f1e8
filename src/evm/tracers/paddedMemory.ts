/** Bytes beyond the memory that a tracer may ask for, as in geth (eth/tracers/internal, memoryPadLimit). */
const MOST_PADDING = 1024 * 1024

/**
 * Returns a copy of `size` bytes of memory from `offset` on, with zeros where the memory ends
 * before that: a step is shown before the machine makes its memory longer. Returns undefined where
 * more than a MiB of zeros would be needed, or where geth does not accept the numbers as sizes
 * (GetMemoryCopyPadded: signed 64-bit integers).
 */
export function paddedMemory(memory: Uint8Array, offset: bigint, size: bigint): Uint8Array | undefined {
  const start = BigInt.asIntN(64, offset)
  const length = BigInt.asIntN(64, size)
  if (start < 0n || length < 0n || start + length - BigInt(memory.length) > MOST_PADDING) return undefined
  const out = new Uint8Array(Number(length))
  if (start < memory.length) out.set(memory.subarray(Number(start), Number(start + length)))
  return out
}
