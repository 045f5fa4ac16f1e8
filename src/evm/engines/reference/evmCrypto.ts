import type { CustomCrypto } from '@ethereumjs/common'
import { type EVMBLSInterface, type EVMBN254Interface, MCLBLS, RustBN254 } from '@ethereumjs/evm'
import { bls12_381 } from '@noble/curves/bls12-381.js'
import mcl from 'mcl-wasm'
import { initRustBN } from 'rustbn-wasm'
import { bigIntToBytes, bytesToBigInt, concatBytes, hexToBytes, padLeft } from '../../../primitives/bytes.ts'
import { keccak256, sha256 } from '../../../primitives/hash.ts'
import { isRefusal, recoverPublicKey } from '../../../primitives/secp256k1.ts'

/** The arithmetic that @ethereumjs/evm is given instead of its slow defaults. */
interface EVMCrypto {
  readonly custom: CustomCrypto
  readonly bls: EVMBLSInterface
  readonly bn254: EVMBN254Interface
}

await mcl.init(mcl.BLS12_381)
const bls = new MCLBLS(mcl)
bls.init()
const bn254 = new RustBN254(await initRustBN())

/** Stands for functions of KZG that the EVM does not use: it only verifies point evaluations. */
function unusedByEVM(): never {
  throw new Error('the EVM verifies single KZG proofs only')
}

/** WebAssembly keccak and sha256, native secp256k1, WebAssembly BLS12-381 (mcl) and bn254 (rust). */
export const evmCrypto: EVMCrypto = {
  bls,
  bn254,
  custom: {
    keccak256,
    sha256,
    ecrecover(digest, v, r, s) {
      // v is the parity, 27 or 28, or EIP-155's, which is odd for parity 0 as 27 is
      const recovery = (v > 1n ? v - 27n : v) % 2n === 1n ? 1 : 0
      const publicKey = recoverPublicKey(digest, recovery, bytesToBigInt(padLeft(r, 32)), bytesToBigInt(padLeft(s, 32)))
      if (publicKey === undefined) throw new Error('no public key signed this')
      return publicKey
    },
    kzg: {
      verifyProof: (commitment, z, y, proof) =>
        verifyPointEvaluation(bls, hexToBytes(commitment), hexToBytes(z), hexToBytes(y), hexToBytes(proof)),
      blobToKzgCommitment: unusedByEVM,
      computeBlobProof: unusedByEVM,
      verifyBlobProofBatch: unusedByEVM,
      computeCells: unusedByEVM,
      computeCellsAndProofs: unusedByEVM,
      recoverCellsAndProofs: unusedByEVM,
      verifyCellKzgProofBatch: unusedByEVM,
    },
  },
}

/** The operations of EIP-2537 that are needed, on its 128-byte and 256-byte points. */
interface BLSOperations {
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
 * Verifies a KZG proof that the polynomial behind `commitment` is `y` at `z` (EIP-4844, consensus-specs' verify_kzg_proof),
 * written independently of the one in standard/pointEvaluation.ts:
 * e(C − y·G₁ + z·π, −G₂) · e(π, [τ]₂) = 1. Returns false also for scalars that are not canonical
 * and for invalid points.
 */
function verifyPointEvaluation(
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
  } catch (error) {
    if (!isRefusal(error)) throw error
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
