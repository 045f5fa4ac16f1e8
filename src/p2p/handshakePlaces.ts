import { budgetKeyOf, readNetworkAddress } from '../primitives/networkAddress.ts'
import type { NetworkMetrics } from '../telemetry/metrics.ts'
import { sourceGroupOf } from './addressBook.ts'
import { HANDSHAKE_LIMITS, LIMITS, TokenBucket } from './limits.ts'
import { type PeerAddress, reachOf } from './peerAddress.ts'

/** A started handshake counts half after this time. See {@link HandshakePlaces}, 3. */
const RECENT_HALF_MS = 4_000
/** So many of the handshakes that may start are left for addresses that have started none lately. */
const RESERVE = 8
/** For each recent handshake of an address, this many more are left for others. */
const RESERVE_PER_RECENT = 0.5
/** A network has as much as this many addresses. */
const NETWORK_ADDRESSES = 8
/** A smaller part of a handshake counts nothing. */
const FORGOTTEN = 0.01

/** Known peers have places of their own, so that no flood from elsewhere keeps them out. */
type Lane = 'known' | 'strangers'

/** Places that one address (IPv6: one /64) or one network (/16, IPv6: /48) uses. */
interface Usage {
  /** handshakes that it started lately: each counts less as time passes */
  readonly recent: RecentCount
  pending: number
}

interface AddressShare extends Usage {
  readonly limits: (typeof HANDSHAKE_LIMITS)['publicAddress' | 'privateAddress']
  readonly started: TokenBucket
}

/** A connection that has not shown yet who is at its other side. */
interface Pending {
  /** address and port of the other side */
  readonly key: string
  readonly lane: Lane
  readonly share: AddressShare
  readonly network: Usage
  readonly beganMs: number
  readonly deadline: NodeJS.Timeout
  readonly close: () => void
}

interface HandshakePlacesOptions {
  readonly isBanned: (host: string) => boolean
  /** whether the node expects peers that it needs from this address */
  readonly isKnown: (host: string) => boolean
  readonly metrics: Pick<NetworkMetrics, 'inboundConnectionsTotal' | 'pendingHandshakes'>
  /** milliseconds, monotonic */
  readonly now: () => number
}

/** With more addresses, or networks, those that use nothing of their share are forgotten. */
const ADDRESSES = 1_024

/**
 * Decides which inbound connections may begin a handshake, before anything is done for them: a handshake costs this thread about a
 * hundred times as much as closing the connection, and without its other work no block is decided. A connection has to find three
 * things, or it is closed:
 *
 * 1. A place, until its session is established. There are few. One that has had some time makes room for a new connection, and so does
 *    one of the address that holds the most places, if the new connection's address holds fewer.
 * 2. What is left of its address's share.
 * 3. What is left of the handshakes that may start per second, which bounds the time that all of them take. An address or network that
 *    has started none lately gets one as long as there is any; the more it has started, the more must be left. So a flood from a few
 *    dozen addresses leaves others theirs.
 */
export class HandshakePlaces {
  readonly #options: HandshakePlacesOptions
  /** the oldest first */
  readonly #pending: Readonly<Record<Lane, Map<string, Pending>>> = { known: new Map(), strangers: new Map() }
  readonly #started: Readonly<Record<Lane, TokenBucket>>
  readonly #shares = new Map<string, AddressShare>()
  readonly #networks = new Map<string, Usage>()

