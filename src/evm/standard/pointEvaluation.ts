import { bytesToBigInt, hexToBytes, toBuffer } from '../../primitives/bytes.ts'
import { sha256 } from '../../primitives/hash.ts'
import { field, isG1OfOrder, mcl, readG1OfOrder, readG2OfOrder } from './bls12381.ts'
import { FP_SIZE, G1_SIZE, type Mcl } from './mcl.ts'
import type { StandardPrecompile } from './standardPrecompile.ts'

const { f } = mcl

const LENGTH = 192
/** The order of BLS12-381's groups. */
const BLS_MODULUS = 0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001n
/** FIELD_ELEMENTS_PER_BLOB and BLS_MODULUS. */
const OUTPUT = hexToBytes(`${(4_096).toString(16).padStart(64, '0')}${BLS_MODULUS.toString(16)}`)
const VERSION = 0x01

const commitment = mcl.allocateG1()
const proof = mcl.allocateG1()
const zProof = mcl.allocateG1()
const zScalar = mcl.allocateFr()
const zBytes = mcl.allocate(32)
const product = mcl.allocateGT()

/** 0x0a: verifies a KZG proof (EIP-4844): versioned hash, z, y, commitment, proof. */
export const pointEvaluation: StandardPrecompile = {
  gas: () => 50_000n,
  run(input) {
    if (input.length !== LENGTH) return 'invalid input length'
    const versionedHash = sha256(input.subarray(96, 144))
    versionedHash[0] = VERSION
    if (toBuffer(versionedHash).compare(input, 0, 32) !== 0) return 'mismatched versioned hash'
    return isProven(input) ? OUTPUT.slice() : 'error verifying kzg proof'
  },
}

/**
 * Whether the polynomial behind the commitment is y at z (consensus-specs, verify_kzg_proof):
 * e(C − y·G₁ + z·π, −G₂) · e(π, [τ]₂) = 1, where both points of G2 are constants, so that their part of the pairings is computed once.
 */
function isProven(input: Uint8Array): boolean {
  if (bytesToBigInt(input.subarray(32, 64)) >= BLS_MODULUS) return false
  if (bytesToBigInt(input.subarray(64, 96)) >= BLS_MODULUS) return false
  if (!readCompressedG1(input, 96, commitment) || !readCompressedG1(input, 144, proof)) return false
  mcl.bytes.set(input.subarray(32, 64), zBytes)
  f.mclBnFr_setBigEndianMod(zScalar, zBytes, 32)
  f.mclBnG1_mul(zProof, proof, zScalar)
  f.mclBnG1_add(commitment, commitment, zProof)
  generator.subtract(commitment, input, 64)
  // a pairing is one only where one of the points is infinity
  const isZero = f.mclBnG1_isZero(proof) === 1
  if (isZero || f.mclBnG1_isZero(commitment) === 1) return isZero && f.mclBnG1_isZero(commitment) === 1
  f.mclBnG1_normalize(commitment, commitment)
  f.mclBn_precomputedMillerLoop2(product, commitment, minusG2Lines, proof, tauLines)
  f.mclBn_finalExp(product, product)
  return f.mclBnGT_isOne(product) === 1
}

const COMPRESSED_LENGTH = 48
/** Flags in the first byte: compressed, infinity, the larger of both y. */
const COMPRESSED = 0x80
const INFINITY = 0x40
const LARGER = 0x20

const xBytes = new Uint8Array(COMPRESSED_LENGTH)
const ySquared = mcl.allocateFp()
const four = mcl.allocateFp()
field.set(four, 4n)

/**
 * Reads a point of G1's subgroup in the 48 bytes that consensus specifications use (as ZCash has them); false for everything
 * that is not the one encoding of such a point.
 */
function readCompressedG1(input: Uint8Array, offset: number, address: number): boolean {
  xBytes.set(input.subarray(offset, offset + COMPRESSED_LENGTH))
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
  f.mclBnFp_sqr(ySquared, address)
  f.mclBnFp_mul(ySquared, ySquared, address)
  f.mclBnFp_add(ySquared, ySquared, four)
  if (f.mclBnFp_squareRoot(y, ySquared) !== 0) return false
  // mcl calls the larger root negative
  if ((f.mclBnFp_isNegative(y) === 1) !== ((flags & LARGER) !== 0)) f.mclBnFp_neg(y, y)
  field.setOne(z)
  return isG1OfOrder(address)
}

/** Bits of a scalar that one table entry stands for, and the positions of a 32-byte scalar. */
const WINDOW = 4
const POSITIONS = 256 / WINDOW
const ENTRIES = (1 << WINDOW) - 1

