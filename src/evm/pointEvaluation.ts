import { bls12_381 } from '@noble/curves/bls12-381.js'
import { bigIntToBytes, bytesToBigInt, concatBytes, hexToBytes } from '../primitives/bytes.ts'

/** The operations of EIP-2537 that are needed, on its 128-byte and 256-byte points. */
export interface BLSOperations {
  /** pairs of a G1 point and a 32-byte scalar */
  msmG1(input: Uint8Array): Uint8Array
  /** pairs of a G1 and a G2 point; a word, 1 when the product of the pairings is one */
  pairingCheck(input: Uint8Array): Uint8Array
}

/** [τ]₂ of Ethereum's trusted setup (consensus-specs, trusted_setup_4096.json, g2_monomial[1]). */
const TAU_G2 = encodeG2(
  bls12_381.G2.Point.fromBytes(
    hexToBytes(
      'b5bfd7dd8cdeb128843bc287230af38926187075cbfbefa81009a2ce615ac53d2914e5870cb452d2afaaab24f3499f72' +
        '185cbfee53492714734429b7b38608e23926c911cceceac9a36851477ba4c60b087041de621000edc98edada20c1def2',
    ),
  ),
)
const G1 = encodeG1(bls12_381.G1.Point.BASE)
const G2 = encodeG2(bls12_381.G2.Point.BASE)
const ORDER = bls12_381.fields.Fr.ORDER

/**
 * Verifies a KZG proof that the polynomial behind `commitment` is `y` at `z` (EIP-4844, consensus-specs' verify_kzg_proof):
 * e(C − y·G₁ + z·π, −G₂) · e(π, [τ]₂) = 1. False as well for inputs that are no canonical scalars or points.
 */
export function verifyPointEvaluation(
  bls: BLSOperations,
  commitment: Uint8Array,
  z: Uint8Array,
  y: Uint8Array,
  proof: Uint8Array,
): boolean {
  const yScalar = bytesToBigInt(y)
  if (yScalar >= ORDER || bytesToBigInt(z) >= ORDER) return false
  const commitmentPoint = decodeG1(commitment)
  const proofPoint = decodeG1(proof)
  if (commitmentPoint === undefined || proofPoint === undefined) return false
  const minusOne = bigIntToBytes(ORDER - 1n, 32)
  const minusZ = bigIntToBytes((ORDER - bytesToBigInt(z)) % ORDER, 32)
  const left = bls.msmG1(concatBytes(commitmentPoint, minusOne, G1, y, proofPoint, minusZ))
  const result = bls.pairingCheck(concatBytes(left, G2, proofPoint, TAU_G2))
  return result[31] === 1
}

function decodeG1(compressed: Uint8Array): Uint8Array | undefined {
  try {
    const point = bls12_381.G1.Point.fromBytes(compressed)
    if (!point.equals(bls12_381.G1.Point.ZERO)) point.assertValidity()
    return encodeG1(point)
  } catch {
    return undefined
  }
}

function encodeG1(point: typeof bls12_381.G1.Point.BASE): Uint8Array {
  if (point.equals(bls12_381.G1.Point.ZERO)) return new Uint8Array(128)
  const { x, y } = point.toAffine()
  return concatBytes(bigIntToBytes(x, 64), bigIntToBytes(y, 64))
}

function encodeG2(point: typeof bls12_381.G2.Point.BASE): Uint8Array {
  const { x, y } = point.toAffine()
  return concatBytes(...[x.c0, x.c1, y.c0, y.c1].map((value) => bigIntToBytes(value, 64)))
}
