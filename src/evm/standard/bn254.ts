import { createMcl, FieldCodec, FP_SIZE, G1_SIZE, G2_SIZE } from './mcl.ts'
import { padRight, type StandardPrecompile, toWord } from './standardPrecompile.ts'

/** The arithmetic of bn254 (alt_bn128), in an instance of mcl; its precompiles 0x06 to 0x08 follow. */
const mcl = createMcl('bn254')
const { f } = mcl

const left = mcl.allocateG1()
const right = mcl.allocateG1()

/** 0x06: the sum of two points of bn254 (EIP-196, gas of EIP-1108). */
export const bn254Add: StandardPrecompile = {
  gas: () => 150n,
  run(input) {
    const data = padRight(input, 128)
    const bad = readG1(data, 0, left) ?? readG1(data, 64, right)
    if (bad !== undefined) return bad
    f.mclBnG1_add(left, left, right)
    return writeG1(left)
  },
}

const point = mcl.allocateG1()
const scalar = mcl.allocateFr()
const scalarBytes = mcl.allocate(32)

/** 0x07: a point of bn254 times a scalar (EIP-196, gas of EIP-1108). */
export const bn254Mul: StandardPrecompile = {
  gas: () => 6_000n,
  run(input) {
    const data = padRight(input, 96)
    const bad = readG1(data, 0, point)
    if (bad !== undefined) return bad
    mcl.bytes.set(data.subarray(64), scalarBytes)
    f.mclBnFr_setBigEndianMod(scalar, scalarBytes, 32)
    f.mclBnG1_mul(point, point, scalar)
    return writeG1(point)
  },
}

const PAIR_LENGTH = 192

/** Pairs that are multiplied at once. */
const PRODUCT_BATCH = 64

/** Whether a product of pairings is one, pair by pair, in memory that does not grow with their number. */
class PairingProduct {
  readonly #g1: number
  readonly #g2: number
  readonly #product: number
  readonly #factor: number
  #pending = 0
  #isEmpty = true

  constructor() {
    this.#g1 = mcl.allocateG1(PRODUCT_BATCH)
    this.#g2 = mcl.allocateG2(PRODUCT_BATCH)
    this.#product = mcl.allocateGT()
    this.#factor = mcl.allocateGT()
  }

  /** Begins a new product. */
  begin(): void {
    this.#pending = 0
    this.#isEmpty = true
  }

  /** Where the next pair's points are to be written; {@link push} takes them. */
  get nextG1(): number {
    return this.#g1 + this.#pending * G1_SIZE
  }

  get nextG2(): number {
    return this.#g2 + this.#pending * G2_SIZE
  }

