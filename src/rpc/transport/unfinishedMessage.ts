import type { ClientBudget } from './clientBudget.ts'

/**
 * Memory besides the bytes: each part that the network delivers, and each fragment of a message, is
 * an object of its own.
 */
const PART_BYTES = 512
const FRAGMENT_BYTES = 128
/** A frame's first two bytes, up to eight of a long length and four of the mask (RFC 6455, section 5.2). */
const MAX_HEADER_LENGTH = 14

/**
 * The memory of a WebSocket's message that has begun and is not complete, taken from a budget. `ws`
 * reports nothing about a message before its end, so this class follows the headers of the frames;
 * `ws` checks that they are valid.
 */
export class UnfinishedMessage {
  readonly #budget: ClientBudget
  readonly #client: string
  readonly #header = new Uint8Array(MAX_HEADER_LENGTH)
  #headerLength = 0
  #payloadLeft = 0
  /** whether frames of a message have come, but not its last one */
  #isFragmented = false
  #taken = 0
  #beganMs: number | undefined

  constructor(budget: ClientBudget, client: string) {
    this.#budget = budget
    this.#client = client
  }

  /**
   * Follows bytes that were read from the network. The memory of a message is returned when it is
   * complete.
   * @returns false: there is no room for the bytes; nothing more may be read then
   */
  add(bytes: Uint8Array, nowMs: number): boolean {
    const { hasBegun, fragments } = this.#follow(bytes)
    if (hasBegun) this.release()
    if (!this.#isUnfinished) return true
    this.#beganMs ??= nowMs
    // The first bytes of a message keep everything that came with them in memory.
    const cost = bytes.length + PART_BYTES + fragments * FRAGMENT_BYTES
    if (!this.#budget.take(this.#client, cost)) return false
    this.#taken += cost
    return true
  }

  /** Whether the message has been unfinished for more than `maxMs`. */
  isLate(nowMs: number, maxMs: number): boolean {
    return this.#beganMs !== undefined && nowMs - this.#beganMs > maxMs
  }

  /** Restarts the message's time, for a client whose bytes were not read for some time. */
  restart(nowMs: number): void {
    if (this.#beganMs !== undefined) this.#beganMs = nowMs
  }

  /** Returns all memory to the budget. */
  release(): void {
    if (this.#taken > 0) this.#budget.giveBack(this.#client, this.#taken)
    this.#taken = 0
    this.#beganMs = undefined
  }

  get #isUnfinished(): boolean {
    return this.#isFragmented || this.#headerLength > 0 || this.#payloadLeft > 0
  }

  /**
   * Follows frames.
   * @returns hasBegun: whether the currently unfinished message, if there is one, began in these
   *   bytes; fragments: how many of its fragments ended in them
   */
  #follow(bytes: Uint8Array): { readonly hasBegun: boolean; readonly fragments: number } {
    let hasBegun = !this.#isUnfinished
    let fragments = 0
    for (let offset = 0; offset < bytes.length; ) {
      offset += this.#payloadLeft > 0 ? this.#skipPayload(bytes.length - offset) : this.#readHeader(bytes[offset]!)
      if (this.#payloadLeft > 0 || !this.#isHeaderComplete) continue
      this.#headerLength = 0
      const first = this.#header[0]!
      // Control frames such as pings may come between the fragments of a message.
      const isControl = (first & 0x08) !== 0
      if (!isControl) this.#isFragmented = (first & 0x80) === 0
      if (!this.#isFragmented) {
        hasBegun = true
        fragments = 0
      } else if (!isControl) fragments++
    }
    return { hasBegun, fragments }
  }

  #skipPayload(available: number): number {
    const skipped = Math.min(this.#payloadLeft, available)
    this.#payloadLeft -= skipped
    return skipped
  }

  #readHeader(byte: number): 1 {
    this.#header[this.#headerLength++] = byte
    if (this.#isHeaderComplete) this.#payloadLeft = this.#payloadLength
    return 1
  }

  get #isHeaderComplete(): boolean {
    const second = this.#header[1]!
    const maskLength = (second & 0x80) === 0 ? 0 : 4
    return this.#headerLength >= 2 && this.#headerLength === 2 + lengthBytes(second) + maskLength
  }

  get #payloadLength(): number {
    const second = this.#header[1]!
    const length = lengthBytes(second)
    if (length === 0) return second & 0x7f
    return this.#header.subarray(2, 2 + length).reduce((sum, byte) => sum * 256 + byte, 0)
  }
}

/** Returns how many more bytes of length follow a frame's second byte. */
function lengthBytes(second: number): number {
  const length = second & 0x7f
  if (length === 126) return 2
  return length === 127 ? 8 : 0
}
