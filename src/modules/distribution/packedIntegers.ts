import { bigIntToMinimalBytes, bytesToBigInt } from '../../primitives/bytes.ts'

/**
 * Numbers that are not negative, each as its length (one byte) and its bytes. Records of rewards hold long decimals and are written by
 * every delegation: this is a third of the size of the digits that protobuf types of the SDK have.
 */
export function packIntegers(...values: readonly bigint[]): Uint8Array {
  const parts = values.map(bigIntToMinimalBytes)
  const out = new Uint8Array(parts.reduce((sum, { length }) => sum + 1 + length, 0))
  let at = 0
  for (const part of parts) {
    out[at] = part.length
    out.set(part, at + 1)
    at += 1 + part.length
  }
  return out
}

/** What {@link packIntegers} wrote. */
export function unpackIntegers(packed: Uint8Array): readonly bigint[] {
  const values: bigint[] = []
  for (let at = 0; at < packed.length; at += 1 + packed[at]!) {
    values.push(bytesToBigInt(packed.subarray(at + 1, at + 1 + packed[at]!)))
  }
  return values
}
