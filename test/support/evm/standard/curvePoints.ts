import { bls12_381 } from '@noble/curves/bls12-381.js'
import { bn254 } from '@noble/curves/bn254.js'
import { bigIntToBytes, concatBytes } from '../../../../src/primitives/bytes.ts'

/** Points in the encodings of EIP-196, EIP-197 and EIP-2537, and points that must not be taken. */

export const words = (size: number, ...values: readonly bigint[]) =>
  concatBytes(...values.map((value) => bigIntToBytes(value, size)))

export const BN_ORDER = bn254.fields.Fr.ORDER
export const BN_MODULUS = bn254.fields.Fp.ORDER
export const BLS_ORDER = bls12_381.fields.Fr.ORDER
export const BLS_MODULUS = bls12_381.fields.Fp.ORDER

/** A multiple of the generator; of 0, infinity. */
export function bnG1(k: bigint): Uint8Array {
  if (k % BN_ORDER === 0n) return new Uint8Array(64)
  const { x, y } = bn254.G1.Point.BASE.multiply(k % BN_ORDER).toAffine()
  return words(32, x, y)
}

export function bnG2(k: bigint): Uint8Array {
  if (k % BN_ORDER === 0n) return new Uint8Array(128)
  return encodeBnG2(bn254.G2.Point.BASE.multiply(k % BN_ORDER))
}

function encodeBnG2(point: typeof bn254.G2.Point.BASE): Uint8Array {
  const { x, y } = point.toAffine()
  return words(32, x.c1, x.c0, y.c1, y.c0)
}

export function blsG1(k: bigint): Uint8Array {
  if (k % BLS_ORDER === 0n) return new Uint8Array(128)
  return encodeBlsG1(bls12_381.G1.Point.BASE.multiply(k % BLS_ORDER))
}

function encodeBlsG1(point: typeof bls12_381.G1.Point.BASE): Uint8Array {
  const { x, y } = point.toAffine()
  return words(64, x, y)
}

export function blsG2(k: bigint): Uint8Array {
  if (k % BLS_ORDER === 0n) return new Uint8Array(256)
  return encodeBlsG2(bls12_381.G2.Point.BASE.multiply(k % BLS_ORDER))
}

function encodeBlsG2(point: typeof bls12_381.G2.Point.BASE): Uint8Array {
  const { x, y } = point.toAffine()
  return words(64, x.c0, x.c1, y.c0, y.c1)
}

/**
 * The point of BLS12-381's G1 curve with the first x from `start` on that has one, as good as never in the subgroup; `factor` multiplies
 * it, which leaves it on the curve.
 */
export function blsG1Outside(start: bigint, factor = 1n): Uint8Array {
  const { Fp } = bls12_381.fields
  const point = firstPoint(start, (x) =>
    bls12_381.G1.Point.fromAffine({ x, y: Fp.sqrt(Fp.add(Fp.mul(Fp.sqr(x), x), 4n)) }),
  )
  // noble multiplies by less than the order only
  let product = bls12_381.G1.Point.ZERO
  for (const bit of factor.toString(2)) {
    product = product.double()
    if (bit === '1') product = product.add(point)
  }
  return product.equals(bls12_381.G1.Point.ZERO) ? new Uint8Array(128) : encodeBlsG1(product)
}

export function blsG2Outside(start: bigint): Uint8Array {
  const { Fp2 } = bls12_381.fields
  const b = Fp2.create({ c0: 4n, c1: 4n })
  return encodeBlsG2(
    firstPoint(start, (c0) => {
      const x = Fp2.create({ c0, c1: 1n })
      return bls12_381.G2.Point.fromAffine({ x, y: Fp2.sqrt(Fp2.add(Fp2.mul(Fp2.sqr(x), x), b)) })
    }),
  )
}

/** A point of bn254's twist outside of the subgroup; `factor` multiplies it, which leaves it on the twist. */
export function bnG2Outside(start: bigint, factor = 1n): Uint8Array {
  const { Fp2 } = bn254.fields
  const b = Fp2.div(Fp2.create({ c0: 3n, c1: 0n }), Fp2.create({ c0: 9n, c1: 1n }))
  const point = firstPoint(start, (c0) => {
    const x = Fp2.create({ c0, c1: 1n })
    return bn254.G2.Point.fromAffine({ x, y: Fp2.sqrt(Fp2.add(Fp2.mul(Fp2.sqr(x), x), b)) })
  })
  // noble multiplies by less than the order only
  let product = bn254.G2.Point.ZERO
  for (const bit of factor.toString(2)) {
    product = product.double()
    if (bit === '1') product = product.add(point)
  }
  return product.equals(bn254.G2.Point.ZERO) ? new Uint8Array(128) : encodeBnG2(product)
}

function firstPoint<Point>(start: bigint, at: (x: bigint) => Point): Point {
  for (let x = start; ; x++) {
    try {
      return at(x)
    } catch {
      // no square root: the next x
    }
  }
}
