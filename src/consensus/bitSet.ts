/** A set of numbers from 0 to `size` - 1, one bit for each. */
export interface BitSet {
  readonly size: number
  /** least significant bit first, ceil(size / 8) bytes, unused bits 0 */
  readonly bytes: Uint8Array
}

/** A set of this size that contains `indices`. */
export function createBitSet(size: number, indices: Iterable<number> = []): BitSet {
  const set: BitSet = { size, bytes: new Uint8Array(Math.ceil(size / 8)) }
  for (const index of indices) addBit(set, index)
  return set
}

/** Returns an independent copy. */
export function copyBitSet({ size, bytes }: BitSet): BitSet {
  return { size, bytes: bytes.slice() }
}

/** Also false for an index out of range. */
export function hasBit({ size, bytes }: BitSet, index: number): boolean {
  return index >= 0 && index < size && (bytes[index >> 3]! & (1 << (index & 7))) !== 0
}

/** @throws RangeError when the index is out of range */
export function addBit({ size, bytes }: BitSet, index: number): void {
  if (!(index >= 0 && index < size)) throw new RangeError(`a set of ${size} bits has no bit ${index}`)
  bytes[index >> 3]! |= 1 << (index & 7)
}

export function countBits({ bytes }: BitSet): number {
  let count = 0
  for (const byte of bytes) for (let rest = byte; rest !== 0; rest &= rest - 1) count++
  return count
}

/** Ascending. */
export function bitIndices({ bytes }: BitSet): number[] {
  const indices: number[] = []
  for (let at = 0; at < bytes.length; at++) collect(indices, at, bytes[at]!)
  return indices
}

/** Returns the numbers in `a` that are not in `b`, ascending; `b` may be smaller. */
export function bitDifference(a: BitSet, b: BitSet): number[] {
  const indices: number[] = []
  for (let at = 0; at < a.bytes.length; at++) collect(indices, at, a.bytes[at]! & ~(b.bytes[at] ?? 0))
  return indices
}

function collect(indices: number[], at: number, byte: number): void {
  for (let bit = 0; byte >> bit !== 0; bit++) if (((byte >> bit) & 1) !== 0) indices.push(at * 8 + bit)
}

/** Whether the number of bytes fits the size, and the unused bits are 0. */
export function isCanonicalBitSet({ size, bytes }: BitSet): boolean {
  if (bytes.length !== Math.ceil(size / 8)) return false
  const unused = bytes.length * 8 - size
  return unused === 0 || bytes.at(-1)! >> (8 - unused) === 0
}
