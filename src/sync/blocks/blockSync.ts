import type { DecidedBlock, DecidedRun } from '../../consensus/application.ts'
import { advanceState, type ConsensusState, checkBlock } from '../../consensus/consensusState.ts'
import { claimedResult } from '../../consensus/decidedRun.ts'
import type { BlockRequest, FetchedBlocks, Misbehaviour, PeerId } from '../../consensus/transport.ts'
import { BlockBuffer } from './blockBuffer.ts'
import type { CommitCheck } from './commitChecks.ts'
import { misbehaviourIn } from './misbehaviourIn.ts'
import { readFetchedBlock } from './readFetchedBlock.ts'
import type { SyncLimits } from './syncLimits.ts'
import { type OpenRequest, type SyncPeer, SyncPeers } from './syncPeers.ts'

/** Open requests to all peers together: a limit on memory. */
const MAX_OPEN_REQUESTS = 16
/** The most peers that are asked for the same block at the same time. */
const MAX_ASKED = 3
/** A second peer is asked when the first one takes this many times as long as the second one probably would. */
const HEDGE_FACTOR = 4
/** Most blocks of a run, and bytes with which it ends: a few milliseconds of execution for each message to another thread. */
const RUN_BLOCKS = 64
const RUN_BYTES = 128 << 10

/** While it waits for peers, a sync that catches up gains this many times the time that passes: else consensus follows as fast. */
const LEAST_GAIN = 2

/** Heights that more than a third of the voting power, or a proof, confirms. */
export interface KnownHeights {
  /** whether this node is a validator */
  readonly isValidator: boolean
  /** claimed by validators with more than a third of the power; undefined when too few of them are connected */
  readonly agreed: number | undefined
}

/** Tasks that block sync needs done. Answers come back through its functions. */
export type SyncEffect =
  /** answered by `answered` or `failed` */
  | { readonly kind: 'request'; readonly id: number; readonly peer: PeerId; readonly request: BlockRequest }
  /** answered by `verified` */
  | { readonly kind: 'verify'; readonly id: number; readonly checks: readonly CommitCheck[] }
  /** the block was decided; it will be applied when its turn comes */
  | { readonly kind: 'prepare'; readonly decided: DecidedBlock }
  /** answered by `applied`, when all blocks of the run are executed, or the first ones */
  | { readonly kind: 'apply'; readonly run: DecidedRun }
  | { readonly kind: 'punish'; readonly peer: PeerId; readonly what: Misbehaviour; readonly reason: string }
  /** the network decided a block that cannot follow this node's chain */
  | { readonly kind: 'halt'; readonly reason: string }

/**
 * Fetches decided blocks from several peers at once, checks them and has them executed in order. A
 * pure state machine: each call passes the time and returns effects to carry out. While earlier
 * blocks are executed, it fetches further ones and has their commits checked ({@link BlockBuffer}).
 *
 * Blocks are executed in runs. The header of the first block is checked against this node's state.
 * The next header can be checked in full only after that block's execution, because it names the
 * results. Before that, it is checked against the state that follows if the results it names are
 * right. The executor continues with a block only if they are. Otherwise the run ends there, and
 * the block is the first of the next run, where it is checked against the state that was computed.
 *
 * A peer that lies is banned for this sync and reported with the effect `punish`: it claimed a
 * false height (`misbehaviourIn`), or sent a block that cannot be decoded (`#take`) or a wrong
 * block or commit (BlockBuffer). A peer that does not answer is asked less and less often
 * (SyncPeers). After some failures its claimed height is not believed, and each further failure is
 * reported. An answer that is slow in comparison with those of other peers counts as a failure.
 */
export class BlockSync {
  readonly #limits: SyncLimits
  readonly #peers: SyncPeers
  readonly #buffer: BlockBuffer
  readonly #requests = new Map<number, OpenRequest>()
  readonly #banned = new Set<PeerId>()
  #state: ConsensusState
  #applying = false
  #halted = false
  readonly #nextId: () => number
  #progressMs: number
  readonly #provenHeight: number
  #tickedMs: number
  /** since when, and from which block on, it is measured whether the sync gains on the chain */
  #gain: { waitedMs: number; blockTimeMs: number }
  #isTooSlow = false
  #nearHeadMs: number | undefined
  #effects: SyncEffect[] = []

