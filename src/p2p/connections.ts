import type { Connection, ConnectionGater, PeerId, Stream } from '@libp2p/interface'
import { bytesToHex, equalBytes } from '../primitives/bytes.ts'
import { ProtobufError } from '../primitives/protobuf.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { NetworkMetrics } from '../telemetry/metrics/networkMetrics.ts'
import { BAN_MS, Bans } from './bans.ts'
import { sendFrame } from './frameStream.ts'
import { FrameError } from './frames.ts'
import { differenceOf, encodeGreeting, type Greeting, type Hello } from './hello.ts'
import { createHost, type Host } from './host.ts'
import type { KnownPeer } from './knownPeer.ts'
import { LIMITS } from './limits.ts'
import { meterOf } from './meteredMuxer.ts'
import { formatPeerAddress, fromMultiaddr, type PeerAddress, toMultiaddr } from './peerAddress.ts'
import { nodeIdOfPeer } from './peerId.ts'
import { PROTOCOLS } from './protocols.ts'
import { readGreeting } from './readGreeting.ts'
import { createBudgets, type Session } from './session.ts'
import { provenValidator } from './validatorProof.ts'

/** Two nodes that dial each other do it within such a time. Whoever dials later, although it is connected, has lost its end. */
const SIMULTANEOUS_MS = 15_000
/** How long a node waits for the end of its own dial before it takes the connection of a peer that dials it. */
const OWN_DIAL_MS = 2_000
/** Time for a last message to leave before a connection is closed. */
const FAREWELL_MS = 1_000

export interface ConnectionsOptions {
  /** seed of the node key, and what it gives */
  readonly seed: Uint8Array
  readonly id: string
  readonly listen: PeerAddress
  readonly maxConnections: number
  readonly topics: readonly string[]
  readonly log: Logger
  readonly metrics: NetworkMetrics
  readonly now: () => number
  /** what this node says of itself now */
  readonly hello: () => Hello
  readonly isPersistent: (id: string) => boolean
  /** Why there is no place for a peer that connects; undefined: there is one. */
  readonly refuse: (peer: Pick<Session, 'id' | 'validatorAddress'>) => string | undefined
  /** for a peer that is refused: others to try */
  readonly others: () => readonly KnownPeer[]
  /** a peer of our chain: opens its streams; the connection is closed when it fails */
  readonly onEstablished: (session: Session) => Promise<void>
  readonly onLeft: (session: Session) => void
  /** peers that a node which has no place for us named */
  readonly onPeersNamed: (source: string, peers: readonly KnownPeer[]) => void
}

/** Why a dial did not lead to a peer. `permanent`: the address is not that of the node with this ID, or it is of another chain. */
export class DialError extends Error {
  override readonly name = 'DialError'
  readonly isPermanent: boolean

  constructor(message: string, isPermanent: boolean, cause?: unknown) {
    super(message, { cause })
    this.isPermanent = isPermanent
  }
}

/**
 * The connections of this node and whom they lead to. A connection becomes a {@link Session} when both ends have said hello and
 * are of the same chain; there is one a peer.
 */
export class Connections {
  readonly bans: Bans
  readonly #options: ConnectionsOptions
  readonly #sessions = new Map<string, Session>()
  /** inbound connections that have not said hello, with what ends them */
  readonly #pending = new Map<Connection, NodeJS.Timeout>()
  /** resolves when a connection has become a session, or will not */
  readonly #greeted = new WeakMap<Connection, PromiseWithResolvers<Session | undefined>>()
  /** peers that are being dialled, each with what resolves when it is over */
  readonly #dialling = new Map<string, Promise<void>>()
  readonly #ending = new WeakSet<Connection>()
  #host: Host | undefined
  #lastHandle = 0

  private constructor(options: ConnectionsOptions) {
    this.#options = options
    this.bans = new Bans(options.now)
  }

