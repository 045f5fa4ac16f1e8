import { ProtobufError } from '../primitives/protobuf.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { NetworkMetrics } from '../telemetry/metrics.ts'
import { type AddressBook, BOOK_ENTRIES } from './addressBook.ts'
import type { Connections } from './connections.ts'
import { type KnownPeer, type PeerAddress, parsePeerAddress } from './peerAddress.ts'
import { fetchPeers, PEERS_PER_ANSWER } from './peerExchange.ts'
import type { PeerPolicy, PersistentPeer } from './peerPolicy.ts'
import type { Session } from './session.ts'

/** Least times between questions to one peer, and to any peer: a node that has too few asks more. */
const ASK_MS = { samePeer: 10_000, few: 6_000, enough: 60_000 } as const
/** Between two attempts to see whether an address works (Bitcoin's feeler connections). */
const TEST_MS = 120_000
/** Between two visits of a seed to one node; CometBFT's minTimeBetweenCrawls. */
const CRAWL_MS = 120_000
/** Visits of a seed at the same time. */
const CRAWLS_AT_ONCE = 8
/** Pauses between two visits at seeds, which grow while seeds know no new peers, and after a visit that has failed. */
const SEED_PAUSE_MS = { first: 10_000, max: 600_000, alone: 60_000, failed: 1_000 } as const
/** A node without a peer for this long asks seeds, whatever its book holds. */
const ALONE_MS = 10_000
/** How long a visit may last in all, and after an answer. */
const VISIT_MS = { all: 15_000, answered: 1_000 } as const

interface PeerDiscoveryOptions {
  readonly connections: Connections
  readonly book: AddressBook
  readonly policy: PeerPolicy
  readonly metrics: NetworkMetrics
  readonly log: Logger
  readonly now: () => number
  /** whether the node has fewer peers than it wants */
  readonly wantsPeers: () => boolean
  /** whether it is a validator: those look for one another */
  readonly isValidator: () => boolean
  readonly isDue: (id: string, nowMs: number) => boolean
  /** Dials a peer. Resolves to whether it was reached, and never rejects. */
  readonly dial: (id: string, address: PeerAddress) => Promise<boolean>
}

/**
 * Finds addresses of peers: asks peers for them (PEX), asks seeds when too few are known, and sees whether addresses work. A seed visits
 * all addresses that it knows instead, and hangs up on everybody.
 */
export class PeerDiscovery {
  readonly #options: PeerDiscoveryOptions
  readonly #asked = new WeakMap<Session, number>()
  /** when a visit ends */
  readonly #visitEnds = new WeakMap<Session, number>()
  /** when this seed has visited a node */
  readonly #visited = new Map<string, number>()
  #crawls = 0
  #askedMs = Number.NEGATIVE_INFINITY
  #testedMs: number
  #aloneMs: number
  #seedsMs = Number.NEGATIVE_INFINITY
  #seedPauseMs: number = SEED_PAUSE_MS.first

  constructor(options: PeerDiscoveryOptions) {
    this.#options = options
    this.#testedMs = options.now()
    this.#aloneMs = options.now()
  }

  joined(session: Session): void {
    if (session.isVisit) this.#visitEnds.set(session, this.#options.now() + VISIT_MS.all)
    // An inbound peer may be an attacker's: only peers that this node has chosen are asked.
    if (this.#options.policy.exchangesPeers && session.isOutbound) this.#ask(session)
  }

  /** Called when other peers were named to the peer. */
  answered(session: Session): void {
    if (session.isVisit) this.#visitEnds.set(session, this.#options.now() + VISIT_MS.answered)
  }

  /** Called when a peer at the address `source` has named others. */
  named(peers: readonly KnownPeer[], source: string): void {
    const { book, policy, metrics, connections } = this.#options
    if (!policy.exchangesPeers) return
    const credible = peers
      .slice(0, PEERS_PER_ANSWER)
      .filter(({ id, address }) => !connections.isFalseAddress(id, parsePeerAddress(address)!))
    const added = book.learn(credible, source)
    metrics.namedAddressesTotal.inc({ result: 'added' }, added)
    metrics.namedAddressesTotal.inc({ result: 'left out' }, peers.length - added)
  }

  tick(nowMs: number): void {
    const { policy } = this.#options
    const sessions = [...this.#options.connections.sessions.values()]
    const peers = sessions.filter(({ isVisit }) => !isVisit)
    if (peers.length > 0) this.#aloneMs = nowMs
    this.#endVisits(sessions, nowMs)
    this.#dialSeeds(peers, nowMs)
    if (!policy.exchangesPeers) return
    if (policy.isSeed) this.#crawl(nowMs)
    else this.#testAddress(peers, nowMs)
    this.#askSomebody(peers, nowMs)
  }

  #endVisits(sessions: readonly Session[], nowMs: number): void {
    for (const session of sessions) {
      const endMs = this.#visitEnds.get(session)
      if (endMs !== undefined && endMs <= nowMs) this.#options.connections.disconnect(session, 'its visit is over')
    }
  }

  #ask(session: Session): void {
    const { connections, metrics, log, now } = this.#options
    this.#asked.set(session, now())
    this.#askedMs = now()
    fetchPeers({ metrics }, session)
      .then((peers) => this.named(peers, session.remote.host))
      .catch((error: unknown) => {
        connections.endOnDefect(error)
        // PEX is off there.
        if (error instanceof Error && error.name === 'UnsupportedProtocolError') {
          this.#asked.set(session, Number.POSITIVE_INFINITY)
        }
        log.debug({ peer: session.id, reason: String(error) }, 'peer does not answer with other peers')
        if (error instanceof ProtobufError && connections.sessions.get(session.id) === session) {
          connections.ban(session, `malformed answer: ${error.message}`)
        }
      })
      .finally(() => {
        // The node that has dialled is the one that asks: it needs no more.
        if (session.isVisit) connections.disconnect(session, 'its visit is over')
      })
  }

