import {
  createCipheriv,
  createDecipheriv,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
} from 'node:crypto'
import { concatBytes, equalBytes, hexToBytes } from '../../primitives/bytes.ts'
import { type Ed25519Key, signEd25519, verifyEd25519 } from '../../primitives/ed25519.ts'
import { ProtobufError, ProtobufFields, ProtobufWriter } from '../../primitives/protobuf.ts'
import { MerlinTranscript } from './merlin.ts'

/** The other side does not speak SecretConnection, or its bytes were changed on the way. */
export class SecretChannelError extends Error {
  override readonly name = 'SecretChannelError'
}

/** DER that precedes the 32 bytes of an X25519 public key (RFC 8410). */
const X25519_PREFIX = hexToBytes('302a300506032b656e032100')

/** A google.protobuf.BytesValue of 32 bytes with its length before it: the ephemeral key. */
const EPHEMERAL_PREFIX = Uint8Array.of(34, 0x0a, 32)
const EPHEMERAL_LENGTH = EPHEMERAL_PREFIX.length + 32

const DATA_LENGTH = 1024
const FRAME_LENGTH = 4 + DATA_LENGTH
const TAG_LENGTH = 16
const SEALED_LENGTH = FRAME_LENGTH + TAG_LENGTH
/** Frames in which the other side may authenticate itself: Go and Rust take one. Decrypting more for a stranger is work that it chooses. */
const MAX_AUTHENTICATION_FRAMES = 2

/**
 * Returns the secrets of both directions: HKDF-SHA256 of the shared secret
 * (p2p/conn/secret_connection.go, deriveSecrets).
 */
export function deriveSecrets(
  shared: Uint8Array,
  isLower: boolean,
): { readonly receive: Uint8Array; readonly send: Uint8Array } {
  const info = 'TENDERMINT_SECRET_CONNECTION_KEY_AND_CHALLENGE_GEN'
  const bytes = new Uint8Array(hkdfSync('sha256', shared, new Uint8Array(), info, 96))
  const [first, second] = [bytes.slice(0, 32), bytes.slice(32, 64)]
  return isLower ? { receive: first, send: second } : { receive: second, send: first }
}

/** Returns the challenge that both sides sign with their keys. */
export function challengeOf(lower: Uint8Array, upper: Uint8Array, shared: Uint8Array): Uint8Array {
  const transcript = new MerlinTranscript('TENDERMINT_SECRET_CONNECTION_TRANSCRIPT_HASH')
  transcript.append('EPHEMERAL_LOWER_PUBLIC_KEY', lower)
  transcript.append('EPHEMERAL_UPPER_PUBLIC_KEY', upper)
  transcript.append('DH_SECRET', shared)
  return transcript.challenge('SECRET_CONNECTION_MAC', 32)
}

/**
 * One side of CometBFT's SecretConnection (0.38, p2p/conn/secret_connection.go): X25519, HKDF-SHA256, a Merlin transcript that both sign,
 * then ChaCha20-Poly1305 in frames of 1024 bytes. It moves bytes only; a socket belongs to its owner. It proves which key the other side
 * has: whether that may connect is its owner's decision.
 */
export class SecretChannel {
  readonly #key: Ed25519Key
  readonly #write: (bytes: Uint8Array) => void
  readonly #ephemeral = generateKeyPairSync('x25519')
  readonly #own: Uint8Array
  #buffered: Uint8Array = new Uint8Array()
  #secrets: { readonly receive: FrameCipher; readonly send: FrameCipher; readonly challenge: Uint8Array } | undefined
  #remoteKey: Uint8Array | undefined
  /** decrypted bytes of the message that authenticates the other side */
  #authentication: Uint8Array = new Uint8Array()
  #authenticationFrames = 0

