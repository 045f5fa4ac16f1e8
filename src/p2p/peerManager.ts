import { bytesKey } from '../primitives/bytes.ts'
import { budgetKeyOf, readNetworkAddress } from '../primitives/networkAddress.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { NetworkMetrics } from '../telemetry/metrics.ts'
import { type AddressBook, BOOK_ENTRIES, sourceGroupOf } from './addressBook.ts'
import { type Connections, DialError } from './connections.ts'
import type { KnownAddresses } from './knownAddresses.ts'
import { INBOUND_SHARE, LIMITS, type PeerCounts, TokenBucket } from './limits.ts'
import {
  formatPeerAddress,
  type KnownPeer,
  type PeerAddress,
  parsePeerAddress,
  reachOf,
  tellableTo,
} from './peerAddress.ts'
import { PeerDiscovery } from './peerDiscovery.ts'
import { configuredIds, type PeerPolicy } from './peerPolicy.ts'
import type { Session } from './session.ts'

const TICK_MS = 500
const DIALS_AT_ONCE = 8
/** Dials of validators among these: false hints leave room for others. */
const HINTS_AT_ONCE = 4
/** Peers without a reserved slot that the node dials itself: it dials known ones until it has this many. */
const CHOSEN_PEERS = 8
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
/** Dials of a validator because a peer says that a validator is at an address; any peer can say so of any address. */
const HINT_DIALS = { perSecond: 1, burst: MAX_VALIDATORS } as const
const SAVE_MS = 120_000
const RESOLVE_MS = 60_000
/** How many peers have their failures recorded: more than the address book has entries. */
const MAX_ATTEMPTS = BOOK_ENTRIES + 1_000
/** A peer that leaves sooner is not dialled again at once. */
const SHORT_MS = 30_000

interface PeerManagerOptions {
  /** of this node */
  readonly id: string
  readonly connections: Connections
  readonly book: AddressBook
  /** addresses whose connections have reserved places */
  readonly known: KnownAddresses
  readonly policy: PeerPolicy
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
  readonly #discovery: PeerDiscovery
  readonly #persistentIds: ReadonlySet<string>
  readonly #configuredIds: ReadonlySet<string>
  readonly #seedIds: ReadonlySet<string>
  readonly #attempts = new Map<string, Attempt>()
  /** network groups of the addresses that are being dialled, by node ID */
  readonly #dialling = new Map<string, string>()
  readonly #hintDials: TokenBucket
  #hintsDialled = 0
  #validators: ReadonlySet<string> = new Set()
  /** sessions by the validator that they have proved to be, the oldest first */
  readonly #byValidator = new Map<string, readonly Session[]>()
  #timer: NodeJS.Timeout | undefined
  #resolvedMs = Number.NEGATIVE_INFINITY
  #savedMs: number
  #isClosed = false

