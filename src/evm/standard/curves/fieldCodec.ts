import { FP_SIZE, type Mcl } from './mcl.ts'

/**
 * Big-endian integers of calls in and out of mcl's memory. mcl keeps an element x as x·R modulo p, little-endian, with R = 2 to
 * the bits of its words: multiplying by R² and by 1 in its way changes between the two.
 */
export class FieldCodec {
  readonly #mcl: Mcl
  /** 32-bit words of an element */
  readonly #count: number
  readonly #modulus: readonly number[]
  readonly #squaredR: number
  readonly #one: number
  readonly #scratch: number

  /** `byteLength` is that of an element: 32 for bn254, 48 for BLS12-381. */
  constructor(mcl: Mcl, modulus: bigint, byteLength: number) {
    this.#mcl = mcl
    this.#count = byteLength / 4
    this.#modulus = Array.from({ length: this.#count }, (_, i) => Number((modulus >> BigInt(32 * i)) & 0xffffffffn))
    this.#squaredR = mcl.allocateFp()
    this.#one = mcl.allocateFp()
    this.#scratch = mcl.allocateFp()
    this.#store((1n << BigInt(byteLength * 16)) % modulus, this.#squaredR)
    this.#store(1n, this.#one)
  }

  /** Reads the integer at `offset` of `bytes` into the element at `address`; false when it is not below the modulus. */
  read(bytes: Uint8Array, offset: number, address: number): boolean {
    const { words } = this.#mcl
    const start = address >>> 2
    let isBelow = false
    let isAbove = false
    let at = offset
    for (let i = this.#count - 1; i >= 0; i--) {
      const word = ((bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!) >>> 0
      at += 4
      words[start + i] = word
      if (!isBelow && !isAbove) {
        const limit = this.#modulus[i]!
        isBelow = word < limit
        isAbove = word > limit
      }
    }
    if (!isBelow) return false
    this.#mcl.f._mclBnFp_mul(address, address, this.#squaredR)
    return true
  }

  /** Writes the element at `address` as an integer to `offset` of `bytes`. */
  write(address: number, bytes: Uint8Array, offset: number): void {
    this.#mcl.f._mclBnFp_mul(this.#scratch, address, this.#one)
    const { words } = this.#mcl
    const start = this.#scratch >>> 2
    let at = offset
    for (let i = this.#count - 1; i >= 0; i--) {
      const word = words[start + i]!
      bytes[at] = word >>> 24
      bytes[at + 1] = (word >>> 16) & 0xff
      bytes[at + 2] = (word >>> 8) & 0xff
      bytes[at + 3] = word & 0xff
      at += 4
    }
  }

  /** Makes the element at `address` that of `value`, which is below the modulus. */
  set(address: number, value: bigint): void {
    this.#store(value, address)
    this.#mcl.f._mclBnFp_mul(address, address, this.#squaredR)
  }

  isZero(address: number): boolean {
    const { words } = this.#mcl
    const start = address >>> 2
    for (let i = 0; i < this.#count; i++) if (words[start + i] !== 0) return false
    return true
  }

  areEqual(a: number, b: number): boolean {
    const { words } = this.#mcl
    for (let i = 0; i < this.#count; i++) if (words[(a >>> 2) + i] !== words[(b >>> 2) + i]) return false
    return true
  }

  /** Makes the element at `address` the one. */
  setOne(address: number): void {
    this.#mcl.f._mclBnFp_mul(address, this.#one, this.#squaredR)
  }

  #store(value: bigint, address: number): void {
    const { words } = this.#mcl
    const start = address >>> 2
    for (let i = 0; i < FP_SIZE / 4; i++) words[start + i] = Number((value >> BigInt(32 * i)) & 0xffffffffn)
  }
}
