import { bytesKey } from '../primitives/bytes.ts'
import { ProtobufError } from '../primitives/protobuf.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { NetworkMetrics } from '../telemetry/metrics.ts'
import type { AddressBook } from './addressBook.ts'
import { type Connections, DialError } from './connections.ts'
import type { KnownAddresses } from './knownAddresses.ts'
import { LIMITS, type PeerCounts } from './limits.ts'
import { formatPeerAddress, type KnownPeer, type PeerAddress, parsePeerAddress } from './peerAddress.ts'
import { fetchPeers } from './peerExchange.ts'
import type { Session } from './session.ts'

const TICK_MS = 500
const DIALS_AT_ONCE = 8
/** Peers without a reserved slot that the node has dialled itself: it dials known ones until it has so many. */
const CHOSEN_PEERS = 4
/** How much longer the node with the higher ID waits before it dials, see `#firstAttempt`. */
const YIELD_MS = 1_000
/** Between two attempts at one peer: the first wait, its growth, and the longest. */
const BACK_OFF = {
  // Peers that consensus needs are dialled again soon after a network failure is over.
  needed: { firstMs: 500, factor: 1.5, maxMs: 5_000 },
  other: { firstMs: 5_000, factor: 2, maxMs: 600_000 },
} as const
/** Slots for validators, more than a chain has. */
const MAX_VALIDATORS = 64
/** A node that has too few peers asks more often. */
const ASK_FOR_PEERS_MS = { few: 6_000, enough: 60_000 } as const
const SAVE_MS = 60_000
const RESOLVE_MS = 60_000
/** How many peers have their failures recorded: more than the address book has entries. */
const MAX_ATTEMPTS = 2_000

export interface PersistentPeer {
  readonly id: string
  readonly address: PeerAddress
}

interface PeerManagerOptions {
  /** of this node */
  readonly id: string
  readonly connections: Connections
  readonly book: AddressBook
  /** addresses whose connections have reserved places */
  readonly known: KnownAddresses
  readonly persistent: readonly PersistentPeer[]
  readonly counts: PeerCounts
  /** consensus address of this node's key, whether it is a validator at present or not */
  readonly ownAddress: Uint8Array | undefined
  readonly metrics: NetworkMetrics
  readonly log: Logger
  readonly now: () => number
}

interface Attempt {
  readonly failures: number
  readonly nextMs: number
}

/** Decides which peers to dial, which get a slot, and which are disconnected because they are silent or read no messages. */
export class PeerManager {
  readonly #options: PeerManagerOptions
  readonly #persistentIds: ReadonlySet<string>
  readonly #attempts = new Map<string, Attempt>()
  readonly #dialling = new Set<string>()
  #validators: ReadonlySet<string> = new Set()
  #timer: NodeJS.Timeout | undefined
  #askedMs = Number.NEGATIVE_INFINITY
  #resolvedMs = Number.NEGATIVE_INFINITY
  #savedMs: number
  #isClosed = false

  constructor(options: PeerManagerOptions) {
    this.#options = options
    this.#persistentIds = new Set(options.persistent.map(({ id }) => id))
    this.#savedMs = options.now()
  }

  start(): void {
    for (const peer of this.#options.book.good(MAX_VALIDATORS)) {
      if (peer.isValidator) this.#options.known.remember(peer.id, parsePeerAddress(peer.address)!.host)
    }
    this.#timer = setInterval(() => this.#tick(), TICK_MS)
    this.#tick()
  }