  constructor(options: PeerManagerOptions) {
    this.#options = options
    const { policy, connections, book, metrics, log, now } = options
    this.#persistentIds = new Set(policy.persistent.map(({ id }) => id))
    this.#configuredIds = configuredIds(policy)
    this.#seedIds = new Set(policy.seeds.map(({ id }) => id))
    this.#hintDials = new TokenBucket(HINT_DIALS, now())
    this.#savedMs = now()
    this.#discovery = new PeerDiscovery({
      connections,
      book,
      policy,
      metrics,
      log,
      now,
      wantsPeers: () => this.#missing() > 0,
      isValidator: () => this.#isValidator(options.ownAddress),
      isDue: (id, nowMs) => this.#isDue(id, nowMs),
      dial: (id, address) => this.#dial(id, address, false),
    })
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

  /** Sets the current validators, by consensus address: they have reserved slots, as persistent peers do, and connect to each other. */
  setValidators(addresses: readonly Uint8Array[]): void {
    const former = this.#validators
    this.#validators = new Set(addresses.map(bytesKey))
    // Entries that came from the address book stay: their peers may still connect.
    this.#options.known.keepOnly((peer) => !former.has(peer) || this.#validators.has(peer))
    for (const session of this.#sessions()) {
      this.#announce(session)
      this.#rememberAddress(session)
    }
  }

  /** Returns why there is no slot for a peer that connects; undefined when there is one. */
  refuse({ id, validatorAddress, remote }: Pick<Session, 'id' | 'validatorAddress' | 'remote'>): string | undefined {
    if (this.#configuredIds.has(id)) return undefined
    // A former session of the same peer, whose end may not have been noticed yet, does not count.
    const inbound = this.#sessions().filter((session) => !session.isOutbound && session.id !== id)
    if (validatorAddress !== undefined && this.#isValidator(validatorAddress)) {
      // One slot is reserved for each validator key: further nodes with a proof of the same key compete with other peers.
      const isTaken = this.#sessions().some(
        (session) => session.id !== id && isSameValidator(session, validatorAddress),
      )
      if (!isTaken && inbound.filter((session) => this.isReserved(session)).length < MAX_VALIDATORS) return undefined
    }
    const taken = inbound.filter((session) => !this.isReserved(session))
    const places = this.#options.counts.inbound
    if (taken.length >= places) return 'it has no free place'
    const hosts = taken.map((session) => session.remote.host)
    return hasShare(hosts, remote.host, places) ? undefined : 'it has no free place for more from this network'
  }

  /**
   * Returns whether the peer has a reserved slot: the operator has named it, or it is a validator of
   * the current set. Only a validator's oldest session has one: the key can prove any number of nodes,
   * and each reserved slot has a share of this node's work.
   */
  isReserved(session: Session): boolean {
    if (session.isConfigured) return true
    const { validatorAddress } = session
    if (validatorAddress === undefined) return false
    const key = bytesKey(validatorAddress)
    return this.#validators.has(key) && this.#byValidator.get(key)?.[0] === session
  }

  /**
   * Returns the owner of a session's share of this node's work: a peer with a reserved slot itself,
   * otherwise its network.
   */
  ownerOf(session: Session): string {
    return this.isReserved(session) ? session.id : sourceGroupOf(session.remote.host)
  }

  joined(session: Session): void {
    this.#attempts.delete(session.id)
    if (session.validatorAddress !== undefined) {
      const key = bytesKey(session.validatorAddress)
      this.#byValidator.set(key, [...(this.#byValidator.get(key) ?? []), session])
    }
    this.#announce(session)
    this.#rememberAddress(session)
    this.#discovery.joined(session)
    this.#count()
  }

  left(session: Session): void {
    this.#count()
    if (session.validatorAddress !== undefined) {
      const key = bytesKey(session.validatorAddress)
      const others = this.#byValidator.get(key)?.filter((other) => other !== session) ?? []
      if (others.length > 0) this.#byValidator.set(key, others)
      else this.#byValidator.delete(key)
    }
    const { id, isOutbound, isConfigured, meter } = session
    if (!isOutbound || isConfigured || this.#options.now() - meter.openedMs > SHORT_MS) return
    this.#postpone(id, this.#isValidator(session.validatorAddress))
  }

  /** Called when a peer at the address `source` has named others. */
  named(peers: readonly KnownPeer[], source: string): void {
    this.#discovery.named(peers, source)
  }

  /** Called when other peers were named to the peer, see {@link known}. */
  answered(session: Session): void {
    this.#discovery.answered(session)
  }

  /**
   * Returns up to `count` good peers to name to a peer at `host`: connected ones, then those that
   * this node has reached.
   */
  known(count: number, host: string): readonly KnownPeer[] {
    if (!this.#options.policy.exchangesPeers) return []
    const known = new Map<string, KnownPeer>()
    for (const session of this.#sessions()) {
      const peer = this.#announced(session)
      if (peer !== undefined) known.set(peer.id, peer)
    }
    for (const peer of this.#options.book.good(count)) if (!known.has(peer.id)) known.set(peer.id, peer)
    return shuffled([...tellableTo(host, [...known.values()])]).slice(0, count)
  }

  #sessions(): readonly Session[] {
    return [...this.#options.connections.sessions.values()]
  }

  #peers(): readonly Session[] {
    return this.#sessions().filter(({ isVisit }) => !isVisit)
  }

  #isValidator(address: Uint8Array | undefined): boolean {
    return address !== undefined && this.#validators.has(bytesKey(address))
  }

  #announce(session: Session): void {
    if (!this.#options.policy.exchangesPeers) return
    const peer = this.#announced(session)
    if (peer !== undefined) this.#options.book.announced(peer, session.remote.host)
  }

  /**
   * Returns where a connected peer can be dialled: the address that it announces, else that of the
   * connection. Undefined for a peer that announces nothing or an address at which another node is,
   * and for a private peer.
   */
  #announced({ id, hello, remote, validatorAddress }: Session): KnownPeer | undefined {
    const { policy, connections } = this.#options
    if (policy.privateIds.has(id)) return undefined
    const address = parsePeerAddress(hello.externalAddress) ?? { host: remote.host, port: hello.listenPort }
    if (address.port === 0 || connections.isFalseAddress(id, address)) return undefined
    return { id, address: formatPeerAddress(address), isValidator: this.#isValidator(validatorAddress) }
  }

  /** Reserves a place for the handshake of the next connection of a peer with a reserved slot. */
  #rememberAddress({ id, isConfigured, validatorAddress, remote }: Session): void {
    const { known } = this.#options
    if (isConfigured) known.remember(id, remote.host)
    // By the validator's key, as there are few: a validator can have any number of nodes with a proof.
    if (this.#isValidator(validatorAddress)) known.remember(bytesKey(validatorAddress!), remote.host)
  }

  /** Resolves the names of configured peers again, since their addresses can change at any time. */
  #resolvePersistent(nowMs: number): void {
    if (nowMs - this.#resolvedMs < RESOLVE_MS) return
    this.#resolvedMs = nowMs
    const { policy, known, log } = this.#options
    for (const { id, address } of policy.persistent) {
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
    this.#discovery.tick(nowMs)
    const { book, metrics } = this.#options
    for (const kind of ['new', 'tried'] as const) metrics.knownAddresses.set({ kind }, book.count(kind))
    if (nowMs - this.#savedMs < SAVE_MS) return
    this.#savedMs = nowMs
    book.save()
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
    for (const { id, address } of this.#options.policy.persistent) {
      if (this.#isDue(id, nowMs)) void this.#dial(id, address, false)
    }
  }

  /** Returns how many more peers the node should dial. */
  #missing(): number {
    const { counts } = this.#options
    const outbound = this.#chosen().length
    // Inbound peers may all be an attacker's: the node chooses some peers itself, however many inbound ones there are.
    const missing = Math.max(counts.wanted - this.#peers().length, Math.min(CHOSEN_PEERS, counts.wanted) - outbound)
    return Math.min(missing, counts.outbound - outbound)
  }

  /** Returns peers without a reserved slot that the node has dialled. */
  #chosen(): readonly Session[] {
    return this.#peers().filter((session) => session.isOutbound && !this.isReserved(session))
  }

  #dialOthers(nowMs: number): void {
    const { book, policy } = this.#options
    if (!policy.exchangesPeers || policy.isSeed) return
    this.#dialValidators(nowMs)
    // Peers of as many networks as possible: no attacker has machines in all of them.
    const groups = new Set([
      ...this.#chosen().map(({ remote }) => sourceGroupOf(remote.host)),
      ...this.#dialling.values(),
    ])
    for (let wanted = this.#missing() - this.#dialling.size; wanted > 0; wanted--) {
      if (this.#dialling.size >= DIALS_AT_ONCE) return
      const isWanted = ({ id }: KnownPeer): boolean => !this.#persistentIds.has(id) && this.#isDue(id, nowMs)
      const peer = book.choose((other, group) => !groups.has(group) && isWanted(other)) ?? book.choose(isWanted)
      if (peer === undefined) return
      const address = parsePeerAddress(peer.address)!
      groups.add(sourceGroupOf(address.host))
      void this.#dial(peer.id, address, peer.isValidator)
    }
  }

  /** Validators connect to each other: a vote that goes straight from one to the other arrives first. */
  #dialValidators(nowMs: number): void {
    const { book, counts, ownAddress } = this.#options
    if (!this.#isValidator(ownAddress) || this.#peers().length >= MAX_VALIDATORS + counts.inbound) return
    for (const { id, address, isValidator } of shuffled([...book.peers()].filter((peer) => peer.isValidator))) {
      if (this.#hintsDialled >= HINTS_AT_ONCE || this.#dialling.size >= DIALS_AT_ONCE) return
      if (this.#persistentIds.has(id) || !this.#isDue(id, nowMs)) continue
      if (!this.#hintDials.take(1, nowMs)) return
      this.#hintsDialled++
      void this.#dial(id, parsePeerAddress(address)!, isValidator).finally(() => this.#hintsDialled--)
    }
  }

  #isDue(id: string, nowMs: number): boolean {
    const { connections } = this.#options
    if (connections.isConnected(id) || connections.bans.isBanned(id) || this.#dialling.has(id)) return false
    const attempt = this.#attempts.get(id) ?? this.#firstAttempt(id, nowMs)
    return attempt.nextMs <= nowMs
  }

  /**
   * Returns the first attempt to dial a node. Two nodes that learn of each other should not both
   * dial: the one with the higher ID waits, so that the other one can dial first.
   */
  #firstAttempt(id: string, nowMs: number): Attempt {
    const nextMs = this.#options.id > id ? nowMs + YIELD_MS * (1 + Math.random()) : nowMs
    const attempt = { failures: 0, nextMs }
    this.#setAttempt(id, attempt)
    return attempt
  }

  /**
   * Dials a peer and records how that went. Never rejects.
   * @param isHinted whether it is dialled because others say that it is a validator
   * @returns whether it was reached
   */
  async #dial(id: string, address: PeerAddress, isHinted: boolean): Promise<boolean> {
    const { connections, metrics, now, counts } = this.#options
    const startMs = now()
    this.#dialling.set(id, sourceGroupOf(address.host))
    try {
      const isReached = await connections.dial(id, address)
      if (isReached === undefined) return true
      metrics.dialsTotal.inc({ result: 'connected' })
      metrics.dialSeconds.observe((now() - startMs) / 1000)
      const session = connections.sessions.get(id)
      const isProven = this.#isValidator(session?.validatorAddress)
      const peer = { id, address: formatPeerAddress(address), isValidator: isProven }
      if (session !== undefined) this.#reached(peer, session.remote.host, session.isVisit)
      // It was dialled although there are enough peers, because another peer named it as a validator; it has not proved that.
      if (isHinted && !isProven && session !== undefined && this.#peers().length > counts.wanted) {
        connections.disconnect(session, 'it is not the validator that it was said to be')
      }
      return true
    } catch (error) {
      if (!this.#isClosed) this.#dialFailed(id, address, isHinted, error)
      return false
    } finally {
      this.#dialling.delete(id)
    }
  }

  #reached(peer: KnownPeer, host: string, isVisit: boolean): void {
    const { book, policy } = this.#options
    // A seed hangs up on all peers: it is not named to others, and is dialled when it is needed.
    if (!policy.exchangesPeers) return
    if (policy.isSeed || !isVisit) book.reached(peer, host)
    else book.failed(peer.id, true)
  }

  #dialFailed(id: string, address: PeerAddress, isHinted: boolean, error: unknown): void {
    if (!(error instanceof DialError)) throw error
    const { book, metrics, log, ownAddress } = this.#options
    metrics.dialsTotal.inc({ result: error.kind === 'refused' ? 'refused' : 'failed' })
    if (error.kind === 'refused') {
      // It has no place for this node, but is at the named address. A seed may hang up on all peers.
      const peer = { id, address: formatPeerAddress(address), isValidator: isHinted }
      if (!this.#seedIds.has(id)) this.#reached(peer, error.host ?? address.host, false)
    } else if (error.kind === 'wrong' || this.#peers().length > 0) {
      // Without any peer it is this node that has no connection.
      book.failed(id, error.kind === 'wrong')
    }
    const isPersistent = this.#persistentIds.has(id)
    const failures = this.#postpone(id, isPersistent || (isHinted && this.#isValidator(ownAddress)))
    // The operator configured this peer and should be informed of the failure, but not every few seconds.
    const isWarned =
      (isPersistent || this.#seedIds.has(id)) && (error.kind === 'wrong' || failures === 3 || failures % 60 === 0)
    const fields = { peer: id, address: formatPeerAddress(address), reason: error.message, failures }
    if (isWarned) log.warn(fields, 'peer cannot be reached')
    else log.debug(fields, 'peer cannot be reached')
  }

  /** Sets when the peer is dialled again, with jitter, so that after a network failure not all nodes dial at once. */
  #postpone(id: string, isNeeded: boolean): number {
    const { firstMs, factor, maxMs } = isNeeded ? BACK_OFF.needed : BACK_OFF.other
    const failures = (this.#attempts.get(id)?.failures ?? 0) + 1
    const yieldMs = this.#options.id > id ? YIELD_MS : 0
    const waitMs = yieldMs + Math.min(maxMs, firstMs * factor ** (failures - 1)) * (0.7 + 0.6 * Math.random())
    this.#setAttempt(id, { failures, nextMs: this.#options.now() + waitMs })
    return failures
  }

  #setAttempt(id: string, attempt: Attempt): void {
    this.#attempts.set(id, attempt)
    // Peers that are not in the address book any more are dropped here as well.
    for (const oldest of this.#attempts.keys()) {
      if (this.#attempts.size <= MAX_ATTEMPTS) break
      if (!this.#configuredIds.has(oldest) && !this.#seedIds.has(oldest)) this.#attempts.delete(oldest)
    }
  }

  #count(): void {
    const sessions = this.#peers()
    const outbound = sessions.filter(({ isOutbound }) => isOutbound).length
    this.#options.metrics.peers.set({ direction: 'outbound' }, outbound)
    this.#options.metrics.peers.set({ direction: 'inbound' }, sessions.length - outbound)
  }
}

const addressKeyOf = (host: string): string => budgetKeyOf(readNetworkAddress(host) ?? host)

/**
 * Returns whether one more connection from `host` stays within the share of its address and of its
 * network. Private addresses have no share: the whole network of a test, or all that comes through
 * a proxy, may have one.
 * @param hosts of the connections that there are
 */
export function hasShare(hosts: readonly string[], host: string, places: number): boolean {
  if (reachOf(host) !== 'public') return true
  const of = (keyOf: (host: string) => string): number => hosts.filter((other) => keyOf(other) === keyOf(host)).length
  const inGroup = Math.max(INBOUND_SHARE.address, Math.ceil(places * INBOUND_SHARE.group))
  return of(addressKeyOf) < INBOUND_SHARE.address && of(sourceGroupOf) < inGroup
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
