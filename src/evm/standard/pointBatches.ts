import { G1_SIZE, G2_SIZE, type Mcl, type MclFunctions } from './mcl.ts'

/** Points that are added up at once: Pippenger's method gains little with more. */
const SUM_BATCH = 128
const SCALAR_LENGTH = 32

/** Sums of multiplied points of G1 or G2 in memory that does not grow with their number. */
export class MultiScalar {
  readonly #mcl: Mcl
  readonly #pointSize: number
  readonly #points: number
  readonly #scalars: number
  readonly #scalarBytes: number
  readonly #part: number
  /** where the sum is */
  readonly sum: number
  readonly #multiply: MclFunctions['mclBnG1_mulVec']
  readonly #add: MclFunctions['mclBnG1_add']
  readonly #isZero: MclFunctions['mclBnG1_isZero']
  #pending = 0

  constructor(mcl: Mcl, group: 'G1' | 'G2') {
    this.#mcl = mcl
    const { f } = mcl
    this.#pointSize = group === 'G1' ? G1_SIZE : G2_SIZE
    this.#multiply = group === 'G1' ? f.mclBnG1_mulVec : f.mclBnG2_mulVec
    this.#add = group === 'G1' ? f.mclBnG1_add : f.mclBnG2_add
    this.#isZero = group === 'G1' ? f.mclBnG1_isZero : f.mclBnG2_isZero
    this.#points = mcl.allocate(SUM_BATCH * this.#pointSize)
    this.#scalars = mcl.allocateFr(SUM_BATCH)
    this.#scalarBytes = mcl.allocate(SCALAR_LENGTH)
    this.#part = mcl.allocate(this.#pointSize)
    this.sum = mcl.allocate(this.#pointSize)
  }

  /** Makes the sum zero. */
  begin(): void {
    this.#pending = 0
    this.#mcl.bytes.fill(0, this.sum, this.sum + this.#pointSize)
  }

  /** Where the next point is to be written; {@link push} takes it. */
  get nextPoint(): number {
    return this.#points + this.#pending * this.#pointSize
  }

  /** Adds the point at {@link nextPoint}, of the group's order, times the 32-byte scalar, which may exceed the order. */
  push(input: Uint8Array, offset: number): void {
    const { f, bytes } = this.#mcl
    const scalar = this.#scalars + this.#pending * SCALAR_LENGTH
    for (let i = 0; i < SCALAR_LENGTH; i++) bytes[this.#scalarBytes + i] = input[offset + i]!
    f.mclBnFr_setBigEndianMod(scalar, this.#scalarBytes, SCALAR_LENGTH)
    if (f.mclBnFr_isZero(scalar) === 1 || this.#isZero(this.nextPoint) === 1) return
    this.#pending++
    if (this.#pending === SUM_BATCH) this.end()
  }

  /** Adds up what is pending. */
  end(): void {
    if (this.#pending === 0) return
    this.#multiply(this.#part, this.#points, this.#scalars, this.#pending)
    this.#add(this.sum, this.sum, this.#part)
    this.#pending = 0
  }
}

/** Pairs that are multiplied at once. */
const PRODUCT_BATCH = 64

/** Whether a product of pairings is one, pair by pair, in memory that does not grow with their number. */
export class PairingProduct {
  readonly #mcl: Mcl
  readonly #g1: number
  readonly #g2: number
  readonly #product: number
  readonly #factor: number
  #pending = 0
  #isEmpty = true

  constructor(mcl: Mcl) {
    this.#mcl = mcl
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
    const { f } = this.#mcl
    // the pairing with infinity is one
    if (f.mclBnG1_isZero(this.nextG1) === 1 || f.mclBnG2_isZero(this.nextG2) === 1) return
    this.#pending++
    if (this.#pending === PRODUCT_BATCH) this.#multiply()
  }

  isOne(): boolean {
    const { f } = this.#mcl
    if (this.#pending > 0) this.#multiply()
    if (this.#isEmpty) return true
    f.mclBn_finalExp(this.#product, this.#product)
    return f.mclBnGT_isOne(this.#product) === 1
  }

  #multiply(): void {
    const { f } = this.#mcl
    f.mclBn_millerLoopVec(this.#isEmpty ? this.#product : this.#factor, this.#g1, this.#g2, this.#pending)
    if (!this.#isEmpty) f.mclBnGT_mul(this.#product, this.#product, this.#factor)
    this.#isEmpty = false
    this.#pending = 0
  }
}
