import { G1_SIZE, G2_SIZE, type Mcl } from './mcl.ts'

/** Pairs that are worked on at once. */
const BATCH = 64

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
    this.#g1 = mcl.allocateG1(BATCH)
    this.#g2 = mcl.allocateG2(BATCH)
    this.#product = mcl.allocateGT()
    this.#factor = mcl.allocateGT()
  }

  /** Forgets what came before. */
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
    if (f._mclBnG1_isZero(this.nextG1) === 1 || f._mclBnG2_isZero(this.nextG2) === 1) return
    this.#pending++
    if (this.#pending === BATCH) this.#multiply()
  }

  isOne(): boolean {
    const { f } = this.#mcl
    if (this.#pending > 0) this.#multiply()
    if (this.#isEmpty) return true
    f._mclBn_finalExp(this.#product, this.#product)
    return f._mclBnGT_isOne(this.#product) === 1
  }

  #multiply(): void {
    const { f } = this.#mcl
    f._mclBn_millerLoopVec(this.#isEmpty ? this.#product : this.#factor, this.#g1, this.#g2, this.#pending)
    if (!this.#isEmpty) f._mclBnGT_mul(this.#product, this.#product, this.#factor)
    this.#isEmpty = false
    this.#pending = 0
  }
}