  constructor(options: HandshakePlacesOptions) {
    this.#options = options
    const nowMs = options.now()
    this.#started = {
      known: new TokenBucket(HANDSHAKE_LIMITS.known.started, nowMs),
      strangers: new TokenBucket(HANDSHAKE_LIMITS.strangers.started, nowMs),
    }
  }

  /**
   * Assigns a new inbound connection a place.
   * @param close closes the connection when its time is over
   * @returns to be called when the connection is closed; undefined: it has no place and must be closed now
   */
  enter(remote: PeerAddress, close: () => void): (() => void) | undefined {
    const result = this.#enter(remote, close)
    const isAdmitted = typeof result !== 'string'
    this.#options.metrics.inboundConnectionsTotal.inc({ result: isAdmitted ? 'admitted' : result })
    return isAdmitted ? () => this.#leave(result) : undefined
  }

  /** Frees the place of a connection from this address and port, which has become a session. */
  established(remote: PeerAddress): void {
    const key = keyOf(remote)
    const pending = this.#pending.known.get(key) ?? this.#pending.strangers.get(key)
    if (pending !== undefined) this.#leave(pending)
  }

  close(): void {
    for (const lane of Object.values(this.#pending)) for (const { deadline } of lane.values()) clearTimeout(deadline)
  }

  #enter(remote: PeerAddress, close: () => void): Pending | 'banned' | 'full' | 'rate' | 'share' {
    const { isBanned, isKnown, now } = this.#options
    // In one form: a socket for IPv4 and IPv6 has IPv4 addresses in that of IPv6.
    const host = readNetworkAddress(remote.host) ?? remote.host
    const nowMs = now()
    const lane = isKnown(host) ? 'known' : 'strangers'
    // Bad nodes may share the address of a peer that is needed; their IDs are banned too.
    if (lane === 'strangers' && isBanned(host)) return 'banned'
    const places = this.#pending[lane]
    const started = this.#started[lane]
    if (!started.has(1, nowMs)) return 'rate'
    // Nothing is remembered of an address before it gets a place.
    const [address, group] = [budgetKeyOf(host), sourceGroupOf(host)]
    const share = this.#shares.get(address) ?? newShare(host, nowMs)
    const network = this.#networks.get(group) ?? { recent: new RecentCount(nowMs), pending: 0 }
    if (share.pending >= share.limits.pending || !share.started.has(1, nowMs)) return 'share'
    if (!started.has(1 + reserveFor(share, network, nowMs), nowMs)) return 'rate'
    const victim = places.size < HANDSHAKE_LIMITS[lane].pending ? undefined : victimFor(places.values(), share, nowMs)
    if (victim === 'none') return 'full'
    share.started.take(1, nowMs)
    started.take(1, nowMs)
    remember(this.#shares, address, share, nowMs)
    remember(this.#networks, group, network, nowMs)
    for (const usage of [share, network]) usage.recent.add(nowMs)
    if (victim !== undefined) this.#expel(victim, 'evicted')

    const deadline = setTimeout(() => this.#expel(pending, 'late'), LIMITS.helloMs)
    const pending: Pending = { key: keyOf(remote), lane, share, network, beganMs: nowMs, deadline, close }
    // Its port may be used again before the end of its former connection is noticed here.
    const former = places.get(pending.key)
    if (former !== undefined) this.#leave(former)
    places.set(pending.key, pending)
    for (const usage of [share, network]) usage.pending++
    this.#count(lane)
    return pending
  }

  #expel(pending: Pending, result: 'evicted' | 'late'): void {
    this.#options.metrics.inboundConnectionsTotal.inc({ result })
    this.#leave(pending)
    pending.close()
  }

  #leave(pending: Pending): void {
    const { key, lane, share, network, deadline } = pending
    const places = this.#pending[lane]
    // It may have left before, also because another connection has come from its port.
    if (places.get(key) !== pending) return
    clearTimeout(deadline)
    places.delete(key)
    for (const usage of [share, network]) usage.pending--
    this.#count(lane)
  }

  #count(lane: Lane): void {
    this.#options.metrics.pendingHandshakes.set({ from: lane }, this.#pending[lane].size)
  }
}

function newShare(host: string, nowMs: number): AddressShare {
  const limits = HANDSHAKE_LIMITS[reachOf(host) === 'public' ? 'publicAddress' : 'privateAddress']
  return { limits, started: new TokenBucket(limits.started, nowMs), recent: new RecentCount(nowMs), pending: 0 }
}

/** Returns how many handshakes that may start are left for others than this address. */
function reserveFor(share: AddressShare, network: Usage, nowMs: number): number {
  const recent = Math.max(share.recent.at(nowMs), network.recent.at(nowMs) / NETWORK_ADDRESSES)
  return recent < FORGOTTEN ? 0 : RESERVE + recent * RESERVE_PER_RECENT
}

/**
 * Remembers the use of a share. Few entries stay: only so many handshakes start in the time in
 * which one is forgotten.
 */
function remember<U extends Usage>(usages: Map<string, U>, key: string, usage: U, nowMs: number): void {
  if (!usages.has(key) && usages.size >= ADDRESSES) {
    for (const [other, { recent, pending }] of usages) {
      if (pending === 0 && recent.at(nowMs) < FORGOTTEN) usages.delete(other)
    }
  }
  usages.set(key, usage)
}

/**
 * Returns the connection that makes room for one more of an address with this share; 'none': each
 * has had too little time.
 */
function victimFor(places: Iterable<Pending>, share: AddressShare, nowMs: number): Pending | 'none' {
  let oldest: Pending | undefined
  let greediest: Pending | undefined
  for (const pending of places) {
    oldest ??= pending
    if (pending.share.pending > (greediest?.share.pending ?? share.pending + 1)) greediest = pending
  }
  if (greediest !== undefined) return greediest
  return oldest !== undefined && nowMs - oldest.beganMs >= LIMITS.handshakeGraceMs ? oldest : 'none'
}

/** A count of events that halves every so many milliseconds. */
class RecentCount {
  #count = 0
  #atMs: number

  constructor(nowMs: number) {
    this.#atMs = nowMs
  }

  at(nowMs: number): number {
    this.#count *= 0.5 ** ((nowMs - this.#atMs) / RECENT_HALF_MS)
    this.#atMs = nowMs
    return this.#count
  }

  add(nowMs: number): void {
    this.#count = this.at(nowMs) + 1
  }
}

/** Returns a key that is equal for the two ends' forms of an address. */
function keyOf({ host, port }: PeerAddress): string {
  return `${readNetworkAddress(host) ?? host} ${port}`
}
