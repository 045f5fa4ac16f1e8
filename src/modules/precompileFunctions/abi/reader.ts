/** Bytes are not the encoding of the expected types. Callers of a contract get no reason, as with compiled Solidity. */
export class AbiError extends Error {
  override readonly name = 'AbiError'
}

export const WORD_BYTES = 32

/**
 * How often each byte may be read, on average. Several offsets may point to the same bytes, so that a short encoding could stand
 * for a huge value: a thousand offsets to one string. No encoder does that.
 */
const READS_OF_A_BYTE = 2
const LIMB_BITS = 64n
/** The position in a word of its last eight bytes, which are enough for most numbers. */
const LAST_LIMB = 24

/**
 * Reads an encoding as strictly as code from the Solidity compiler (ABI coder v2): nothing outside the bytes,
 * and no more work than their length allows.
 */
export class AbiReader {
  readonly data: Uint8Array
  readonly #view: DataView
  #left: number

  constructor(data: Uint8Array) {
    this.data = data
    this.#view = new DataView(data.buffer, data.byteOffset, data.length)
    this.#left = data.length * READS_OF_A_BYTE
  }

  /**
   * Reads the 32 bytes at `at`, a view.
   * @throws AbiError
   */
  word(at: number): Uint8Array {
    return this.view(at, WORD_BYTES)
  }

  /**
   * Reads a word as an unsigned number.
   * @throws AbiError
   */
  number(at: number): bigint {
    this.#take(at, WORD_BYTES)
    const last = this.#view.getBigUint64(at + LAST_LIMB)
    if (this.#isZero(at, LAST_LIMB)) return last
    let value = this.#view.getBigUint64(at)
    for (let limb = 8; limb < LAST_LIMB; limb += 8) value = (value << LIMB_BITS) | this.#view.getBigUint64(at + limb)
    return (value << LIMB_BITS) | last
  }

  /**
   * A view.
   * @throws AbiError
   */
  view(at: number, length: number): Uint8Array {
    this.#take(at, length)
    return this.data.subarray(at, at + length)
  }

  /**
   * Returns a copy, whatever kind of array `data` is.
   * @throws AbiError
   */
  bytes(at: number, length: number): Uint8Array {
    return new Uint8Array(this.view(at, length))
  }

  /**
   * Reads an offset or a length: a number that is at most the number of bytes.
   * @throws AbiError
   */
  size(at: number): number {
    this.#take(at, WORD_BYTES)
    if (!this.#isZero(at, WORD_BYTES - 4)) throw new AbiError('a size out of bounds')
    const size = this.#view.getUint32(at + WORD_BYTES - 4)
    if (size > this.data.length) throw new AbiError('a size out of bounds')
    return size
  }

  /**
   * Checks that there are `length` bytes from `at` on, before an array with this length is
   * allocated.
   * @throws AbiError
   */
  expect(at: number, length: number): void {
    if (at + length > this.data.length) throw new AbiError('out of bounds')
  }

  #take(at: number, length: number): void {
    this.expect(at, length)
    this.#left -= length
    if (this.#left < 0) throw new AbiError('parts are used too often')
  }

  /** Whether `length` bytes, a multiple of 4, are all 0. */
  #isZero(at: number, length: number): boolean {
    for (let i = at; i < at + length; i += 4) if (this.#view.getUint32(i) !== 0) return false
    return true
  }
}
