/** Why bytes are not the encoding of the expected types. Callers learn no more than that (compiled Solidity says nothing). */
export class AbiError extends Error {
  override readonly name = 'AbiError'
}

export const WORD_BYTES = 32

/**
 * Parts of an encoding may be pointed to more than once, so that a short one could stand for a value of any size: a
 * thousand offsets to one string. Nobody's encoder does that; all that is read together is at most twice what there is.
 */
const READS_OF_A_BYTE = 2
/** A length or offset above this is beyond any calldata. */
const LENGTH_BYTES = 6

/**
 * Reads an encoding as strictly as code from the Solidity compiler (ABI coder v2): nothing outside the bytes, nothing
 * that needs more work than their length says. What it gives is copied out of `data`.
 */
export class AbiReader {
  readonly data: Uint8Array
  #left: number

  constructor(data: Uint8Array) {
    this.data = data
    this.#left = data.length * READS_OF_A_BYTE
  }

  /**
   * The 32 bytes at `at`, a view.
   * @throws AbiError
   */
  word(at: number): Uint8Array {
    return this.#take(at, WORD_BYTES)
  }

  /**
   * A copy, whatever kind of array `data` is.
   * @throws AbiError
   */
  bytes(at: number, length: number): Uint8Array {
    return new Uint8Array(this.#take(at, length))
  }

  /**
   * An offset or a length: a number that is no more than there are bytes.
   * @throws AbiError
   */
  size(at: number): number {
    const word = this.word(at)
    for (let i = 0; i < WORD_BYTES - LENGTH_BYTES; i++) if (word[i] !== 0) throw new AbiError('a size out of bounds')
    let size = 0
    for (let i = WORD_BYTES - LENGTH_BYTES; i < WORD_BYTES; i++) size = size * 256 + word[i]!
    if (size > this.data.length) throw new AbiError('a size out of bounds')
    return size
  }

  /**
   * Says that `length` bytes from `at` on are about to be read: a length is checked before anything is made of it.
   * @throws AbiError
   */
  expect(at: number, length: number): void {
    if (at + length > this.data.length) throw new AbiError('out of bounds')
  }

  #take(at: number, length: number): Uint8Array {
    this.expect(at, length)
    this.#left -= length
    if (this.#left < 0) throw new AbiError('parts are used too often')
    return this.data.subarray(at, at + length)
  }
}
