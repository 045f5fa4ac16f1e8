import { TransportFault } from './socketFrames.ts'

/** Types and flags of frames (hashicorp/yamux, spec.md). */
export const FRAME = { data: 0, windowUpdate: 1, ping: 2, goAway: 3 } as const
export const FLAG = { syn: 1, ack: 2, fin: 4, rst: 8 } as const
const HEADER_BYTES = 12

export interface FrameHeader {
  readonly type: number
  readonly flags: number
  /** 0: the connection */
  readonly streamId: number
  /** of data: bytes that follow */
  readonly length: number
}

interface FrameListener {
  /** Called when a header is complete. Returns whether later frames may pass now. */
  header(header: FrameHeader): boolean
  /** called with some bytes of the data of the frame whose header came last */
  data(bytes: Uint8Array): void
}

/** Follows the headers of yamux frames in the bytes of a connection, so that they can be checked before yamux has them. */
export class YamuxFrames {
  readonly #header = new Uint8Array(HEADER_BYTES)
  readonly #view = new DataView(this.#header.buffer)
  #headerBytes = 0
  /** bytes of data that are still to come */
  #rest = 0

  /** whether more data of the last frame is to come */
  get isWithinData(): boolean {
    return this.#rest > 0
  }

  /**
   * Reads the next bytes until the listener lets no more frames pass.
   * @returns how many bytes were read: those of the last frame that passes are among them
   * @throws TransportFault for a header that yamux does not know, and what the listener throws
   */
  follow(chunk: Uint8Array, listener: FrameListener): number {
    let at = 0
    let passes = true
    while (at < chunk.length) {
      if (this.#rest > 0) {
        const data = chunk.subarray(at, at + this.#rest)
        this.#rest -= data.length
        at += data.length
        listener.data(data)
        continue
      }
      if (!passes) return at
      const piece = chunk.subarray(at, at + HEADER_BYTES - this.#headerBytes)
      this.#header.set(piece, this.#headerBytes)
      this.#headerBytes += piece.length
      at += piece.length
      if (this.#headerBytes < HEADER_BYTES) break
      this.#headerBytes = 0
      const header = this.#decode()
      passes = listener.header(header)
      if (header.type === FRAME.data) this.#rest = header.length
    }
    return at
  }

  #decode(): FrameHeader {
    const [version, type] = this.#header
    const streamId = this.#view.getUint32(4)
    const isOfStream = type === FRAME.data || type === FRAME.windowUpdate
    if (version !== 0 || type! > FRAME.goAway || isOfStream !== streamId > 0)
      throw new TransportFault(`a frame of version ${version} and type ${type} for stream ${streamId}`)
    return { type: type!, flags: this.#view.getUint16(2), streamId, length: this.#view.getUint32(8) }
  }
}
