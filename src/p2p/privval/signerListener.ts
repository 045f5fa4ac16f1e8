import { lstatSync, rmSync, statSync } from 'node:fs'
import { chmod } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import type { SignerAddress } from '../../config/valueKind.ts'
import { bytesKey, bytesToHex } from '../../primitives/bytes.ts'
import type { Ed25519Key } from '../../primitives/ed25519.ts'
import { NO_IDENTITY, type RemoteKey, type RemoteSigner } from './remoteKey.ts'
import { SecretChannel, SecretChannelError } from './secretChannel.ts'

/*
 * A client that reaches the port can make the node do a handshake (about a millisecond), and no more.
 * Connections are few, and short-lived until they have shown an allowed key. Beyond a rate, new ones are
 * hung up on at once. This does not affect a signer that reconnects, since the addresses of signers have
 * a rate of their own. Beyond a higher rate the port is closed for a second, which costs nothing.
 * Signers that are connected do not notice.
 */

/** Connections that have not shown their key; a further one takes the place of the oldest. */
const MAX_PENDING = 32
const HANDSHAKE_MS = 3_000
/** Signers whose connections have no key, or share one of the allowed keys. */
const MAX_SIGNERS = 8
/** Handshakes in {@link WINDOW_MS} with the addresses from which signers have come, and as many with all others. */
const MAX_HANDSHAKES = 20
/** New connections in {@link WINDOW_MS}; then the port is closed until it is over. */
const MAX_ACCEPTS = 200
const WINDOW_MS = 1_000
/** Addresses of signers that are remembered: the newest ones. */
const MAX_SIGNER_ADDRESSES = 16
/** Unsent bytes of a connection whose other end does not read; a question has 300. */
const MAX_UNSENT = 64 * 1024

interface SignerListenerOptions {
  readonly address: SignerAddress
  /**
   * connection keys (ed25519, 32 bytes) that may connect over TCP; undefined for any key, on the
   * loopback interface only
   */
  readonly allowedKeys: readonly Uint8Array[] | undefined
  /** this node's key: a signer may check it, as the ID of the node that it connects to */
  readonly nodeKey: Ed25519Key
  readonly remoteKey: RemoteKey
  readonly onFailure: (error: Error) => void
  readonly log: { warn(fields: object, message: string): void }
}

/** Listens for remote signers: over TCP with SecretConnection, or on a Unix socket, which its file mode guards. */
export class SignerListener {
  readonly #options: SignerListenerOptions
  readonly #allowed: ReadonlySet<string> | undefined
  readonly #pending = new Set<Socket>()
  readonly #sockets = new Set<Socket>()
  #server: Server | undefined
  #port: number | undefined
  /** from which signers have come */
  readonly #signerAddresses = new Set<string>()
  #accepts = 0
  #handshakes = { signers: 0, others: 0 }
  #windowEnds = 0
  #warnedMs = Number.NEGATIVE_INFINITY
  #reopening: ReturnType<typeof setTimeout> | undefined
  #isClosed = false

  constructor(options: SignerListenerOptions) {
    this.#options = options
    this.#allowed = options.allowedKeys && new Set(options.allowedKeys.map(bytesKey))
  }

