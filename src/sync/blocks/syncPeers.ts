import type { PeerId } from '../../consensus/transport.ts'
import type { SyncLimits } from './syncLimits.ts'

/** A request that a peer has not answered. */
export interface OpenRequest {
  readonly id: number
  readonly peer: PeerId
  readonly from: number
  readonly count: number
  readonly sentMs: number
  /** height that the peer claimed when it was asked */
  readonly claimedHeight: number
  /** another peer was asked as well, because this one takes long */
  hedged: boolean
}

/** Block sync's record of a peer. */
export interface SyncPeer {
  readonly id: PeerId
  /** order of arrival, for ties */
  readonly order: number
  base: number
  height: number
  readonly requests: Map<number, OpenRequest>
  /** open requests that it may have; grows with every answer */
  window: number
  /** number of blocks in a request to it; shrinks when requests time out */
  batch: number
  /** in a row */
  failures: number
  /** how often it delayed the sync; sets the length of the next pause */
  strikes: number
  /** blocks from it that were valid */
  delivered: number
  pausedUntilMs: number
  /** average milliseconds per block in its recent answers; undefined before the first */
  blockMs: number | undefined
}

const MAX_STRIKES = 16

/** An answer is slow that took this long, and this many times as long for each block as the fastest other peer takes. */
const SLOW_MS = 2_000
const SLOW_FACTOR = 8

/** The peers that serve blocks: which may be asked for a height, and which will probably answer first. */
export class SyncPeers {
  readonly #limits: SyncLimits
  readonly #peers = new Map<PeerId, SyncPeer>()
  #arrivals = 0

  constructor(limits: SyncLimits) {
    this.#limits = limits
  }

  get(id: PeerId): SyncPeer | undefined {
    return this.#peers.get(id)
  }

  all(): Iterable<SyncPeer> {
    return this.#peers.values()
  }

  /** Records a peer's announcement of the blocks it has. A greater height that it announced before stays. */
  update(id: PeerId, base: number, height: number): SyncPeer {
    const known = this.#peers.get(id)
    if (known !== undefined) {
      known.base = Math.max(known.base, base)
      known.height = Math.max(known.height, height)
      return known
    }
    const peer: SyncPeer = {
      id,
      order: this.#arrivals++,
      base,
      height,
      requests: new Map(),
      window: 1,
      batch: this.#limits.requestBlocks,
      failures: 0,
      strikes: 0,
      delivered: 0,
      pausedUntilMs: 0,
      blockMs: undefined,
    }
    this.#peers.set(id, peer)
    return peer
  }

  delete(id: PeerId): void {
    this.#peers.delete(id)
  }

  /**
   * Returns whether the height that the peer claims is believed: not after requests in a row that
   * ran out, or were answered slowly.
   */
  isBelieved(peer: SyncPeer): boolean {
    return peer.failures < this.#limits.failures
  }

  /** Returns the greatest height of the believed peers that still serve the block `next`. */
  bestHeight(next: number): number {
    let best = 0
    for (const peer of this.#peers.values()) {
      if (peer.base <= next && this.isBelieved(peer)) best = Math.max(best, peer.height)
    }
    return best
  }

  /**
   * Returns the peer that will probably answer a request for `height` first; undefined when no peer
   * may be asked now.
   * @param isKnown only one that has delivered blocks
   */
  choose(height: number, nowMs: number, except?: ReadonlySet<PeerId>, isKnown = false): SyncPeer | undefined {
    let best: SyncPeer | undefined
    let bestScore = Number.POSITIVE_INFINITY
    const unknown = this.#fastest() ?? 1
    for (const peer of this.#peers.values()) {
      if (peer.base > height || peer.height < height || peer.pausedUntilMs > nowMs) continue
      if (peer.requests.size >= peer.window || except?.has(peer.id) === true) continue
      if (isKnown && !this.#isKnown(peer)) continue
      let waiting = 1
      for (const { count } of peer.requests.values()) waiting += count
      const score = waiting * (peer.blockMs ?? unknown)
      if (score < bestScore || (score === bestScore && best !== undefined && peer.order < best.order)) {
        best = peer
        bestScore = score
      }
    }
    return best
  }

  #isKnown(peer: SyncPeer): boolean {
    return peer.delivered > 0 && this.isBelieved(peer)
  }

  /** Returns whether there is a peer that has delivered blocks, and is believed. */
  hasKnown(): boolean {
    for (const peer of this.#peers.values()) if (this.#isKnown(peer)) return true
    return false
  }

  /** Milliseconds per block of the fastest peer; a new peer is assumed to be as fast. */
  #fastest(except?: SyncPeer): number | undefined {
    let fastest: number | undefined
    for (const peer of this.#peers.values()) {
      if (peer === except || peer.blockMs === undefined) continue
      fastest = Math.min(fastest ?? peer.blockMs, peer.blockMs)
    }
    return fastest
  }

  /**
   * Records an answer. One that is slow in comparison with those of other peers counts as a
   * failure, but not as misbehaviour.
   */
  succeeded(peer: SyncPeer, request: OpenRequest, blocks: number, nowMs: number): void {
    const elapsedMs = nowMs - request.sentMs
    const measured = Math.max(elapsedMs, 1) / Math.max(blocks, 1)
    const fastest = this.#fastest(peer)
    peer.blockMs = peer.blockMs === undefined ? measured : (peer.blockMs * 3 + measured) / 4
    if (fastest !== undefined && elapsedMs >= SLOW_MS && measured > SLOW_FACTOR * fastest) {
      peer.failures++
      this.pause(peer, nowMs)
      return
    }
    peer.failures = 0
    if (!request.hedged) peer.strikes = 0
    peer.window = Math.min(peer.window + 1, this.#limits.peerRequests)
    peer.batch = Math.min(peer.batch * 2, this.#limits.requestBlocks)
  }

  /** Called when the peer did not answer in time. */
  failed(peer: SyncPeer, nowMs: number): void {
    peer.failures++
    peer.window = 1
    peer.batch = Math.max(1, peer.batch >> 2)
    this.pause(peer, nowMs)
  }

  /** Pauses a peer that delayed the sync: it is not asked for a while. */
  pause(peer: SyncPeer, nowMs: number): void {
    const { pauseMs, maxPauseMs } = this.#limits
    peer.pausedUntilMs = nowMs + Math.min(pauseMs * 2 ** peer.strikes, maxPauseMs)
    peer.strikes = Math.min(peer.strikes + 1, MAX_STRIKES)
    peer.window = 1
  }
}