  /** Saves the address book. Running dials end when the connections are closed. */
  close(): void {
    this.#isClosed = true
    clearInterval(this.#timer)
    this.#options.book.save()
  }

  /** Consensus addresses of the present validators: they have reserved slots, as persistent peers do, and connect to each other. */
  setValidators(addresses: readonly Uint8Array[]): void {
    const former = this.#validators
    this.#validators = new Set(addresses.map(bytesKey))
    // What the address book had is kept: its peers may still come.
    this.#options.known.keepOnly((peer) => !former.has(peer) || this.#validators.has(peer))
    for (const session of this.#sessions()) {
      this.#announce(session)
      this.#rememberAddress(session)
    }
  }

  /** Why there is no slot for a peer that connects; undefined: there is one. */
  refuse({ id, validatorAddress }: Pick<Session, 'id' | 'validatorAddress'>): string | undefined {
    if (this.#persistentIds.has(id)) return undefined
    // A former session of the same peer, whose end may not have been noticed yet, does not count.
    const inbound = this.#sessions().filter((session) => !session.isOutbound && session.id !== id)
    if (validatorAddress !== undefined && this.#isValidator(validatorAddress)) {
      // One slot is reserved for each validator key: further nodes with a proof of the same key compete with other peers.
      const isTaken = inbound.some((session) => isSameValidator(session, validatorAddress))
      if (!isTaken && inbound.filter((session) => this.isReserved(session)).length < MAX_VALIDATORS) return undefined
    }
    const taken = inbound.filter((session) => !this.isReserved(session)).length
    return taken < this.#options.counts.inbound ? undefined : 'it has no free place'
  }

  /** Whether the peer has a reserved slot: a persistent peer or a validator of the present set. */
  isReserved(session: Session): boolean {
    return session.isPersistent || this.#isValidator(session.validatorAddress)
  }

  joined(session: Session): void {
    const { book, metrics } = this.#options
    this.#attempts.delete(session.id)
    this.#announce(session)
    this.#rememberAddress(session)
    metrics.knownAddresses.set(book.size)
    // Ask it for peers at the next tick.
    if (session.isOutbound) this.#askedMs = Number.NEGATIVE_INFINITY
    this.#count()
  }

  left(_session: Session): void {
    this.#count()
  }

  /** Up to `count` good peers to name to others: connected ones, then those that this node has reached. */
  known(count: number): readonly KnownPeer[] {
    const known = new Map<string, KnownPeer>()
    for (const session of this.#sessions()) {
      const peer = this.#announced(session)
      if (peer !== undefined) known.set(peer.id, peer)
    }
    for (const peer of this.#options.book.good(count)) if (!known.has(peer.id)) known.set(peer.id, peer)
    return shuffled([...known.values()]).slice(0, count)
  }

  #sessions(): readonly Session[] {
    return [...this.#options.connections.sessions.values()]
  }

  #isValidator(address: Uint8Array | undefined): boolean {
    return address !== undefined && this.#validators.has(bytesKey(address))
  }

  #announce(session: Session): void {
    const peer = this.#announced(session)
    if (peer !== undefined) this.#options.book.announced(peer, session.remote.host)
  }

  /** Where a connected peer can be dialled: the address that it announces, else that of the connection. */
  #announced({ id, hello, remote, validatorAddress }: Session): KnownPeer | undefined {
    const address = parsePeerAddress(hello.externalAddress) ?? { host: remote.host, port: hello.listenPort }
    if (address.port === 0) return undefined
    return { id, address: formatPeerAddress(address), isValidator: this.#isValidator(validatorAddress) }
  }

  /** The next connection of a peer with a reserved slot finds a reserved place for its handshake. */
  #rememberAddress({ id, isPersistent, validatorAddress, remote }: Session): void {
    const { known } = this.#options
    if (isPersistent) known.remember(id, remote.host)
    // By the key, of which there are few: a validator can have any number of nodes with a proof.
    if (this.#isValidator(validatorAddress)) known.remember(bytesKey(validatorAddress!), remote.host)
  }

  /** Names of configured peers may get other addresses at any time. */
  #resolvePersistent(nowMs: number): void {
    if (nowMs - this.#resolvedMs < RESOLVE_MS) return
    this.#resolvedMs = nowMs
    const { persistent, known, log } = this.#options
    for (const { id, address } of persistent) {
      known.resolve(id, address.host).catch((error: unknown) => {
        log.debug({ peer: id, host: address.host, reason: String(error) }, 'name of a configured peer has no address')
      })
    }
  }

  #tick(): void {
    const nowMs = this.#options.now()
    this.#resolvePersistent(nowMs)
    this.#dropDead(nowMs)
    this.#dialPersistent(nowMs)
    this.#dialOthers(nowMs)
    this.#askForPeers(nowMs)
    if (nowMs - this.#savedMs < SAVE_MS) return
    this.#savedMs = nowMs
    this.#options.book.save()
  }

  #dropDead(nowMs: number): void {
    const { connections, metrics } = this.#options
    const queued = { consensus: 0, parts: 0 }
    for (const session of this.#sessions()) {
      const { meter, queues } = session
      const stalledMs = Math.max(queues?.consensus.stalledMs(nowMs) ?? 0, queues?.parts.stalledMs(nowMs) ?? 0)
      queued.consensus += queues?.consensus.bytes ?? 0
      queued.parts += queues?.parts.bytes ?? 0
      if (nowMs - meter.lastReceivedMs > LIMITS.silentMs) connections.disconnect(session, 'it is silent')
      else if (stalledMs > LIMITS.stalledMs) connections.disconnect(session, 'it takes no messages')
    }
    metrics.queuedBytes.set({ queue: 'consensus' }, queued.consensus)
    metrics.queuedBytes.set({ queue: 'parts' }, queued.parts)
  }

