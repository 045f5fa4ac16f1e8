import { field, isG1OfOrder, mcl } from './bls12381.ts'
import { FP_SIZE } from './mcl.ts'

const { f } = mcl

const LENGTH = 48
/** Flags in the first byte: compressed, infinity, the larger of both y. */
const COMPRESSED = 0x80
const INFINITY = 0x40
const LARGER = 0x20

const xBytes = new Uint8Array(LENGTH)
const ySquared = mcl.allocateFp()
const four = mcl.allocateFp()
field.set(four, 4n)

/**
 * Reads a point of G1's subgroup in the 48 bytes that consensus specifications use (as ZCash has them); false for everything
 * that is not the one encoding of such a point.
 */
export function readCompressedG1(input: Uint8Array, offset: number, address: number): boolean {
  xBytes.set(input.subarray(offset, offset + LENGTH))
  const flags = xBytes[0]!
  if ((flags & COMPRESSED) === 0) return false
  xBytes[0] = flags & 0x1f
  const y = address + FP_SIZE
  const z = address + 2 * FP_SIZE
  if ((flags & INFINITY) !== 0) {
    mcl.bytes.fill(0, address, z + FP_SIZE)
    return (flags & LARGER) === 0 && xBytes.every((byte) => byte === 0)
  }
  if (!field.read(xBytes, 0, address)) return false
  f._mclBnFp_sqr(ySquared, address)
  f._mclBnFp_mul(ySquared, ySquared, address)
  f._mclBnFp_add(ySquared, ySquared, four)
  if (f._mclBnFp_squareRoot(y, ySquared) !== 0) return false
  // mcl calls the larger root negative
  if ((f._mclBnFp_isNegative(y) === 1) !== ((flags & LARGER) !== 0)) f._mclBnFp_neg(y, y)
  field.setOne(z)
  return isG1OfOrder(address)
}
