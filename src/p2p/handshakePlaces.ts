import { budgetKeyOf, readNetworkAddress } from '../primitives/networkAddress.ts'
import type { NetworkMetrics } from '../telemetry/metrics.ts'
import { HANDSHAKE_LIMITS, LIMITS, TokenBucket } from './limits.ts'
import { type PeerAddress, reachOf } from './peerAddress.ts'

/** Known peers have places of their own, so that no flood from elsewhere keeps them out. */
type Lane = 'known' | 'strangers'

/** What one address (IPv6: one /64) takes. */
interface AddressShare {
  readonly limits: (typeof HANDSHAKE_LIMITS)['publicAddress' | 'privateAddress']
  readonly started: TokenBucket
  pending: number
}

/** A connection that has not shown yet who is at its other side. */
interface Pending {
  /** address and port of the other side */
  readonly key: string
  readonly lane: Lane
  readonly share: AddressShare
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

/** With more addresses, those that use nothing of their share are forgotten. */
const ADDRESSES = 1_024

/**
 * Decides which inbound connections may begin a handshake, before anything is done for them: a handshake costs this thread about a
 * hundred times as much as closing the connection, and without its other work no block is decided. A connection has to find three
 * things, or it is closed:
 *
 * 1. A place, until its session is established. There are few; the oldest one that has had some time makes room for a new one, so that
 *    connections which say nothing do not hold the places until the deadline.
 * 2. What is left of its address's share.
 * 3. What is left of the handshakes that may start in a second, which bounds the time that all of them take.
 */
export class HandshakePlaces {
  readonly #options: HandshakePlacesOptions
  /** the oldest first */
  readonly #pending: Readonly<Record<Lane, Map<string, Pending>>> = { known: new Map(), strangers: new Map() }
  readonly #started: Readonly<Record<Lane, TokenBucket>>
  readonly #shares = new Map<string, AddressShare>()

  constructor(options: HandshakePlacesOptions) {
    this.#options = options
    const nowMs = options.now()
    this.#started = {
      known: new TokenBucket(HANDSHAKE_LIMITS.known.started, nowMs),
      strangers: new TokenBucket(HANDSHAKE_LIMITS.strangers.started, nowMs),
    }
  }

  /**
   * Gives a new inbound connection a place.
   * @param close closes the connection when its time is over
   * @returns to be called when the connection is closed; undefined: it has no place and must be closed now
   */
  enter(remote: PeerAddress, close: () => void): (() => void) | undefined {
    const result = this.#enter(remote, close)
    const isAdmitted = typeof result !== 'string'
    this.#options.metrics.inboundConnectionsTotal.inc({ result: isAdmitted ? 'admitted' : result })
    return isAdmitted ? () => this.#leave(result) : undefined
  }

  /** The connection from this address and port has become a session: it needs its place no more. */
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
    // Nothing is remembered of an address, and nothing is taken from its share, before it is sure that it gets a place.
    const oldest = places.size < HANDSHAKE_LIMITS[lane].pending ? undefined : places.values().next().value
    if (oldest !== undefined && nowMs - oldest.beganMs < LIMITS.handshakeGraceMs) return 'full'
    if (!started.has(1, nowMs)) return 'rate'
    const share = this.#shareOf(host, nowMs)
    if (share.pending >= share.limits.pending || !share.started.take(1, nowMs)) return 'share'
    started.take(1, nowMs)
    if (oldest !== undefined) this.#expel(oldest, 'evicted')

    const deadline = setTimeout(() => this.#expel(pending, 'late'), LIMITS.helloMs)
    const pending: Pending = { key: keyOf(remote), lane, share, beganMs: nowMs, deadline, close }
    // Its port may be used anew before the end of its former connection is heard of here.
    const former = places.get(pending.key)
    if (former !== undefined) this.#leave(former)
    places.set(pending.key, pending)
    share.pending++
    this.#count(lane)
    return pending
  }

  #expel(pending: Pending, result: 'evicted' | 'late'): void {
    this.#options.metrics.inboundConnectionsTotal.inc({ result })
    this.#leave(pending)
    pending.close()
  }

  #leave(pending: Pending): void {
    const { key, lane, share, deadline } = pending
    const places = this.#pending[lane]
    // It may have left before, also because another connection has come from its port.
    if (places.get(key) !== pending) return
    clearTimeout(deadline)
    places.delete(key)
    share.pending--
    this.#count(lane)
  }

  #count(lane: Lane): void {
    this.#options.metrics.pendingHandshakes.set({ from: lane }, this.#pending[lane].size)
  }

  #shareOf(host: string, nowMs: number): AddressShare {
    const key = budgetKeyOf(host)
    const known = this.#shares.get(key)
    if (known !== undefined) return known
    if (this.#shares.size >= ADDRESSES) this.#forgetIdle(nowMs)
    const limits = HANDSHAKE_LIMITS[reachOf(host) === 'public' ? 'publicAddress' : 'privateAddress']
    const share = { limits, started: new TokenBucket(limits.started, nowMs), pending: 0 }
    this.#shares.set(key, share)
    return share
  }

  /** Few addresses stay: only so many handshakes start in the time in which a share is filled again. */
  #forgetIdle(nowMs: number): void {
    for (const [key, { limits, started, pending }] of this.#shares) {
      if (pending === 0 && started.has(limits.started.burst, nowMs)) this.#shares.delete(key)
    }
  }
}

/** Equal for the two ends' forms of an address. */
function keyOf({ host, port }: PeerAddress): string {
  return `${readNetworkAddress(host) ?? host} ${port}`
}
