/** Bits by index; a set of the numbers 0 to `size` - 1. */
export interface BitSet {
  readonly size: number
  /** least significant bit first, ceil(size / 8) bytes, unused bits 0 */
  readonly bytes: Uint8Array
}

/** Places 0 to `size` - 1, all empty but `indices`. */
export function createBitSet(size: number, indices: Iterable<number> = []): BitSet {
  const set: BitSet = { size, bytes: new Uint8Array(Math.ceil(size / 8)) }
  for (const index of indices) addBit(set, index)
  return set
}

/** A set of its own: the original may change later. */
export function copyBitSet({ size, bytes }: BitSet): BitSet {
  return { size, bytes: bytes.slice() }
}

/** False for an index outside of the set too. */
export function hasBit({ size, bytes }: BitSet, index: number): boolean {
  return index >= 0 && index < size && (bytes[index >> 3]! & (1 << (index & 7))) !== 0
}

/** @throws RangeError when the set has no such place */
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

/** What is in `a` and not in `b`, ascending; places that `b` does not have count as empty. */
export function bitDifference(a: BitSet, b: BitSet): number[] {
  const indices: number[] = []
  for (let at = 0; at < a.bytes.length; at++) collect(indices, at, a.bytes[at]! & ~(b.bytes[at] ?? 0))
  return indices
}

function collect(indices: number[], at: number, byte: number): void {
  for (let bit = 0; byte >> bit !== 0; bit++) if (((byte >> bit) & 1) !== 0) indices.push(at * 8 + bit)
}

/** Whether the bytes are as many as the size needs, and the bits beyond it are 0. */
export function isCanonicalBitSet({ size, bytes }: BitSet): boolean {
  if (bytes.length !== Math.ceil(size / 8)) return false
  const unused = bytes.length * 8 - size
  return unused === 0 || bytes.at(-1)! >> (8 - unused) === 0
}
