import { LIMITS } from './limits.ts'

const MAX_LINE = 1_024
const MAX_PREFIX = 2
const NEWLINE = '\n'

/** The lines of multistream-select with which the other side chooses the protocol of a stream that it has opened. */
class ProtocolLines {
  /** lines that have begun */
  count = 0
  #prefix = 0
  #length = 0
  #line: Buffer | undefined
  #filled = 0

  /**
   * Reads the next bytes of the stream up to the end of a line.
   * @returns the bytes read, and the line when it is complete; undefined for a line of a length that libp2p refuses
   */
  read(bytes: Uint8Array): { readonly used: number; readonly line: string | undefined } | undefined {
    let at = 0
    while (this.#line === undefined) {
      const byte = bytes[at++]
      if (byte === undefined) return { used: bytes.length, line: undefined }
      this.#length += (byte & 0x7f) * 2 ** (7 * this.#prefix++)
      if (byte >= 0x80 && this.#prefix < MAX_PREFIX) continue
      if (byte >= 0x80 || this.#length > MAX_LINE) return undefined
      this.count++
      this.#line = Buffer.alloc(this.#length)
    }
    const piece = bytes.subarray(at, at + this.#line.length - this.#filled)
    this.#line.set(piece, this.#filled)
    this.#filled += piece.length
    const used = at + piece.length
    if (this.#filled < this.#line.length) return { used, line: undefined }
    const line = this.#line.toString('latin1')
    this.#line = undefined
    this.#prefix = this.#length = this.#filled = 0
    return { used, line }
  }
}

interface Negotiation {
  /** undefined when the protocol is chosen */
  lines: ProtocolLines | undefined
  /** bytes that came after the choice */
  early: number
}

/**
 * The streams of a connection whose protocol libp2p does not know yet. It answers each line (`ls` with all protocols, an unknown one
 * with `na`), and buffers what comes after the last one while its answer waits for the socket, whatever the window of the stream is.
 */
export class StreamNegotiations {
  readonly #protocols: () => readonly string[]
  readonly #open = new Map<number, Negotiation>()
  /** bytes that came before libp2p has passed their streams on */
  early = 0

  /** @param protocols that this node speaks */
  constructor(protocols: () => readonly string[]) {
    this.#protocols = protocols
  }

  get size(): number {
    return this.#open.size
  }

  /** @param isOwn this node has opened the stream: the other side sends answers, which libp2p reads as they arrive */
  open(streamId: number, isOwn: boolean): void {
    if (!this.#open.has(streamId))
      this.#open.set(streamId, { lines: isOwn ? undefined : new ProtocolLines(), early: 0 })
  }

  has(streamId: number): boolean {
    return this.#open.has(streamId)
  }

  /** Forgets a stream that has ended, or that libp2p has passed on. */
  delete(streamId: number): void {
    this.early -= this.#open.get(streamId)?.early ?? 0
    this.#open.delete(streamId)
  }

  /** Forgets all streams for which `isOpen` is false. */
  prune(isOpen: (streamId: number) => boolean): void {
    for (const streamId of [...this.#open.keys()]) if (!isOpen(streamId)) this.delete(streamId)
  }

  /**
   * Reads bytes of a stream.
   * @returns the protocol if it is chosen in them; false: the other side negotiates without end
   */
  read(streamId: number, bytes: Uint8Array): string | false | undefined {
    const negotiation = this.#open.get(streamId)
    if (negotiation === undefined) return undefined
    let rest = bytes
    let chosen: string | undefined
    while (rest.length > 0 && negotiation.lines !== undefined) {
      const read = negotiation.lines.read(rest)
      if (read === undefined || negotiation.lines.count > LIMITS.protocolLines) return false
      rest = rest.subarray(read.used)
      if (read.line?.endsWith(NEWLINE) !== true) continue
      const protocol = read.line.slice(0, -NEWLINE.length)
      if (!this.#protocols().includes(protocol)) continue
      negotiation.lines = undefined
      chosen = protocol
    }
    negotiation.early += rest.length
    this.early += rest.length
    return chosen
  }
}