  /** Nothing is heard before {@link listen}. */
  static async create(options: ConnectionsOptions): Promise<Connections> {
    const connections = new Connections(options)
    const host = await createHost({ ...options, gater: connections.#gater() })
    connections.#host = host
    host.addEventListener('connection:open', ({ detail }) => connections.#opened(detail))
    await host.handle(PROTOCOLS.hello, (stream, connection) => connections.#answerHello(stream, connection), {
      maxInboundStreams: 1,
      maxOutboundStreams: 1,
    })
    return connections
  }

  /** @throws Error when the port can not be listened on */
  async listen(): Promise<void> {
    await this.host.start()
  }

  /** Where this node listens, with the port that the system chose when none was asked for. */
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

  /** The session of a connection, once both ends have said hello; undefined when they do not. */
  async sessionOf(connection: Connection): Promise<Session | undefined> {
    const session = this.#find(connection)
    return session ?? this.#greeted.get(connection)?.promise
  }

  /** Whether a peer is connected, or about to be. */
  isConnected(id: string): boolean {
    if (this.#sessions.has(id) || this.#dialling.has(id)) return true
    for (const { remotePeer } of this.#pending.keys()) if (nodeIdOfPeer(remotePeer) === id) return true
    return false
  }

  /**
   * Dials a peer and says hello.
   * @returns whether the address leads to the peer; undefined: the peer was faster and has dialled this node
   * @throws DialError
   */
  async dial(id: string, address: PeerAddress): Promise<true | undefined> {
    if (this.isConnected(id)) return undefined
    const isOver = Promise.withResolvers<void>()
    this.#dialling.set(id, isOver.promise)
    let connection: Connection | undefined
    try {
      connection = await this.#connect(address)
      const found = nodeIdOfPeer(connection.remotePeer)
      if (found !== id) {
        throw new DialError(
          `the node at ${formatPeerAddress(address)} is ${found ?? 'of another kind'}, not ${id}`,
          true,
        )
      }
      await this.#sayHello(connection, id)
      return true
    } catch (error) {
      connection?.abort(error instanceof Error ? error : new Error(String(error)))
      if (this.#sessions.has(id)) return undefined
      if (error instanceof DialError) throw error
      throw new DialError(
        `${formatPeerAddress(address)}: ${error instanceof Error ? error.message : error}`,
        false,
        error,
      )
    } finally {
      this.#dialling.delete(id)
      isOver.resolve()
    }
  }

  /** Ends a session; its peer may come back. */
  disconnect(session: Session, reason: string): void {
    this.#end(session.connection, reason)
  }

  /** Ends a session and keeps its peer away. */
  ban(session: Session, reason: string): void {
    this.#ban(session.connection, reason)
  }

  async close(): Promise<void> {
    for (const timer of this.#pending.values()) clearTimeout(timer)
    await this.host.stop()
  }

  #ban(connection: Connection, reason: string): void {
    const id = nodeIdOfPeer(connection.remotePeer)!
    const remote = addressOf(connection)
    this.#options.log.warn({ peer: id, address: formatPeerAddress(remote), reason }, 'peer banned')
    this.#options.metrics.bansTotal.inc()
    this.bans.ban(id, remote.host, this.#options.isPersistent(id) ? BAN_MS.persistent : BAN_MS.stranger)
    this.#end(connection, reason)
  }

  /** Closes a connection at once. Its streams, which end first, do not make up reasons of their own. */
  #end(connection: Connection, reason: string): void {
    if (this.#ending.has(connection)) return
    this.#ending.add(connection)
    connection.abort(new Error(reason))
  }

  #connect(address: PeerAddress): Promise<Connection> {
    return this.host.dial(toMultiaddr(address), { signal: AbortSignal.timeout(LIMITS.dialMs) })
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
      denyInboundConnection: ({ remoteAddr }) => {
        const host = fromMultiaddr(remoteAddr)?.host
        if (host === undefined || this.bans.isAddressBanned(host)) return true
        let count = 0
        for (const pending of this.#pending.keys()) if (fromMultiaddr(pending.remoteAddr)?.host === host) count++
        return count >= LIMITS.pendingPerAddress
      },
      denyInboundEncryptedConnection: isUnwanted,
      denyOutboundEncryptedConnection: isUnwanted,
      // Loopback and private addresses are as good as others.
      denyDialMultiaddr: () => false,
    }
  }

  #opened(connection: Connection): void {
    this.#greeted.set(connection, Promise.withResolvers())
    connection.addEventListener('close', ({ error }) => this.#closed(connection, error))
    if (connection.direction === 'outbound') return
    const timer = setTimeout(() => connection.abort(new Error('no hello in time')), LIMITS.helloMs)
    this.#pending.set(connection, timer)
  }

  #closed(connection: Connection, error: Error | undefined): void {
    this.#settle(connection, undefined)
    const session = this.#find(connection)
    if (session === undefined) return
    const reason = error === undefined ? 'the peer has closed the connection' : error.message
    this.#options.log.info({ peer: session.id, reason }, 'peer disconnected')
    this.#sessions.delete(session.id)
    this.#options.onLeft(session)
  }

  #settle(connection: Connection, session: Session | undefined): void {
    clearTimeout(this.#pending.get(connection))
    this.#pending.delete(connection)
    this.#greeted.get(connection)?.resolve(session)
  }

  async #sayHello(connection: Connection, id: string): Promise<void> {
    const stream = await connection.newStream(PROTOCOLS.hello, { signal: AbortSignal.timeout(LIMITS.helloMs) })
    const own = this.#options.hello()
    const [greeting] = await Promise.all([
      readGreeting(stream),
      sendFrame(stream, encodeGreeting({ kind: 'hello', hello: own }), AbortSignal.timeout(LIMITS.helloMs)),
    ])
    void stream.close().catch(() => stream.abort(new Error('not closed in time')))
    if (greeting.kind === 'refusal') {
      this.#options.onPeersNamed(addressOf(connection).host, greeting.refusal.peers)
      throw new DialError(`${id} refused: ${greeting.refusal.reason}`, false)
    }
    const session = this.#judge(connection, greeting.hello, own)
    if (typeof session === 'string') throw new DialError(`${id} is not a peer: ${session}`, true)
    await this.#establish(session)
  }

  async #answerHello(stream: Stream, connection: Connection): Promise<void> {
    const id = nodeIdOfPeer(connection.remotePeer)!
    const address = formatPeerAddress(addressOf(connection))
    try {
      const greeting = await readGreeting(stream)
      if (greeting.kind !== 'hello') throw new ProtobufError('a refusal in place of a hello')
      const own = this.#options.hello()
      const session = this.#judge(connection, greeting.hello, own)
      if (typeof session === 'string') {
        this.#options.log.warn({ peer: id, address, reason: session }, 'peer turned away')
        await this.#farewell(stream, connection, { kind: 'hello', hello: own }, session)
        return
      }
      await this.#endOwnDial(id)
      const reason = this.#isSuperfluous(session) ? 'it is connected already' : this.#options.refuse(session)
      if (reason !== undefined) {
        this.#options.log.debug({ peer: id, address, reason }, 'peer refused')
        const refusal = { reason, peers: this.#options.others() }
        await this.#farewell(stream, connection, { kind: 'refusal', refusal }, reason)
        return
      }
      const signal = AbortSignal.timeout(LIMITS.helloMs)
      await sendFrame(stream, encodeGreeting({ kind: 'hello', hello: own }), signal)
      await this.#establish(session)
      await stream.close({ signal })
    } catch (error) {
      if (error instanceof ProtobufError || error instanceof FrameError) {
        this.#ban(connection, `malformed hello: ${error.message}`)
        return
      }
      connection.abort(error instanceof Error ? error : new Error(String(error)))
    }
  }

  /** Of two nodes that dial each other, the one whose connection will be kept waits for it. */
  async #endOwnDial(id: string): Promise<void> {
    const dial = this.#dialling.get(id)
    if (dial === undefined || this.#options.id > id) return
    const timeout = Promise.withResolvers<void>()
    const timer = setTimeout(timeout.resolve, OWN_DIAL_MS)
    await Promise.race([dial, timeout.promise])
    clearTimeout(timer)
  }

  /**
   * Whether the peer's other connection is the one to keep. Both ends decide the same: that of a former process or a lost one goes,
   * and of two that were dialled at the same time the one that the node with the higher ID has dialled.
   */
  #isSuperfluous(session: Session): boolean {
    const other = this.#sessions.get(session.id)
    if (other === undefined || other.connection.status !== 'open') return false
    const isOther = other.isOutbound !== session.isOutbound && equalBytes(other.hello.instance, session.hello.instance)
    if (!isOther || this.#options.now() - other.meter.openedMs > SIMULTANEOUS_MS) return false
    return session.isOutbound !== this.#options.id < session.id
  }

  /** Tells the other end why, then closes. */
  async #farewell(stream: Stream, connection: Connection, greeting: Greeting, reason: string): Promise<void> {
    const signal = AbortSignal.timeout(FAREWELL_MS)
    await sendFrame(stream, encodeGreeting(greeting), signal)
    await stream.close({ signal })
    // The other end closes when it has read the answer.
    setTimeout(() => connection.abort(new Error(reason)), FAREWELL_MS)
  }

  /** The session that this connection becomes, or why it can not. */
  #judge(connection: Connection, hello: Hello, own: Hello): Session | string {
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
      isPersistent: this.#options.isPersistent(id),
      meter: meterOf(connection),
      budgets: createBudgets(this.#options.now()),
      joined: Promise.withResolvers(),
      queues: undefined,
    }
  }

  async #establish(session: Session): Promise<void> {
    const { connection, id } = session
    if (connection.status !== 'open') throw new DialError('the connection was closed', false)
    if (this.#isSuperfluous(session)) throw new DialError('it is connected already', false)
    const former = this.#sessions.get(id)
    this.#sessions.set(id, session)
    session.meter.isKnown = true
    if (former !== undefined) {
      this.#options.onLeft(former)
      this.#end(former.connection, 'replaced by another connection')
    }
    this.#settle(connection, session)
    this.#options.log.info(
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