/** Multiples of one point of G1 by a table of d · 16^i · point, some three times as fast as a multiplication. */
class FixedBase {
  readonly #mcl: Mcl
  readonly #table: number

  constructor(mcl: Mcl, point: number) {
    this.#mcl = mcl
    const { f } = mcl
    this.#table = mcl.allocateG1(POSITIONS * ENTRIES)
    // entries are affine: adding such points is faster
    f.mclBnG1_normalize(this.#table, point)
    for (let i = 0; i < POSITIONS; i++) {
      const first = this.#entry(i, 1)
      for (let digit = 2; digit <= ENTRIES; digit++) {
        f.mclBnG1_add(this.#entry(i, digit), this.#entry(i, digit - 1), first)
        f.mclBnG1_normalize(this.#entry(i, digit), this.#entry(i, digit))
      }
      if (i + 1 === POSITIONS) break
      f.mclBnG1_add(this.#entry(i + 1, 1), this.#entry(i, ENTRIES), first)
      f.mclBnG1_normalize(this.#entry(i + 1, 1), this.#entry(i + 1, 1))
    }
  }

  /** Subtracts the 32-byte scalar at `offset` times the point from the point at `sum`. */
  subtract(sum: number, input: Uint8Array, offset: number): void {
    const { f } = this.#mcl
    for (let i = 0; i < 32; i++) {
      const byte = input[offset + 31 - i]!
      const low = byte & 15
      const high = byte >>> 4
      if (low > 0) f.mclBnG1_sub(sum, sum, this.#entry(2 * i, low))
      if (high > 0) f.mclBnG1_sub(sum, sum, this.#entry(2 * i + 1, high))
    }
  }

  #entry(position: number, digit: number): number {
    return this.#table + (position * ENTRIES + digit - 1) * G1_SIZE
  }
}

/** Generators of the groups (EIP-2537), the 48 bytes of each coordinate. */
const G1_GENERATOR = [
  '17f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb',
  '08b3f481e3aaa0f1a09e30ed741d8ae4fcf5e095d5d00af600db18cb2c04b3edd03cc744a2888ae40caa232946c5e7e1',
]
const MINUS_G2_GENERATOR = [
  '024aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d1770bac0326a805bbefd48056c8c121bdb8',
  '13e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049334cf11213945d57e5ac7d055d042b7e',
  '0d1b3cc2c7027888be51d9ef691d77bcb679afda66c73f17f9ee3837a55024f78c71363275a75d75d86bab79f74782aa',
  '13fa4d4a0ad8b1ce186ed5061789213d993923066dddaf1040bc3ff59f825c78df74f2d75467e25e0f55f8a00fa030ed',
]
/** [τ]₂ of Ethereum's trusted setup (consensus-specs, trusted_setup_4096.json, g2_monomial[1]), decompressed. */
const TAU_G2 = [
  '185cbfee53492714734429b7b38608e23926c911cceceac9a36851477ba4c60b087041de621000edc98edada20c1def2',
  '15bfd7dd8cdeb128843bc287230af38926187075cbfbefa81009a2ce615ac53d2914e5870cb452d2afaaab24f3499f72',
  '014353bdb96b626dd7d5ee8599d1fca2131569490e28de18e82451a496a9c9794ce26d105941f383ee689bfbbb832a99',
  '1666c54b0a32529503432fcae0181b4bef79de09fc63671fda5ed1ba9bfa07899495346f3d7ac9cd23048ef30d0a154f',
]

const generator = new FixedBase(mcl, constantG1(G1_GENERATOR))
const minusG2Lines = lines(MINUS_G2_GENERATOR)
const tauLines = lines(TAU_G2)

/** The lines through a point of G2 that a pairing with it evaluates. */
function lines(coordinates: readonly string[]): number {
  const point = mcl.allocateG2()
  if (readG2OfOrder(padded(coordinates), 0, point) !== undefined) throw new Error('a constant is no point of G2')
  const buffer = mcl.allocate(f.mclBn_getUint64NumToPrecompute() * 8)
  f.mclBn_precomputeG2(buffer, point)
  return buffer
}

function constantG1(coordinates: readonly string[]): number {
  const point = mcl.allocateG1()
  if (readG1OfOrder(padded(coordinates), 0, point) !== undefined) throw new Error('a constant is no point of G1')
  return point
}

function padded(coordinates: readonly string[]): Uint8Array {
  return hexToBytes(coordinates.map((coordinate) => coordinate.padStart(128, '0')).join(''))
}