  /** Multiplies by the pairing of the points at {@link nextG1} and {@link nextG2}, which are affine and of the right order. */
  push(): void {
    // the pairing with infinity is one
    if (f.mclBnG1_isZero(this.nextG1) === 1 || f.mclBnG2_isZero(this.nextG2) === 1) return
    this.#pending++
    if (this.#pending === PRODUCT_BATCH) this.#multiply()
  }

  isOne(): boolean {
    if (this.#pending > 0) this.#multiply()
    if (this.#isEmpty) return true
    f.mclBn_finalExp(this.#product, this.#product)
    return f.mclBnGT_isOne(this.#product) === 1
  }

  #multiply(): void {
    f.mclBn_millerLoopVec(this.#isEmpty ? this.#product : this.#factor, this.#g1, this.#g2, this.#pending)
    if (!this.#isEmpty) f.mclBnGT_mul(this.#product, this.#product, this.#factor)
    this.#isEmpty = false
    this.#pending = 0
  }
}

const product = new PairingProduct()

/** 0x08: whether a product of pairings of bn254 is one (EIP-197, gas of EIP-1108); of no pairs it is. */
export const bn254Pairing: StandardPrecompile = {
  gas: (input) => BigInt(45_000 + 34_000 * Math.floor(input.length / PAIR_LENGTH)),
  run(input) {
    if (input.length % PAIR_LENGTH !== 0) return 'bad elliptic curve pairing size'
    product.begin()
    for (let start = 0; start < input.length; start += PAIR_LENGTH) {
      const bad = readG1(input, start, product.nextG1) ?? readG2(input, start + 64, product.nextG2)
      if (bad !== undefined) return bad
      product.push()
    }
    return toWord(product.isOne())
  },
}

/** Modulus of the base field and the parameter that it, the order and the trace are polynomials of (EIP-197). */
const MODULUS = 0x30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47n
const X = 4_965_661_367_192_848_881n

const field = new FieldCodec(mcl, MODULUS, 32)

const BAD = {
  element: 'bn256: coordinate exceeds modulus',
  point: 'bn256: malformed point',
} as const

/** Reads a point of EIP-196 to `address`; returns geth's message for a fault. All points of the curve have the right order. */
function readG1(input: Uint8Array, offset: number, address: number): string | undefined {
  if (!field.read(input, offset, address) || !field.read(input, offset + 32, address + FP_SIZE)) return BAD.element
  const z = address + 2 * FP_SIZE
  if (field.isZero(address) && field.isZero(address + FP_SIZE)) {
    mcl.bytes.fill(0, z, z + FP_SIZE)
    return undefined
  }
  field.setOne(z)
  return f.mclBnG1_isValid(address) === 1 ? undefined : BAD.point
}

/** Reads a point of the subgroup of EIP-197's twist; each coordinate is c1, then c0. */
function readG2(input: Uint8Array, offset: number, address: number): string | undefined {
  let isZero = true
  for (let i = 0; i < 4; i++) {
    const element = address + (i ^ 1) * FP_SIZE
    if (!field.read(input, offset + i * 32, element)) return BAD.element
    if (isZero) isZero = field.isZero(element)
  }
  const z = address + 4 * FP_SIZE
  mcl.bytes.fill(0, z, z + 2 * FP_SIZE)
  if (isZero) return undefined
  field.setOne(z)
  return f.mclBnG2_isValid(address) === 1 && isOfOrder(address) ? undefined : BAD.point
}

/** The 64 bytes of the point at `address`, which becomes affine. */
function writeG1(address: number): Uint8Array {
  const output = new Uint8Array(64)
  if (f.mclBnG1_isZero(address) === 1) return output
  f.mclBnG1_normalize(address, address)
  field.write(address, output, 0)
  field.write(address + FP_SIZE, output, 32)
  return output
}

const temporary = { xQ: mcl.allocateG2(), sum: mcl.allocateG2(), psi: mcl.allocateG2(), rightSide: mcl.allocateG2() }
/** Factors of the untwisted Frobenius ψ(x, y) = (conjugate of x · first, conjugate of y · second). */
const frobenius = frobeniusFactors()
/** Digits of X in non-adjacent form below the leading one, highest first. */
const digits = nonAdjacentForm(X).slice(1)

/**
 * Whether a point of the twist has the order r: (x + 1)Q + ψ(xQ) + ψ²(xQ) = ψ³(2xQ) (El Housni, Guillevic, Piellard:
 * Co-factor clearing and subgroup membership testing on pairing-friendly curves, section 5.1), some four times as fast as
 * a multiplication by r. mcl's own multiplication takes a point of order r for granted.
 */
function isOfOrder(q: number): boolean {
  const { xQ, sum, psi, rightSide } = temporary
  multiplyByX(xQ, q)
  f.mclBnG2_add(sum, xQ, q)
  applyFrobenius(psi, xQ)
  f.mclBnG2_add(sum, sum, psi)
  applyFrobenius(psi, psi)
  f.mclBnG2_add(sum, sum, psi)
  applyFrobenius(psi, psi)
  f.mclBnG2_dbl(rightSide, psi)
  return f.mclBnG2_isEqual(sum, rightSide) === 1
}

function multiplyByX(z: number, q: number): void {
  mcl.bytes.copyWithin(z, q, q + G2_SIZE)
  for (const digit of digits) {
    f.mclBnG2_dbl(z, z)
    if (digit === 1) f.mclBnG2_add(z, z, q)
    else if (digit === -1) f.mclBnG2_sub(z, z, q)
  }
}

/** ψ of a point with Jacobian coordinates, of which conjugation keeps x = X / Z² and y = Y / Z³. */
function applyFrobenius(z: number, q: number): void {
  if (z !== q) mcl.bytes.copyWithin(z, q, q + G2_SIZE)
  for (let i = 1; i < 6; i += 2) f.mclBnFp_neg(z + i * FP_SIZE, z + i * FP_SIZE)
  f.mclBnFp2_mul(z, z, frobenius.x)
  f.mclBnFp2_mul(z + 2 * FP_SIZE, z + 2 * FP_SIZE, frobenius.y)
}

/** (9 + i) to the (p − 1) / 3 and to the (p − 1) / 2, in Fp2. */
function frobeniusFactors(): { readonly x: number; readonly y: number } {
  const power = (exponent: bigint): number => {
    const base = mcl.allocateFp(2)
    const result = mcl.allocateFp(2)
    field.set(base, 9n)
    field.set(base + FP_SIZE, 1n)
    field.set(result, 1n)
    for (const bit of exponent.toString(2)) {
      f.mclBnFp2_mul(result, result, result)
      if (bit === '1') f.mclBnFp2_mul(result, result, base)
    }
    return result
  }
  return { x: power((MODULUS - 1n) / 3n), y: power((MODULUS - 1n) / 2n) }
}

function nonAdjacentForm(value: bigint): number[] {
  const form: number[] = []
  for (let rest = value; rest > 0n; rest >>= 1n) {
    const digit = (rest & 1n) === 0n ? 0 : 2 - Number(rest & 3n)
    form.unshift(digit)
    rest -= BigInt(digit)
  }
  return form
}
