import type { Connection, ConnectionGater, PeerId, Stream } from '@libp2p/interface'
import { listenOptions, openAndClose } from '../config/listeners.ts'
import { bytesToHex, equalBytes } from '../primitives/bytes.ts'
import { ProtobufError } from '../primitives/protobuf.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { NetworkMetrics } from '../telemetry/metrics.ts'
import { meterOf } from './connectionMeter.ts'
import { sendFrame } from './frames.ts'
import type { GossipStreams } from './gossipStreams.ts'
import { HandshakePlaces } from './handshakePlaces.ts'
import {
  differenceOf,
  encodeHandshakeMessage,
  type HandshakeMessage,
  type Hello,
  provenValidator,
  readHandshakeMessage,
} from './hello.ts'
import { createHost, type Host } from './host.ts'
import { LIMITS, TokenBucket } from './limits.ts'
import { BAN_MS, Bans, isMalformed } from './misbehaviour.ts'
import { isOwnDefect } from './ownDefect.ts'
import {
  formatPeerAddress,
  fromMultiaddr,
  type KnownPeer,
  nodeIdOfPeer,
  type PeerAddress,
  toMultiaddr,
} from './peerAddress.ts'
import { PROTOCOLS } from './protocols.ts'
import { ProvenAddresses } from './provenAddresses.ts'
import { createBudgets, type Session } from './session.ts'
import { TransportFault } from './socketFrames.ts'

/** Two dials within this time are simultaneous. A connected peer that dials later has lost its connection. */
const SIMULTANEOUS_MS = 15_000
/** How long a node waits for its own dial to a peer before it accepts the connection that this peer has opened. */
const OWN_DIAL_MS = 2_000
/** Time for a last message to be sent before a connection is closed. */
const FAREWELL_MS = 1_000

interface ConnectionsOptions {
  /** seed of the node key, and the public key and ID that follow from it */
  readonly seed: Uint8Array
  readonly id: string
  readonly listen: PeerAddress
  readonly maxConnections: number
  readonly topics: readonly string[]
  readonly gossipStreams: GossipStreams
  readonly log: Logger
  readonly metrics: NetworkMetrics
  readonly now: () => number
  /** this node's present hello to a peer */
  readonly hello: (id: string) => Hello
  /** whether the operator has named the peer */
  readonly isConfigured: (id: string) => boolean
  /** whether the operator has named the peer with its address, so that a dial there needs no other reason */
  readonly isNamed: (id: string) => boolean
  /** whether peers that this node needs are expected from this IP address */
  readonly isKnownAddress: (host: string) => boolean
  /** Returns why there is no slot for a peer that connects; undefined when there is one. */
  readonly refuse: (peer: Pick<Session, 'id' | 'validatorAddress' | 'remote'>) => string | undefined
  /** other peers to name to a refused peer at this IP address */
  readonly others: (host: string) => readonly KnownPeer[]
  /** opens the streams to the peer of a new session; the connection is closed when this fails */
  readonly onEstablished: (session: Session) => Promise<void>
  readonly onLeft: (session: Session) => void
  /** whether a session is a persistent peer's or a validator's */
  readonly isReserved: (session: Session) => boolean
  /** called with a bug of this software that was found while handling a peer: the node must stop */
  readonly onDefect: (error: Error) => void
  /** called with the peers that a node names when it has no slot for this one */
  readonly onPeersNamed: (peers: readonly KnownPeer[], source: string) => void
}

/** Why a dial failed. */
export class DialError extends Error {
  override readonly name = 'DialError'
  /** `wrong`: another node answers at this address, or the node is of another chain; `refused`: it is there and has no place */
  readonly kind: 'failed' | 'wrong' | 'refused'
  /** IP address of the node that refused */
  readonly host: string | undefined

  constructor(
    message: string,
    kind: DialError['kind'],
    details: { readonly cause?: unknown; readonly host?: string } = {},
  ) {
    super(message, { cause: details.cause })
    this.kind = kind
    this.host = details.host
  }
}