  /** Sends the ephemeral key at once. */
  constructor(key: Ed25519Key, write: (bytes: Uint8Array) => void) {
    this.#key = key
    this.#write = write
    this.#own = rawKey(this.#ephemeral.publicKey)
    write(concatBytes(EPHEMERAL_PREFIX, this.#own))
  }

  /** ed25519, 32 bytes: the key that the other side has proved to hold; undefined during the handshake */
  get remoteKey(): Uint8Array | undefined {
    return this.#remoteKey
  }

  /**
   * Takes bytes of the other side.
   * @returns the decrypted bytes of complete frames that came after the handshake
   * @throws SecretChannelError
   */
  receive(bytes: Uint8Array): Uint8Array {
    this.#buffered = concatBytes(this.#buffered, bytes)
    if (this.#secrets === undefined) {
      if (this.#buffered.length < EPHEMERAL_LENGTH) return new Uint8Array()
      this.#agree(this.#take(EPHEMERAL_LENGTH))
    }
    const chunks: Uint8Array[] = []
    while (this.#buffered.length >= SEALED_LENGTH) {
      const data = dataOf(this.#secrets!.receive.open(this.#take(SEALED_LENGTH)))
      chunks.push(this.#remoteKey === undefined ? this.#authenticate(data) : data)
    }
    return concatBytes(...chunks)
  }

  /** Sends bytes in frames; after the handshake. */
  send(bytes: Uint8Array): void {
    const { send } = this.#secrets!
    for (let start = 0; start < bytes.length; start += DATA_LENGTH) {
      const data = bytes.subarray(start, start + DATA_LENGTH)
      const frame = new Uint8Array(FRAME_LENGTH)
      new DataView(frame.buffer).setUint32(0, data.length, true)
      frame.set(data, 4)
      this.#write(send.seal(frame))
    }
  }

  #take(length: number): Uint8Array {
    const taken = this.#buffered.subarray(0, length)
    this.#buffered = this.#buffered.subarray(length)
    return taken
  }

  /** Derives the secrets from the other side's ephemeral key, and sends the own key with the signed challenge. */
  #agree(message: Uint8Array): void {
    if (!equalBytes(message.subarray(0, EPHEMERAL_PREFIX.length), EPHEMERAL_PREFIX)) {
      throw new SecretChannelError('the first message is not an ephemeral key')
    }
    const remote = message.subarray(EPHEMERAL_PREFIX.length)
    const shared = this.#sharedSecret(remote)
    const isLower = Buffer.compare(this.#own, remote) < 0
    const { receive, send } = deriveSecrets(shared, isLower)
    const challenge = isLower ? challengeOf(this.#own, remote, shared) : challengeOf(remote, this.#own, shared)
    this.#secrets = { receive: new FrameCipher(receive), send: new FrameCipher(send), challenge }
    const authentication = new ProtobufWriter()
      .message(1, (writer, key) => writer.bytes(1, key), this.#key.publicKey)
      .bytes(2, signEd25519(this.#key, challenge))
      .finishDelimited()
    this.send(authentication)
  }

  #sharedSecret(remote: Uint8Array): Uint8Array {
    try {
      const der = Buffer.from(concatBytes(X25519_PREFIX, remote))
      const publicKey = createPublicKey({ key: der, format: 'der', type: 'spki' })
      return new Uint8Array(diffieHellman({ privateKey: this.#ephemeral.privateKey, publicKey }))
    } catch (cause) {
      throw new SecretChannelError('its ephemeral key is a point of low order', { cause })
    }
  }

  /** @returns bytes after the message that authenticates the other side; none as long as that is incomplete */
  #authenticate(data: Uint8Array): Uint8Array {
    if (++this.#authenticationFrames > MAX_AUTHENTICATION_FRAMES) {
      throw new SecretChannelError('its authentication is in too many frames')
    }
    this.#authentication = concatBytes(this.#authentication, data)
    // Key and signature, each with tag and length: shorter than 128 bytes, so its length is one byte.
    const length = this.#authentication[0] ?? 0
    if (length >= 0x80) throw new SecretChannelError('its authentication is too long')
    if (this.#authentication.length < 1 + length) return new Uint8Array()
    const { publicKey, signature } = readAuthentication(this.#authentication.subarray(1, 1 + length))
    if (!verifyEd25519(publicKey, this.#secrets!.challenge, signature)) {
      throw new SecretChannelError('it does not hold the key that it shows')
    }
    this.#remoteKey = publicKey
    return this.#authentication.slice(1 + length)
  }
}

function rawKey(key: KeyObject): Uint8Array {
  return new Uint8Array(key.export({ format: 'der', type: 'spki' }).subarray(X25519_PREFIX.length))
}

/** Reads a tendermint.p2p.AuthSigMessage with an ed25519 key. */
function readAuthentication(bytes: Uint8Array): { readonly publicKey: Uint8Array; readonly signature: Uint8Array } {
  try {
    const fields = new ProtobufFields(bytes)
    return {
      publicKey: fields.message(1, (key) => key.fixedBytes(1, 32)),
      signature: fields.fixedBytes(2, 64),
    }
  } catch (cause) {
    if (!(cause instanceof ProtobufError)) throw cause
    throw new SecretChannelError('its authentication is malformed', { cause })
  }
}

function dataOf(frame: Uint8Array): Uint8Array {
  const length = new DataView(frame.buffer, frame.byteOffset, 4).getUint32(0, true)
  if (length > DATA_LENGTH) throw new SecretChannelError('a frame is too long')
  return frame.slice(4, 4 + length)
}

/** ChaCha20-Poly1305 with a counter as nonce: four zero bytes, then 64 bits, little-endian. */
class FrameCipher {
  readonly #key: Uint8Array
  #frames = 0n

  constructor(key: Uint8Array) {
    this.#key = key
  }

  seal(frame: Uint8Array): Uint8Array {
    const cipher = createCipheriv('chacha20-poly1305', this.#key, this.#nonce(), { authTagLength: TAG_LENGTH })
    return concatBytes(cipher.update(frame), cipher.final(), cipher.getAuthTag())
  }

  /** @throws SecretChannelError */
  open(sealed: Uint8Array): Uint8Array {
    const decipher = createDecipheriv('chacha20-poly1305', this.#key, this.#nonce(), { authTagLength: TAG_LENGTH })
    decipher.setAuthTag(sealed.subarray(FRAME_LENGTH))
    const frame = decipher.update(sealed.subarray(0, FRAME_LENGTH))
    try {
      decipher.final()
    } catch (cause) {
      throw new SecretChannelError('a frame was changed on its way', { cause })
    }
    return new Uint8Array(frame)
  }

  #nonce(): Uint8Array {
    const nonce = new Uint8Array(12)
    new DataView(nonce.buffer).setBigUint64(4, this.#frames++, true)
    return nonce
  }
}
