/** Bytes before each frame: its length, big-endian. */
const PREFIX = 4

/** A frame that is longer than its stream allows, or empty. */
export class FrameError extends Error {
  override readonly name = 'FrameError'
}

/** `body` behind its length, as it goes on a stream. */
export function encodeFrame(body: Uint8Array): Uint8Array {
  const frame = new Uint8Array(PREFIX + body.length)
  new DataView(frame.buffer).setUint32(0, body.length)
  frame.set(body, PREFIX)
  return frame
}

/**
 * Cuts a byte stream into frames. A frame's memory is taken when its length is known to be allowed, so a peer that announces much
 * and sends nothing costs one frame at most.
 */
export class FrameReader {
  readonly #maxBytes: number
  readonly #prefix = new Uint8Array(PREFIX)
  #prefixLength = 0
  #body: Uint8Array | undefined
  #bodyLength = 0
  /** what arrived but is not cut yet */
  #waiting: Uint8Array[] = []

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  push(chunk: Uint8Array): void {
    if (chunk.length > 0) this.#waiting.push(chunk)
  }

  /** whether the stream could end here */
  get isBetweenFrames(): boolean {
    return this.#prefixLength === 0 && this.#waiting.length === 0
  }

  /**
   * The next whole frame, in memory of its own; undefined until more arrives.
   * @throws FrameError
   */
  next(): Uint8Array | undefined {
    for (;;) {
      const chunk = this.#waiting[0]
      if (chunk === undefined) return undefined
      const used = this.#body === undefined ? this.#readPrefix(chunk) : this.#readBody(chunk, this.#body)
      if (used === chunk.length) this.#waiting.shift()
      else this.#waiting[0] = chunk.subarray(used)
      const body = this.#body
      if (body === undefined || this.#bodyLength < body.length) continue
      this.#body = undefined
      this.#prefixLength = 0
      this.#bodyLength = 0
      return body
    }
  }

  #readPrefix(chunk: Uint8Array): number {
    const used = Math.min(PREFIX - this.#prefixLength, chunk.length)
    this.#prefix.set(chunk.subarray(0, used), this.#prefixLength)
    this.#prefixLength += used
    if (this.#prefixLength < PREFIX) return used
    const length = new DataView(this.#prefix.buffer).getUint32(0)
    if (length === 0) throw new FrameError('an empty frame')
    if (length > this.#maxBytes)
      throw new FrameError(`a frame of ${length} bytes, at most ${this.#maxBytes} are allowed`)
    this.#body = new Uint8Array(length)
    return used
  }

  #readBody(chunk: Uint8Array, body: Uint8Array): number {
    const used = Math.min(body.length - this.#bodyLength, chunk.length)
    body.set(chunk.subarray(0, used), this.#bodyLength)
    this.#bodyLength += used
    return used
  }
}