  #askSomebody(peers: readonly Session[], nowMs: number): void {
    const { policy, wantsPeers, isValidator } = this.#options
    const hasEnough = policy.isSeed || !wantsPeers()
    if (hasEnough && !isValidator()) return
    if (nowMs - this.#askedMs < (hasEnough ? ASK_MS.enough : ASK_MS.few)) return
    const ready = peers.filter(
      (session) =>
        session.queues !== undefined &&
        nowMs - (this.#asked.get(session) ?? Number.NEGATIVE_INFINITY) >= ASK_MS.samePeer,
    )
    const chosen = ready.filter(({ isOutbound, isConfigured }) => isOutbound || isConfigured)
    const session = pick(chosen.length > 0 ? chosen : ready)
    if (session !== undefined) this.#ask(session)
  }

  #dialSeeds(peers: readonly Session[], nowMs: number): void {
    const { policy, isDue } = this.#options
    if (nowMs < this.#seedsMs || !this.#needsSeeds(peers, nowMs)) return
    const seed = pick(policy.seeds.filter(({ id }) => isDue(id, nowMs)))
    if (seed !== undefined) void this.#visitSeed(seed, peers.length === 0)
  }

  #needsSeeds(peers: readonly Session[], nowMs: number): boolean {
    const { policy, book, wantsPeers, isDue } = this.#options
    if (policy.seeds.length === 0) return false
    if (peers.length === 0 && nowMs - this.#aloneMs >= ALONE_MS) return true
    return (
      policy.exchangesPeers &&
      (policy.isSeed || wantsPeers()) &&
      book.choose(({ id }) => isDue(id, nowMs)) === undefined
    )
  }

  async #visitSeed({ id, address }: PersistentPeer, isAlone: boolean): Promise<void> {
    const { dial, now } = this.#options
    // No other one meanwhile.
    this.#seedsMs = Number.POSITIVE_INFINITY
    const isReached = await dial(id, address)
    const pauseMs = isAlone ? Math.min(this.#seedPauseMs, SEED_PAUSE_MS.alone) : this.#seedPauseMs
    if (isReached) this.#seedPauseMs = Math.min(this.#seedPauseMs * 2, SEED_PAUSE_MS.max)
    this.#seedsMs = now() + (isReached ? pauseMs : SEED_PAUSE_MS.failed)
  }

  /** Tests an address: tried ones that are never tested would hold their places forever, and new ones would never become tried. */
  #testAddress(peers: readonly Session[], nowMs: number): void {
    const { book, connections, isDue, wantsPeers } = this.#options
    // Without a peer it is this node that has no connection.
    if (peers.length === 0 || nowMs - this.#testedMs < TEST_MS) return
    this.#testedMs = nowMs
    const peer = book.toTest(({ id }) => isDue(id, nowMs))
    if (peer === undefined) return
    void this.#dialKnown(peer).then((isReached) => {
      const session = connections.sessions.get(peer.id)
      if (isReached && session !== undefined && !wantsPeers()) connections.disconnect(session, 'its address was tested')
    })
  }

  #crawl(nowMs: number): void {
    const { book, isDue } = this.#options
    while (this.#crawls < CRAWLS_AT_ONCE) {
      const peer = book.choose(
        ({ id }) => nowMs - (this.#visited.get(id) ?? Number.NEGATIVE_INFINITY) >= CRAWL_MS && isDue(id, nowMs),
      )
      if (peer === undefined) return
      this.#visited.delete(peer.id)
      this.#visited.set(peer.id, nowMs)
      for (const oldest of this.#visited.keys()) {
        if (this.#visited.size <= BOOK_ENTRIES) break
        this.#visited.delete(oldest)
      }
      this.#crawls++
      void this.#dialKnown(peer).finally(() => this.#crawls--)
    }
  }

  #dialKnown({ id, address }: KnownPeer): Promise<boolean> {
    return this.#options.dial(id, parsePeerAddress(address)!)
  }
}

function pick<T>(items: readonly T[]): T | undefined {
  return items[Math.floor(Math.random() * items.length)]
}