  #dialPersistent(nowMs: number): void {
    for (const { id, address } of this.#options.persistent) {
      if (this.#isDue(id, nowMs)) this.#dial(id, address, false)
    }
  }

  #dialOthers(nowMs: number): void {
    const { book, counts, ownAddress } = this.#options
    const isValidator = this.#isValidator(ownAddress)
    const sessions = this.#sessions()
    const outbound = sessions.filter((session) => session.isOutbound && !this.isReserved(session)).length
    // Whoever connects to this node may be anybody: some of its peers it chooses itself, however many others there are.
    const missing = Math.max(counts.wanted - sessions.length, Math.min(CHOSEN_PEERS, counts.wanted) - outbound)
    let wanted = Math.min(missing, counts.outbound - outbound) - this.#dialling.size
    for (const peer of shuffled([...book.peers()])) {
      if (this.#dialling.size >= DIALS_AT_ONCE) return
      const isNeeded = isValidator && peer.isValidator && sessions.length < MAX_VALIDATORS + counts.inbound
      if ((wanted <= 0 && !isNeeded) || this.#persistentIds.has(peer.id) || !this.#isDue(peer.id, nowMs)) continue
      wanted--
      this.#dial(peer.id, parsePeerAddress(peer.address)!, peer.isValidator)
    }
  }

  #isDue(id: string, nowMs: number): boolean {
    const { connections } = this.#options
    if (connections.isConnected(id) || connections.bans.isBanned(id) || this.#dialling.has(id)) return false
    const attempt = this.#attempts.get(id) ?? this.#firstAttempt(id, nowMs)
    return attempt.nextMs <= nowMs
  }

  /** Two nodes that learn of each other should not both dial: the one with the higher ID gives the other one time to dial first. */
  #firstAttempt(id: string, nowMs: number): Attempt {
    const nextMs = this.#options.id > id ? nowMs + YIELD_MS * (1 + Math.random()) : nowMs
    const attempt = { failures: 0, nextMs }
    this.#attempts.set(id, attempt)
    return attempt
  }

