import { G1_SIZE, type Mcl } from './mcl.ts'

/** Bits of a scalar that one table entry stands for, and the positions of a 32-byte scalar. */
const WINDOW = 4
const POSITIONS = 256 / WINDOW
const ENTRIES = (1 << WINDOW) - 1

/** Multiples of one point of G1 by a table of d · 16^i · point, some three times as fast as a multiplication. */
export class FixedBase {
  readonly #mcl: Mcl
  readonly #table: number

  constructor(mcl: Mcl, point: number) {
    this.#mcl = mcl
    const { f } = mcl
    this.#table = mcl.allocateG1(POSITIONS * ENTRIES)
    // entries are affine: adding such points is faster
    f._mclBnG1_normalize(this.#table, point)
    for (let i = 0; i < POSITIONS; i++) {
      const first = this.#entry(i, 1)
      for (let digit = 2; digit <= ENTRIES; digit++) {
        f._mclBnG1_add(this.#entry(i, digit), this.#entry(i, digit - 1), first)
        f._mclBnG1_normalize(this.#entry(i, digit), this.#entry(i, digit))
      }
      if (i + 1 === POSITIONS) break
      f._mclBnG1_add(this.#entry(i + 1, 1), this.#entry(i, ENTRIES), first)
      f._mclBnG1_normalize(this.#entry(i + 1, 1), this.#entry(i + 1, 1))
    }
  }

  /** Subtracts the 32-byte scalar at `offset` times the point from the point at `sum`. */
  subtract(sum: number, input: Uint8Array, offset: number): void {
    const { f } = this.#mcl
    for (let i = 0; i < 32; i++) {
      const byte = input[offset + 31 - i]!
      const low = byte & 15
      const high = byte >>> 4
      if (low > 0) f._mclBnG1_sub(sum, sum, this.#entry(2 * i, low))
      if (high > 0) f._mclBnG1_sub(sum, sum, this.#entry(2 * i + 1, high))
    }
  }

  #entry(position: number, digit: number): number {
    return this.#table + (position * ENTRIES + digit - 1) * G1_SIZE
  }
}