/**
 * The connections of this node and their sessions. A connection becomes a {@link Session} by the handshake below; there is one session
 * per peer. Sessions end by {@link disconnect} or {@link ban}, as described in misbehaviour.ts.
 *
 * The handshake:
 *
 * 1. The dialled node assigns the connection a place for `LIMITS.helloMs` at most, if it has one for
 *    its address ({@link HandshakePlaces}).
 *    libp2p proves the node key of each side; the connection gater refuses banned peers. The dialling node checks that the node has the
 *    expected ID.
 * 2. The dialling node sends its hello. Until it has arrived, the dialled node accepts only few bytes.
 * 3. The dialled node compares the hellos: same chain, not this node itself, a valid proof if the peer claims to be a validator. If
 *    they do not match, it still answers with its own hello, so that the other side logs the difference too.
 * 4. If it is dialling the peer itself, it waits for that dial, so that both sides keep the same one of two connections.
 * 5. It refuses a duplicate connection, or one for which it has no slot, and names other peers to try. This comes after the
 *    comparison, which identifies validators and configured peers.
 * 6. It sends its hello, then establishes its session and opens its streams: the other side accepts streams only on a connection with
 *    a session, for which it needs that hello.
 * 7. The dialling node makes the same comparison and establishes its session.
 */
export class Connections {
  readonly bans: Bans
  readonly #options: ConnectionsOptions
  readonly #places: HandshakePlaces
  readonly #sessions = new Map<string, Session>()
  /** inbound connections without a session yet, after libp2p's part of the handshake */
  readonly #pending = new Set<Connection>()
  /** resolves at the end of the handshake: to the session, or to undefined */
  readonly #handshakes = new WeakMap<Connection, PromiseWithResolvers<Session | undefined>>()
  /** peers that are being dialled, each with a promise for the end of the dial */
  readonly #dialling = new Map<string, Promise<void>>()
  /** addresses that are being dialled, each with a promise for the end of the newest dial */
  readonly #dialledAddresses = new Map<string, Promise<void>>()
  readonly #proven: ProvenAddresses
  readonly #ending = new WeakSet<Connection>()
  readonly #lines: TokenBucket
  #host: Host | undefined
  #lastHandle = 0