  /** Resolves when signers can connect. @throws the system's error when the address cannot be used */
  async open(): Promise<void> {
    const { address } = this.#options
    if (address.kind === 'unix') removeStaleSocket(address.path)
    // After a flood it is the same port again, also where the system has chosen it.
    const place =
      address.kind === 'unix' ? { path: address.path } : { host: address.host, port: this.#port ?? address.port }
    const server = createServer((socket) => this.#accept(socket))
    this.#server = server
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(place, () => {
        server.off('error', reject)
        resolve()
      })
    })
    server.on('error', (error) => this.#options.onFailure(error))
    const bound = server.address()
    if (bound !== null && typeof bound === 'object') this.#port = bound.port
    if (address.kind === 'unix') await chmod(address.path, 0o660)
  }

  /** the port where it listens; undefined on a Unix socket, or before it listens */
  get port(): number | undefined {
    return this.#port
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#reopening)
    this.#server?.close()
    for (const socket of this.#sockets) socket.destroy()
  }

  #accept(socket: Socket): void {
    // `close` follows, where the connection's end is handled.
    socket.on('error', () => undefined)
    if (!this.#countAccept(socket)) {
      socket.destroy()
      return
    }
    this.#sockets.add(socket)
    socket.on('close', () => this.#sockets.delete(socket))
    socket.setNoDelay(true)
    if (this.#options.address.kind === 'unix') this.#join(socket, 'unix', NO_IDENTITY, (bytes) => write(socket, bytes))
    else this.#shakeHands(socket)
  }

  /** Counts a new connection. @returns whether there is a handshake left for it */
  #countAccept(socket: Socket): boolean {
    const nowMs = performance.now()
    if (nowMs >= this.#windowEnds) {
      this.#windowEnds = nowMs + WINDOW_MS
      this.#accepts = 0
      this.#handshakes = { signers: 0, others: 0 }
    }
    if (++this.#accepts === MAX_ACCEPTS) this.#closeForAWindow()
    const { remoteAddress } = socket
    const isSigner = remoteAddress !== undefined && this.#signerAddresses.has(remoteAddress)
    return ++this.#handshakes[isSigner ? 'signers' : 'others'] <= MAX_HANDSHAKES
  }

  /** Closes the port for a window of time. Connected sockets stay. */
  #closeForAWindow(): void {
    const { log } = this.#options
    log.warn(
      { connections: MAX_ACCEPTS },
      'too many connections to the port of remote signers: it is closed for a second',
    )
    this.#server?.close()
    this.#reopening = setTimeout(() => this.#reopen(), WINDOW_MS)
  }

  #rememberAddress(address: string): void {
    this.#signerAddresses.delete(address)
    this.#signerAddresses.add(address)
    const [oldest] = this.#signerAddresses
    if (this.#signerAddresses.size > MAX_SIGNER_ADDRESSES) this.#signerAddresses.delete(oldest!)
  }

  #reopen(): void {
    if (this.#isClosed) return
    this.open().catch((error: unknown) => {
      this.#options.onFailure(error as Error)
      this.#reopening = setTimeout(() => this.#reopen(), WINDOW_MS)
    })
  }

  /** Strangers get a line a second at most. */
  #warn(fields: object, message: string): void {
    const nowMs = performance.now()
    if (nowMs - this.#warnedMs < WINDOW_MS) return
    this.#warnedMs = nowMs
    this.#options.log.warn(fields, message)
  }

  #shakeHands(socket: Socket): void {
    if (this.#pending.size >= MAX_PENDING) {
      const [oldest] = this.#pending
      oldest!.destroy()
    }
    this.#pending.add(socket)
    const timer = setTimeout(() => socket.destroy(), HANDSHAKE_MS)
    const settle = (): void => {
      clearTimeout(timer)
      this.#pending.delete(socket)
    }
    socket.on('close', settle)
    const channel = new SecretChannel(this.#options.nodeKey, (bytes) => write(socket, bytes))
    let signer: RemoteSigner | undefined
    socket.on('data', (bytes: Uint8Array) => {
      const data = this.#decrypt(channel, socket, bytes)
      if (data === undefined) return
      if (signer === undefined && channel.remoteKey !== undefined) {
        settle()
        signer = this.#admit(socket, channel)
      }
      if (data.length > 0) signer?.receive(data)
    })
  }

  #decrypt(channel: SecretChannel, socket: Socket, bytes: Uint8Array): Uint8Array | undefined {
    try {
      return channel.receive(bytes)
    } catch (error) {
      if (!(error instanceof SecretChannelError)) throw error
      const fields = { address: socket.remoteAddress, reason: error.message }
      this.#warn(fields, 'a connection to the port of remote signers has failed')
      socket.destroy()
      return undefined
    }
  }

  /** Admits or refuses a connection that has shown its key. */
  #admit(socket: Socket, channel: SecretChannel): RemoteSigner | undefined {
    const key = channel.remoteKey!
    if (this.#allowed !== undefined && !this.#allowed.has(bytesKey(key))) {
      const fields = { address: socket.remoteAddress, key: bytesToHex(key).slice(2) }
      this.#warn(fields, 'a remote signer is refused: its connection key is not in PRIV_VALIDATOR_SIGNER_KEYS')
      socket.destroy()
      return undefined
    }
    if (socket.remoteAddress !== undefined) this.#rememberAddress(socket.remoteAddress)
    // Without a list of allowed keys, keys prove nothing, and CometBFT's signer has a new one at each start.
    const identity = this.#allowed === undefined ? NO_IDENTITY : key
    return this.#join(socket, `${socket.remoteAddress}:${socket.remotePort}`, identity, (bytes) => channel.send(bytes))
  }

  #join(
    socket: Socket,
    name: string,
    identity: Uint8Array,
    send: (bytes: Uint8Array) => void,
  ): RemoteSigner | undefined {
    const { remoteKey } = this.#options
    if (remoteKey.signerCount >= MAX_SIGNERS) {
      this.#warn({ address: name, signers: remoteKey.signerCount }, 'a remote signer is refused: there are enough')
      socket.destroy()
      return undefined
    }
    const signer = remoteKey.connected({ identity, name, send, close: () => socket.destroy() })
    socket.on('close', () => remoteKey.disconnected(signer))
    if (this.#options.address.kind === 'unix') socket.on('data', (bytes: Uint8Array) => signer.receive(bytes))
    return signer
  }
}

function write(socket: Socket, bytes: Uint8Array): void {
  if (socket.destroyed) return
  if (socket.writableLength > MAX_UNSENT) socket.destroy()
  else socket.write(bytes)
}

/** Removes a socket that a killed node left behind. By the data directory's lock, no other node listens here. */
function removeStaleSocket(path: string): void {
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return
  if (lstatSync(path).isSocket()) rmSync(path)
}