  /**
   * @param state after the newest executed block
   * @param nextId returns a number that no other request or check has
   * @param provenHeight that the network has reached for certain; 0: nothing was proved
   */
  constructor(state: ConsensusState, limits: SyncLimits, nowMs: number, nextId: () => number, provenHeight = 0) {
    this.#provenHeight = provenHeight
    this.#tickedMs = nowMs
    this.#gain = { waitedMs: 0, blockTimeMs: state.lastBlockTimeMs }
    this.#nextId = nextId
    this.#state = state
    this.#limits = limits
    this.#peers = new SyncPeers(limits)
    this.#progressMs = nowMs
    this.#buffer = new BlockBuffer(state, {
      verify: (id, checks) => this.#effects.push({ kind: 'verify', id, checks }),
      decided: (id, decided) => {
        const peer = this.#peers.get(id)
        if (peer !== undefined) peer.delivered++
        this.#effects.push({ kind: 'prepare', decided })
      },
      ban: (peer, what, reason) => this.#ban(peer, what, reason),
      nextId,
    })
  }

  /** of the newest executed block */
  get height(): number {
    return this.#state.lastHeight
  }

  get isApplying(): boolean {
    return this.#applying
  }

  /** Returns whether a request to the peer is open; the answer will show its height. */
  isAsked(peer: PeerId): boolean {
    return (this.#peers.get(peer)?.requests.size ?? 0) > 0
  }

  /** The greatest height that a believed peer claims. */
  get bestHeight(): number {
    return this.#peers.bestHeight(this.height + 1)
  }

  /** Called when a peer joined, or announces its blocks. */
  onPeer(id: PeerId, base: number, height: number, nowMs: number): readonly SyncEffect[] {
    if (!this.#banned.has(id)) {
      this.#peers.update(id, base, height)
      this.#schedule(nowMs)
    }
    return this.#flush()
  }

  onPeerGone(id: PeerId, nowMs: number): readonly SyncEffect[] {
    this.#banned.delete(id)
    this.#forget(id)
    this.#schedule(nowMs)
    return this.#flush()
  }

  /** Called with the answer to a request; one that comes too late is ignored. */
  answered(id: number, answer: FetchedBlocks, nowMs: number): readonly SyncEffect[] {
    const request = this.#close(id)
    const peer = request && this.#peers.get(request.peer)
    if (request !== undefined && peer !== undefined) {
      const found = misbehaviourIn(request, answer)
      if (found !== undefined) this.#ban(peer.id, found[0], found[1])
      else this.#take(request, peer, answer, nowMs)
      this.#buffer.check()
      this.#schedule(nowMs)
    }
    return this.#flush()
  }

  /** Called when the peer did not answer a request. */
  failed(id: number, nowMs: number): readonly SyncEffect[] {
    const request = this.#close(id)
    if (request !== undefined) {
      this.#fail(request, nowMs)
      this.#schedule(nowMs)
    }
    return this.#flush()
  }

  /** @param reasons for each check of the effect, why the commit is invalid; undefined for a valid one */
  verified(id: number, reasons: readonly (string | undefined)[], nowMs: number): readonly SyncEffect[] {
    this.#buffer.verified(id, reasons)
    if (reasons.includes(undefined)) this.#progressMs = nowMs
    this.#buffer.check()
    this.#apply()
    this.#schedule(nowMs)
    return this.#flush()
  }

  /** @param state after the newest executed block of the `apply` effect's run; at least one was executed */
  applied(state: ConsensusState, nowMs: number): readonly SyncEffect[] {
    this.#buffer.advance(state)
    this.#state = state
    this.#applying = false
    this.#progressMs = nowMs
    this.#buffer.check()
    this.#apply()
    this.#schedule(nowMs)
    return this.#flush()
  }

  /** Called about every 100 ms: ends requests that take too long, and asks a second peer when one is slow. */
  tick(nowMs: number): readonly SyncEffect[] {
    for (const request of [...this.#requests.values()]) {
      if (nowMs - request.sentMs < this.#limits.requestMs) continue
      this.#close(request.id)
      this.#fail(request, nowMs)
    }
    this.#hedge(nowMs)
    this.#schedule(nowMs)
    this.#recordNearHead(nowMs)
    this.#recordGain(nowMs)
    return this.#flush()
  }

  /**
   * Returns whether consensus can take over. What strangers claim has no weight for a validator
   * where validators with more than a third of the power are connected: an honest one is among
   * them, so it is done when it is at most one block behind the height that these have.
   *
   * Otherwise this node is at most one block behind the best believed peer. A peer with a false claim can delay this only for a while.
   * Sync also ends
   * - when that peer has let requests time out, or answered slowly, and so is not believed any more,
   * - when it is stalled ({@link isStalled}),
   * - when the node has been near the height of a peer that delivered blocks for `stallMs`.
   */
  isDone(nowMs: number, { agreed, isValidator }: KnownHeights): boolean {
    if (this.#applying || this.#halted) return false
    const { stallMs } = this.#limits
    if (this.isStalled(nowMs, isValidator)) return isValidator || !this.isStranded()
    if (this.height + 1 < this.#provenHeight) return false
    // Validators that were restarted with older blocks may all have less than what was proved.
    if (isValidator && agreed !== undefined && agreed >= this.#provenHeight) return this.height + 1 >= agreed
    if (this.#nearHeadMs !== undefined && nowMs - this.#nearHeadMs >= stallMs) return true
    if (this.bestHeight > this.height + 1) return false
    // A peer that is ahead but does not answer, or has pruned the next block, may have told the truth about its height. Then only a
    // peer near this node's height shows that this node is not behind.
    const { hasPeers, isAnyAhead, isAnyNear } = this.#survey()
    return isAnyAhead ? isAnyNear : hasPeers
  }

  /**
   * Returns whether peers hold the sync up: no valid block came for `stallMs`; or, on a validator,
   * while it waited that long in all it gained so little that consensus follows as fast.
   */
  isStalled(nowMs: number, isValidator: boolean): boolean {
    const { stallMs, validatorStallMs } = this.#limits
    if (isValidator && this.#isTooSlow) return true
    return nowMs - this.#progressMs >= (isValidator ? validatorStallMs : stallMs)
  }

  /**
   * Returns whether every peer that is ahead has pruned the next block, and no peer is near. Then
   * the node can only wait for other peers.
   */
  isStranded(): boolean {
    const next = this.height + 1
    const ahead = [...this.#peers.all()].filter(({ height }) => height > next)
    return ahead.length > 0 && ahead.every(({ base }) => base > next) && !this.#survey().isAnyNear
  }

  /** Returns how many peers there are, and how many of them let the last request for blocks run out. */
  countPeers(): { readonly peers: number; readonly silent: number } {
    const peers = [...this.#peers.all()]
    return { peers: peers.length, silent: peers.filter(({ failures }) => failures > 0).length }
  }

  /** Returns the lowest block that the peers ahead of this node serve; undefined without such peers. */
  lowestServed(): number | undefined {
    let lowest: number | undefined
    for (const { base, height } of this.#peers.all()) {
      if (height > this.height) lowest = Math.min(lowest ?? base, base)
    }
    return lowest
  }

  /** Records the gain. Time in which blocks are executed, or wait for it, does not count against the peers. */
  #recordGain(nowMs: number): void {
    const passedMs = nowMs - this.#tickedMs
    this.#tickedMs = nowMs
    if (!this.#applying && !this.#buffer.has(this.height + 1)) this.#gain.waitedMs += passedMs
    const { waitedMs, blockTimeMs } = this.#gain
    if (waitedMs < this.#limits.stallMs) return
    const { lastBlockTimeMs } = this.#state
    this.#isTooSlow = lastBlockTimeMs - blockTimeMs < LEAST_GAIN * waitedMs
    this.#gain = { waitedMs: 0, blockTimeMs: lastBlockTimeMs }
  }

  #recordNearHead(nowMs: number): void {
    this.#nearHeadMs = this.#survey().hasDeliveredNear ? (this.#nearHeadMs ?? nowMs) : undefined
  }

  /** Compares the peers' heights with this node's. Near: at most one block ahead or behind, and believed. */
  #survey(): { hasPeers: boolean; isAnyAhead: boolean; isAnyNear: boolean; hasDeliveredNear: boolean } {
    const survey = { hasPeers: false, isAnyAhead: false, isAnyNear: false, hasDeliveredNear: false }
    for (const peer of this.#peers.all()) {
      survey.hasPeers = true
      if (peer.height > this.height + 1) survey.isAnyAhead = true
      else if (peer.height + 1 >= this.height && this.#peers.isBelieved(peer)) {
        survey.isAnyNear = true
        if (peer.delivered > 0) survey.hasDeliveredNear = true
      }
    }
    return survey
  }

  #flush(): readonly SyncEffect[] {
    const effects = this.#effects
    this.#effects = []
    return this.#halted ? effects.filter(({ kind }) => kind === 'halt' || kind === 'punish') : effects
  }

  // Requests

  #schedule(nowMs: number): void {
    const { aheadBlocks, bufferBytes, requestBytes } = this.#limits
    const next = this.height + 1
    let top = 0
    for (const peer of this.#peers.all()) top = Math.max(top, peer.height)
    top = Math.min(top, this.height + aheadBlocks)
    let reserved = this.#buffer.bytes
    for (const { count } of this.#requests.values()) reserved += count * this.#buffer.blockBytes
    for (let height = next; height <= top && this.#requests.size < MAX_OPEN_REQUESTS; height++) {
      if (this.#buffer.has(height)) continue
      if (this.#isRequested(height)) continue
      const room = Math.floor((bufferBytes - reserved) / this.#buffer.blockBytes)
      // The next block is fetched even when the buffer is full, because without it no buffered block can be applied.
      if (room < 1 && height > next) return
      const peer = this.#peers.choose(height, nowMs)
      if (peer === undefined) continue
      const byBytes = Math.max(1, Math.floor(requestBytes / this.#buffer.blockBytes))
      const most = Math.min(peer.batch, byBytes, Math.max(1, room), peer.height - height + 1, top - height + 1)
      let count = 1
      while (count < most && !this.#buffer.has(height + count) && !this.#isRequested(height + count)) count++
      this.#request(peer, height, count, nowMs)
      reserved += count * this.#buffer.blockBytes
    }
  }

  #isRequested(height: number): boolean {
    for (const { from, count } of this.#requests.values()) if (height >= from && height < from + count) return true
    return false
  }

  #request(peer: SyncPeer, from: number, count: number, nowMs: number): void {
    const id = this.#nextId()
    const open: OpenRequest = {
      id,
      peer: peer.id,
      from,
      count,
      sentMs: nowMs,
      claimedHeight: peer.height,
      hedged: false,
    }
    this.#requests.set(id, open)
    peer.requests.set(id, open)
    const request = { from, count, maxBytes: this.#limits.requestBytes }
    this.#effects.push({ kind: 'request', id, peer: peer.id, request })
  }

  /** Asks a second peer for the first missing block when the first peer takes long. */
  #hedge(nowMs: number): void {
    let height = this.height + 1
    while (this.#buffer.has(height)) height++
    const asked = [...this.#requests.values()].filter(({ from, count }) => height >= from && height < from + count)
    const newest = asked.at(-1)
    if (newest === undefined || asked.length >= MAX_ASKED) return
    const waitedMs = nowMs - newest.sentMs
    if (waitedMs < this.#limits.hedgeMs) return
    const except = new Set(asked.map(({ peer }) => peer))
    // One that has delivered comes first, and the last place is for such a one: unknown peers may hold a block up together.
    const isLast = asked.length === MAX_ASKED - 1 && this.#peers.hasKnown()
    const other =
      this.#peers.choose(height, nowMs, except, true) ??
      (isLast ? undefined : this.#peers.choose(height, nowMs, except))
    if (other === undefined) return
    const count = Math.min(newest.from + newest.count, other.height + 1) - height
    if (waitedMs < HEDGE_FACTOR * count * (other.blockMs ?? 0)) return
    newest.hedged = true
    const slow = this.#peers.get(newest.peer)
    if (slow !== undefined) this.#peers.pause(slow, nowMs)
    this.#request(other, height, count, nowMs)
  }

  #close(id: number): OpenRequest | undefined {
    const request = this.#requests.get(id)
    if (request === undefined) return undefined
    this.#requests.delete(id)
    this.#peers.get(request.peer)?.requests.delete(id)
    return request
  }

  #fail(request: OpenRequest, nowMs: number): void {
    const peer = this.#peers.get(request.peer)
    if (peer === undefined) return
    this.#peers.failed(peer, nowMs)
    // One failure may be bad luck. The network disconnects a peer that is reported this often, so
    // that another gets its place.
    if (peer.failures >= this.#limits.failures) {
      const reason = `${peer.failures} requests for blocks ran out`
      this.#effects.push({ kind: 'punish', peer: peer.id, what: 'unresponsive', reason })
    }
  }

  // Answers

  #take(request: OpenRequest, peer: SyncPeer, answer: FetchedBlocks, nowMs: number): void {
    this.#peers.succeeded(peer, request, answer.blocks.length, nowMs)
    peer.base = Math.max(peer.base, answer.base)
    // The peer may have announced a greater height since it was asked.
    peer.height = peer.height > request.claimedHeight ? Math.max(peer.height, answer.height) : answer.height
    for (const [index, fetched] of answer.blocks.entries()) {
      const height = request.from + index
      if (height <= this.height || this.#buffer.has(height)) continue
      const read = readFetchedBlock(fetched, height, this.#state.params.maxBytes)
      if (typeof read === 'string') {
        this.#ban(peer.id, 'malformed', read)
        return
      }
      this.#buffer.add(peer.id, height, read)
    }
  }

  /**
   * Bans a peer that lied: it is punished, its undecided blocks are dropped, and it is not asked
   * again in this sync.
   */
  #ban(id: PeerId, what: Misbehaviour, reason: string): void {
    this.#effects.push({ kind: 'punish', peer: id, what, reason })
    this.#banned.add(id)
    this.#forget(id)
  }

  /** Drops the peer's requests and those of its blocks that are not known to be decided. */
  #forget(id: PeerId): void {
    for (const request of this.#peers.get(id)?.requests.values() ?? []) this.#requests.delete(request.id)
    this.#peers.delete(id)
    this.#buffer.dropUndecided(id)
  }

  // Application

  #apply(): void {
    if (this.#applying || this.#halted) return
    const { maxGas } = this.#state.params
    const blocks: DecidedBlock[] = []
    let state = this.#state
    let bytes = 0
    for (let height = this.height + 1; blocks.length < RUN_BLOCKS && bytes < RUN_BYTES; height++) {
      const previous = blocks.at(-1)
      const slot = this.#buffer.ready(height, previous === undefined ? state.lastValidators : state.validators)
      if (slot === undefined) break
      const { block, blockId, commit, encoded, size } = slot.read
      if (previous !== undefined) state = advanceState(state, previous, claimedResult(block.header))
      const problem =
        slot.lastCommit === 'invalid' ? `last commit: ${slot.reason}` : checkBlock(state, block, 'verified')
      if (problem !== undefined) {
        if (previous !== undefined) break
        this.#halted = true
        const reason = `more than two thirds of the validators decided block ${height}, which this node cannot accept: ${problem}`
        this.#effects.push({ kind: 'halt', reason })
        return
      }
      // If the next block can follow at once, the application may write both together.
      const catchingUp = this.#buffer.get(height + 1)?.commit === 'valid'
      blocks.push({ block, blockId, seenCommit: commit, catchingUp, encoded })
      bytes += size
    }
    if (blocks.length === 0) return
    this.#applying = true
    this.#effects.push({ kind: 'apply', run: { blocks, maxGas } })
  }
}