  private constructor(options: ConnectionsOptions) {
    this.#options = options
    this.bans = new Bans(options.now)
    this.#proven = new ProvenAddresses(options.now)
    this.#lines = new TokenBucket(LIMITS.peerLines, options.now())
    this.#places = new HandshakePlaces({
      isBanned: (host) => this.bans.isAddressBanned(host),
      isKnown: options.isKnownAddress,
      metrics: options.metrics,
      now: options.now,
    })
  }

  /** Accepts no connection before {@link listen}. */
  static async create(options: ConnectionsOptions): Promise<Connections> {
    const connections = new Connections(options)
    const host = await createHost({ ...options, gater: connections.#gater(), places: connections.#places })
    connections.#host = host
    host.addEventListener('connection:open', ({ detail }) => connections.#opened(detail))
    await host.handle(PROTOCOLS.hello, (stream, connection) => connections.#answerHello(stream, connection), {
      maxInboundStreams: 1,
      maxOutboundStreams: 1,
    })
    return connections
  }

  /** @throws Error the system's error with code, address and port when it is not possible to listen on the port */
  async listen(): Promise<void> {
    try {
      await this.host.start()
    } catch (error) {
      // libp2p reports only the text of the system's error.
      await openAndClose(listenOptions(this.#options.listen, true))
      throw error
    }
  }

  /** Where this node listens, with the port that the system chose if none was configured. */
  get listenAddress(): PeerAddress {
    const { host, port } = this.#options.listen
    const address = this.host.getMultiaddrs()[0]
    return { host, port: (address && fromMultiaddr(address)?.port) ?? port }
  }

  get host(): Host {
    return this.#host!
  }

  get sessions(): ReadonlyMap<string, Session> {
    return this.#sessions
  }

  /** Returns the session of a connection, after the handshake; undefined when the handshake fails. */
  async sessionOf(connection: Connection): Promise<Session | undefined> {
    const session = this.#find(connection)
    if (session !== undefined || connection.status !== 'open') return session
    // A stream may arrive a moment before libp2p reports its connection.
    return this.#handshakeOf(connection).promise
  }

  #handshakeOf(connection: Connection): PromiseWithResolvers<Session | undefined> {
    const known = this.#handshakes.get(connection)
    if (known !== undefined) return known
    const handshake = Promise.withResolvers<Session | undefined>()
    this.#handshakes.set(connection, handshake)
    return handshake
  }

  /** Returns whether a peer is connected, or about to be. */
  isConnected(id: string): boolean {
    if (this.#sessions.has(id) || this.#dialling.has(id)) return true
    for (const { remotePeer } of this.#pending) if (nodeIdOfPeer(remotePeer) === id) return true
    return false
  }

  /**
   * Returns whether a claim that the node `id` is at this address is false as far as this node
   * knows: it has reached another node there. Always false for a peer that the operator has named
   * with its address.
   */
  isFalseAddress(id: string, address: PeerAddress): boolean {
    return !this.#options.isNamed(id) && this.#proven.contradicts(address, id)
  }

  /**
   * Dials a peer and makes the handshake. An address is dialled by one call at a time, since libp2p would give two calls one connection;
   * so what this call closes when it fails is its own connection.
   * @returns true: the peer was reached at this address; undefined: the peer was faster and has dialled this node
   * @throws DialError
   */
  async dial(id: string, address: PeerAddress): Promise<true | undefined> {
    if (this.isConnected(id)) return undefined
    const ended = Promise.withResolvers<void>()
    this.#dialling.set(id, ended.promise)
    const key = formatPeerAddress(address)
    const former = this.#dialledAddresses.get(key)
    this.#dialledAddresses.set(key, ended.promise)
    try {
      await former
      return await this.#dialAlone(id, address)
    } finally {
      this.#dialling.delete(id)
      if (this.#dialledAddresses.get(key) === ended.promise) this.#dialledAddresses.delete(key)
      ended.resolve()
    }
  }

  async #dialAlone(id: string, address: PeerAddress): Promise<true | undefined> {
    if (this.#sessions.has(id)) return undefined
    if (this.isFalseAddress(id, address)) {
      throw new DialError(`another node than ${id} is at ${formatPeerAddress(address)}`, 'wrong')
    }
    let connection: Connection | undefined
    try {
      // 1.
      const dialled = await this.#connect(address)
      const found = nodeIdOfPeer(dialled.remotePeer)
      if (found !== undefined) this.#proven.proved(address, found)
      // Never the connection of a session, which has other owners.
      if (this.#find(dialled) === undefined) connection = dialled
      if (found !== id) {
        throw new DialError(
          `the node at ${formatPeerAddress(address)} is ${found ?? 'of another kind'}, not ${id}`,
          'wrong',
        )
      }
      if (connection === undefined) return undefined
      await this.#sayHello(connection, id)
      return true
    } catch (error) {
      this.endOnDefect(error)
      connection?.abort(error instanceof Error ? error : new Error(String(error)))
      if (this.#sessions.has(id)) return undefined
      if (error instanceof DialError) throw error
      this.#proven.failed(address, id)
      throw new DialError(
        `${formatPeerAddress(address)}: ${error instanceof Error ? error.message : error}`,
        'failed',
        { cause: error },
      )
    }
  }

  /** Ends a session; its peer may connect again at once. */
  disconnect(session: Session, reason: string): void {
    this.#end(session.connection, reason)
  }

  /** Ends a session and bans its peer for a while ({@link BAN_MS}), because it sent what no honest node sends. */
  ban(session: Session, reason: string): void {
    this.#ban(session.connection, reason)
  }

  /**
   * Called with each error that ends the handling of a peer. Only errors that the peer, the
   * connection or libp2p has caused may be forgotten: a bug of this software ends the node.
   */
  endOnDefect(error: unknown): void {
    if (isOwnDefect(error)) this.#options.onDefect(error)
  }

  async close(): Promise<void> {
    await this.host.stop()
    this.#places.close()
  }

  #ban(connection: Connection, reason: string): void {
    const id = nodeIdOfPeer(connection.remotePeer)!
    const remote = addressOf(connection)
    const isNeeded = this.#isNeeded(id)
    this.#report(isNeeded, 'warn', { peer: id, address: formatPeerAddress(remote), reason }, 'peer banned')
    this.#options.metrics.bansTotal.inc()
    this.bans.ban(id, remote.host, this.#options.isConfigured(id) ? BAN_MS.configured : BAN_MS.stranger)
    this.#end(connection, reason)
  }

  /** Closes a connection at once. The reason is final: errors of its streams that follow from this do not replace it. */
  #end(connection: Connection, reason: string): void {
    if (this.#ending.has(connection)) return
    this.#ending.add(connection)
    connection.abort(new Error(reason))
  }

  /** Returns whether the operator has named the peer, or it is a validator's. */
  #isNeeded(id: string): boolean {
    const session = this.#sessions.get(id)
    return this.#options.isConfigured(id) || (session !== undefined && this.#options.isReserved(session))
  }

  /** Writes a line about a peer. Strangers come as often as they like, so their lines have a rate. */
  #report(isNeeded: boolean, level: 'info' | 'warn', fields: object, message: string): void {
    const isShown = isNeeded || this.#lines.take(1, this.#options.now())
    this.#options.log[isShown ? level : 'debug'](fields, message)
  }

  /** Always opens a new connection: without `force`, libp2p returns an existing one to the same address. */
  #connect(address: PeerAddress): Promise<Connection> {
    return this.host.dial(toMultiaddr(address), { force: true, signal: AbortSignal.timeout(LIMITS.dialMs) })
  }

  #find(connection: Connection): Session | undefined {
    const id = nodeIdOfPeer(connection.remotePeer)
    const session = id === undefined ? undefined : this.#sessions.get(id)
    return session?.connection === connection ? session : undefined
  }

  #gater(): ConnectionGater {
    const isUnwanted = (peer: PeerId): boolean => {
      const id = nodeIdOfPeer(peer)
      return id === undefined || this.bans.isBanned(id)
    }
    return {
      denyInboundEncryptedConnection: isUnwanted,
      denyOutboundEncryptedConnection: isUnwanted,
      // libp2p would refuse loopback and private addresses.
      denyDialMultiaddr: () => false,
    }
  }

  #opened(connection: Connection): void {
    this.#handshakeOf(connection)
    connection.addEventListener('close', ({ error }) => this.#closed(connection, error))
    if (connection.direction === 'inbound') this.#pending.add(connection)
  }

  #closed(connection: Connection, error: Error | undefined): void {
    this.#endHandshake(connection, undefined)
    if (error instanceof TransportFault) this.#ban(connection, error.message)
    const session = this.#find(connection)
    if (session === undefined) return
    const reason = error === undefined ? 'the peer has closed the connection' : error.message
    this.#report(this.#isNeeded(session.id), 'info', { peer: session.id, reason }, 'peer disconnected')
    this.#sessions.delete(session.id)
    this.#options.onLeft(session)
  }

  #endHandshake(connection: Connection, session: Session | undefined): void {
    this.#pending.delete(connection)
    this.#handshakes.get(connection)?.resolve(session)
  }

  /** Runs the dialling node's part of the handshake. */
  async #sayHello(connection: Connection, id: string): Promise<void> {
    // 2.
    const stream = await connection.newStream(PROTOCOLS.hello, { signal: AbortSignal.timeout(LIMITS.helloMs) })
    const own = this.#options.hello(id)
    const [message] = await Promise.all([
      readHandshakeMessage(stream),
      sendFrame(stream, encodeHandshakeMessage({ kind: 'hello', hello: own }), AbortSignal.timeout(LIMITS.helloMs)),
    ])
    void stream.close().catch(() => stream.abort(new Error('not closed in time')))
    // 5. of the other side.
    if (message.kind === 'refusal') {
      const { host } = addressOf(connection)
      this.#options.onPeersNamed(message.refusal.peers, host)
      throw new DialError(`${id} refused: ${message.refusal.reason}`, 'refused', { host })
    }
    // 7.
    const session = this.#compareHellos(connection, message.hello, own)
    if (typeof session === 'string') throw new DialError(`${id} is not a peer: ${session}`, 'wrong')
    await this.#establish(session)
  }

  /** Runs the dialled node's part of the handshake. */
  async #answerHello(stream: Stream, connection: Connection): Promise<void> {
    const id = nodeIdOfPeer(connection.remotePeer)!
    const address = formatPeerAddress(addressOf(connection))
    try {
      // 2.
      const message = await readHandshakeMessage(stream)
      if (message.kind !== 'hello') throw new ProtobufError('a refusal instead of a hello')
      // 3.
      const own = this.#options.hello(id)
      const session = this.#compareHellos(connection, message.hello, own)
      if (typeof session === 'string') {
        this.#report(this.#isNeeded(id), 'warn', { peer: id, address, reason: session }, 'peer turned away')
        await this.#sendAndClose(stream, connection, { kind: 'hello', hello: own }, session)
        return
      }
      // 4.
      await this.#waitForOwnDial(id)
      // 5.
      const reason = this.#isDuplicate(session) ? 'it is connected already' : this.#options.refuse(session)
      if (reason !== undefined) {
        this.#options.log.debug({ peer: id, address, reason }, 'peer refused')
        const refusal = { reason, peers: this.#options.others(session.remote.host) }
        await this.#sendAndClose(stream, connection, { kind: 'refusal', refusal }, reason)
        return
      }
      // 6.
      const signal = AbortSignal.timeout(LIMITS.helloMs)
      await sendFrame(stream, encodeHandshakeMessage({ kind: 'hello', hello: own }), signal)
      await this.#establish(session)
      await stream.close({ signal })
    } catch (error) {
      this.endOnDefect(error)
      if (isMalformed(error)) {
        this.#ban(connection, `malformed hello: ${error.message}`)
        return
      }
      connection.abort(error instanceof Error ? error : new Error(String(error)))
    }
  }

  /** Waits for the end of this node's own dial: when two nodes dial each other, one connection stays. */
  async #waitForOwnDial(id: string): Promise<void> {
    const dial = this.#dialling.get(id)
    if (dial === undefined || this.#options.id > id) return
    const timeout = Promise.withResolvers<void>()
    const timer = setTimeout(timeout.resolve, OWN_DIAL_MS)
    await Promise.race([dial, timeout.promise])
    clearTimeout(timer)
  }

  /**
   * Returns whether the peer has another connection, which is the one to keep. Both sides decide
   * the same: a connection of a former process, or one that the peer has lost, is replaced; of two
   * simultaneous connections, the one that the node with the higher ID has dialled is closed.
   */
  #isDuplicate(session: Session): boolean {
    const other = this.#sessions.get(session.id)
    if (other === undefined || other.connection.status !== 'open') return false
    const isSameProcess = equalBytes(other.hello.instance, session.hello.instance)
    if (!isSameProcess || other.isOutbound === session.isOutbound) return false
    if (this.#options.now() - other.meter.openedMs > SIMULTANEOUS_MS) return false
    return session.isOutbound !== this.#options.id < session.id
  }

  /** Sends a last answer with the reason, then closes the connection. */
  async #sendAndClose(
    stream: Stream,
    connection: Connection,
    message: HandshakeMessage,
    reason: string,
  ): Promise<void> {
    const signal = AbortSignal.timeout(FAREWELL_MS)
    await sendFrame(stream, encodeHandshakeMessage(message), signal)
    await stream.close({ signal })
    // Usually the other side closes the connection after it has read the answer; this is for one that does not.
    setTimeout(() => connection.abort(new Error(reason)), FAREWELL_MS)
  }

  /** Compares the hellos and checks the proof. Returns the session that the connection may become, or why it may not. */
  #compareHellos(connection: Connection, hello: Hello, own: Hello): Session | string {
    const difference = differenceOf(own, hello)
    if (difference !== undefined) return difference
    const { remotePeer } = connection
    const id = nodeIdOfPeer(remotePeer)!
    if (equalBytes(hello.instance, own.instance)) return 'it is this node'
    const validatorAddress =
      hello.validator && provenValidator(hello.validator, remotePeer.publicKey!.raw, own.genesisHash)
    if (hello.validator !== undefined && validatorAddress === undefined)
      return 'its proof of being a validator is wrong'
    return {
      id,
      handle: ++this.#lastHandle,
      connection,
      isOutbound: connection.direction === 'outbound',
      remote: addressOf(connection),
      hello,
      validatorAddress,
      isConfigured: this.#options.isConfigured(id),
      isVisit: own.isVisit || hello.isVisit,
      meter: meterOf(connection),
      budgets: createBudgets(this.#options.now()),
      joined: Promise.withResolvers(),
      queues: undefined,
    }
  }

  async #establish(session: Session): Promise<void> {
    const { connection, id } = session
    if (connection.status !== 'open') throw new DialError('the connection was closed', 'failed')
    if (this.#isDuplicate(session)) throw new DialError('it is connected already', 'failed')
    const former = this.#sessions.get(id)
    this.#sessions.set(id, session)
    session.meter.isKnown = true
    session.meter.isReserved = () => this.#options.isReserved(session)
    if (former !== undefined) {
      this.#options.onLeft(former)
      this.#end(former.connection, 'replaced by another connection')
    }
    this.#endHandshake(connection, session)
    this.#places.established(session.remote)
    this.#report(
      this.#options.isReserved(session),
      'info',
      {
        peer: id,
        address: formatPeerAddress(session.remote),
        direction: session.isOutbound ? 'outbound' : 'inbound',
        moniker: session.hello.moniker,
        height: session.hello.height,
        ...(session.validatorAddress && { validator: bytesToHex(session.validatorAddress) }),
      },
      'peer connected',
    )
    await this.#options.onEstablished(session)
  }
}

function addressOf(connection: Connection): PeerAddress {
  return fromMultiaddr(connection.remoteAddr) ?? { host: 'unknown', port: 0 }
}
