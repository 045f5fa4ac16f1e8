import { LIMITS } from './limits.ts'

/** A peer sent bytes that no node of this network sends. */
export class TransportFault extends Error {
  override readonly name = 'TransportFault'
}

/** Both sides begin with this: multistream-select agrees on noise, the only encryption of this network. */
const PREAMBLE = Buffer.from('\x13/multistream/1.0.0\n\x07/noise\n', 'latin1')
/** Bytes before each noise message: its length, big-endian. */
const PREFIX = 2
/** The authentication tag of each encrypted message (noise specification, section 5.1). */
const TAG_BYTES = 16

/**
 * Follows the bytes of a socket up to the encryption: the preamble, then noise messages. It reads only their lengths, so it costs less
 * than what libp2p would do with wrong ones: it answers each line of a negotiation, and it decrypts messages without content.
 */
export class SocketFrames {
  #preamble = 0
  /** messages of the handshake that are still to come: they are not encrypted or carry keys, and are short */
  #handshakes: number
  #prefix = 0
  #length = 0
  /** bytes of the current message that are still to come */
  #rest = 0

  /** @param isInbound whether the other side has opened the connection */
  constructor(isInbound: boolean) {
    // Noise XX has three messages: the side that opens the connection sends the first and the third.
    this.#handshakes = isInbound ? 2 : 1
  }

  /**
   * Returns how many messages begin in the next bytes of the socket.
   * @throws TransportFault
   */
  follow(chunk: Uint8Array): number {
    let at = 0
    let messages = 0
    for (; this.#preamble < PREAMBLE.length && at < chunk.length; at++) {
      if (chunk[at] !== PREAMBLE[this.#preamble++]) throw new TransportFault('it does not speak noise')
    }
    while (at < chunk.length) {
      if (this.#rest > 0) {
        const passed = Math.min(this.#rest, chunk.length - at)
        this.#rest -= passed
        at += passed
        continue
      }
      this.#length = this.#length * 256 + chunk[at++]!
      if (++this.#prefix < PREFIX) continue
      this.#begin(this.#length)
      messages++
      this.#prefix = 0
      this.#length = 0
    }
    return messages
  }

  #begin(length: number): void {
    if (this.#handshakes > 0) {
      this.#handshakes--
      if (length === 0 || length > LIMITS.noiseHandshakeBytes)
        throw new TransportFault(`a message of ${length} bytes in the noise handshake`)
    } else if (length < TAG_BYTES) {
      throw new TransportFault(`an encrypted message of ${length} bytes`)
    }
    this.#rest = length
  }
}