  #dial(id: string, address: PeerAddress, isValidator: boolean): void {
    const { connections, book, metrics, log, now } = this.#options
    const startMs = now()
    this.#dialling.add(id)
    connections
      .dial(id, address)
      .then((isReached) => {
        if (isReached === undefined) return
        metrics.dialsTotal.inc({ result: 'connected' })
        metrics.dialSeconds.observe((now() - startMs) / 1000)
        const session = connections.sessions.get(id)
        const isProven = this.#isValidator(session?.validatorAddress)
        book.reached({ id, address: formatPeerAddress(address), isValidator: isProven }, Date.now())
        // It was dialled although there are enough peers, because another peer named it as a validator; it has not proved that.
        if (
          isValidator &&
          !isProven &&
          session !== undefined &&
          this.#sessions().length > this.#options.counts.wanted
        ) {
          connections.disconnect(session, 'it is not the validator that it was said to be')
        }
      })
      .catch((error: unknown) => {
        if (this.#isClosed) return
        if (!(error instanceof DialError)) throw error
        metrics.dialsTotal.inc({ result: 'failed' })
        book.failed(id, error.isPermanent)
        const isPersistent = this.#persistentIds.has(id)
        const failures = this.#postpone(
          id,
          isPersistent || (isValidator && this.#isValidator(this.#options.ownAddress)),
        )
        // The operator configured this peer and should be informed of the failure, but not every few seconds.
        const isWarned = isPersistent && (error.isPermanent || failures === 3 || failures % 60 === 0)
        const fields = { peer: id, address: formatPeerAddress(address), reason: error.message, failures }
        if (isWarned) log.warn(fields, 'peer cannot be reached')
        else log.debug(fields, 'peer cannot be reached')
      })
      .finally(() => this.#dialling.delete(id))
  }

  /** Sets when the peer is dialled again, with jitter, so that after a network failure not all nodes dial at once. */
  #postpone(id: string, isNeeded: boolean): number {
    const { firstMs, factor, maxMs } = isNeeded ? BACK_OFF.needed : BACK_OFF.other
    const failures = (this.#attempts.get(id)?.failures ?? 0) + 1
    const yieldMs = this.#options.id > id ? YIELD_MS : 0
    const waitMs = yieldMs + Math.min(maxMs, firstMs * factor ** (failures - 1)) * (0.7 + 0.6 * Math.random())
    this.#attempts.set(id, { failures, nextMs: this.#options.now() + waitMs })
    // Peers that are not in the address book any more are dropped here as well.
    for (const oldest of this.#attempts.keys()) {
      if (this.#attempts.size <= MAX_ATTEMPTS) break
      if (!this.#persistentIds.has(oldest)) this.#attempts.delete(oldest)
    }
    return failures
  }

  #askForPeers(nowMs: number): void {
    const { connections, counts, book, metrics, log, ownAddress } = this.#options
    const sessions = this.#sessions().filter(({ queues }) => queues !== undefined)
    const hasEnough = sessions.length >= counts.wanted
    if (sessions.length === 0 || (hasEnough && !this.#isValidator(ownAddress))) return
    if (nowMs - this.#askedMs < (hasEnough ? ASK_FOR_PEERS_MS.enough : ASK_FOR_PEERS_MS.few)) return
    this.#askedMs = nowMs
    const session = sessions[Math.floor(Math.random() * sessions.length)]!
    fetchPeers({ metrics }, session)
      .then((peers) => book.learn(peers, session.remote.host))
      .catch((error: unknown) => {
        connections.endOnDefect(error)
        log.debug({ peer: session.id, reason: String(error) }, 'peer does not answer with other peers')
        if (error instanceof ProtobufError && connections.sessions.has(session.id)) {
          connections.ban(session, `malformed answer: ${error.message}`)
        }
      })
  }

  #count(): void {
    const sessions = this.#sessions()
    const outbound = sessions.filter(({ isOutbound }) => isOutbound).length
    this.#options.metrics.peers.set({ direction: 'outbound' }, outbound)
    this.#options.metrics.peers.set({ direction: 'inbound' }, sessions.length - outbound)
  }
}

function isSameValidator({ validatorAddress }: Session, other: Uint8Array): boolean {
  return validatorAddress !== undefined && bytesKey(validatorAddress) === bytesKey(other)
}

function shuffled<T>(items: T[]): T[] {
  for (let i = items.length - 1; i > 0; i--) {
    const j = Math.floor(Math.random() * (i + 1))
    const item = items[i]!
    items[i] = items[j]!
    items[j] = item
  }
  return items
}
