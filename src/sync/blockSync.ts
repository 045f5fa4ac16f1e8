import type { ValidatorSet } from '../chain/consensus/types.ts'
import { validatorSetHash } from '../chain/consensus/validatorSet.ts'
import type { DecidedBlock } from '../consensus/application.ts'
import { type ConsensusState, checkBlock } from '../consensus/consensusState.ts'
import type { Misbehaviour } from '../consensus/effect.ts'
import type { PeerId } from '../consensus/input.ts'
import type { BlockRequest, FetchedBlocks } from '../consensus/transport.ts'
import { bytesKey } from '../primitives/bytes.ts'
import { type CommitCheck, isCovered } from './commitCheck.ts'
import { HEIGHT_SLACK, type SyncLimits } from './limits.ts'
import { type ReadBlock, readBlock } from './readBlock.ts'
import { type OpenRequest, type SyncPeer, SyncPeers } from './syncPeers.ts'

/** What block sync wants done; answers come back through its functions. */
export type SyncEffect =
  /** answered by `answered` or `failed` */
  | { readonly kind: 'request'; readonly id: number; readonly peer: PeerId; readonly request: BlockRequest }
  /** answered by `verified` */
  | { readonly kind: 'verify'; readonly id: number; readonly checks: readonly CommitCheck[] }
  /** the block was decided; it will be applied when its turn comes */
  | { readonly kind: 'prepare'; readonly decided: DecidedBlock }
  /** answered by `applied` */
  | { readonly kind: 'apply'; readonly decided: DecidedBlock }
  | { readonly kind: 'punish'; readonly peer: PeerId; readonly what: Misbehaviour; readonly reason: string }
  /** the network decided a block that cannot follow on this node's chain */
  | { readonly kind: 'halt'; readonly reason: string }

/** A block that waits for its turn. */
interface Slot {
  readonly peer: PeerId
  readonly read: ReadBlock
  commit: 'unchecked' | 'checking' | 'valid'
  lastCommit: 'unchecked' | 'checking' | 'valid' | 'invalid'
  /** hash of the validators that the last commit was checked with */
  lastSet: string
  /** why the last commit is invalid */
  reason: string
}

interface PendingCheck {
  readonly slot: Slot
  readonly what: 'commit' | 'lastCommit'
}

/** Requests in all; with what each may bring, a bound on memory. */
const MAX_OPEN_REQUESTS = 16
/** Peers that are asked for the block that is next in turn, at a time. */
const MAX_ASKED = 3
/** A second peer is asked when the first takes this many times as long as the second one probably will. */
const HEDGE_FACTOR = 4

/**
 * Fetches decided blocks from several peers at once, checks them and hands them over in order. A pure state machine: time comes in
 * with each call, what is to be done goes out as effects. Heights are fetched and their commits checked ahead while earlier
 * blocks execute; a commit is checked with the validators that its block's header names as soon as these are known.
 */
export class BlockSync {
  readonly #limits: SyncLimits
  readonly #peers: SyncPeers
  readonly #slots = new Map<number, Slot>()
  readonly #requests = new Map<number, OpenRequest>()
  readonly #checks = new Map<number, readonly PendingCheck[]>()
  /** heights of slots with a commit or last commit that waits for its check */
  readonly #unchecked = new Set<number>()
  readonly #banned = new Set<PeerId>()
  /** validator sets that are certain, by hash */
  readonly #sets = new Map<string, ValidatorSet>()
  #state: ConsensusState
  #applying = false
  #halted = false
  readonly #nextId: () => number
  #heldBytes = 0
  /** of recent blocks, bytes */
  #blockBytes = 1024
  #progressMs: number
  #nearHeadMs: number | undefined
  #effects: SyncEffect[] = []

  /**
   * @param state after the newest executed block
   * @param nextId numbers that no other request or check has
   */
  constructor(state: ConsensusState, limits: SyncLimits, nowMs: number, nextId: () => number) {
    this.#nextId = nextId
    this.#state = state
    this.#limits = limits
    this.#peers = new SyncPeers(limits)
    this.#progressMs = nowMs
    this.#learnSets()
  }

  /** of the newest executed block */
  get height(): number {
    return this.#state.lastHeight
  }

  get isApplying(): boolean {
    return this.#applying
  }

  /** The greatest height that a believed peer has. */
  get bestHeight(): number {
    return this.#peers.bestHeight(this.height + 1)
  }

  /** A peer is there, or says where it stands. */
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

  /** The answer to a request; one that comes too late is ignored. */
  answered(id: number, answer: FetchedBlocks, nowMs: number): readonly SyncEffect[] {
    const request = this.#close(id)
    const peer = request && this.#peers.get(request.peer)
    if (request !== undefined && peer !== undefined) {
      const lie = lieIn(request, answer)
      if (lie !== undefined) this.#ban(peer.id, lie[0], lie[1])
      else this.#take(request, peer, answer, nowMs)
      this.#check()
      this.#schedule(nowMs)
    }
    return this.#flush()
  }

  /** The peer did not answer a request. */
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
    const pending = this.#checks.get(id)
    this.#checks.delete(id)
    for (const [index, check] of (pending ?? []).entries()) this.#settle(check, reasons[index], nowMs)
    this.#check()
    this.#apply()
    this.#schedule(nowMs)
    return this.#flush()
  }

  /** @param state after the block of the `apply` effect */
  applied(state: ConsensusState, nowMs: number): readonly SyncEffect[] {
    const slot = this.#slots.get(state.lastHeight)
    if (slot !== undefined) this.#drop(state.lastHeight, slot)
    this.#state = state
    this.#applying = false
    this.#progressMs = nowMs
    this.#learnSets()
    this.#check()
    this.#apply()
    this.#schedule(nowMs)
    return this.#flush()
  }

  /** To be called every 100 ms or so: requests run out, slow peers are passed by. */
  tick(nowMs: number): readonly SyncEffect[] {
    for (const request of [...this.#requests.values()]) {
      if (nowMs - request.sentMs < this.#limits.requestMs) continue
      this.#close(request.id)
      this.#fail(request, nowMs)
    }
    this.#hedge(nowMs)
    this.#schedule(nowMs)
    this.#noteHead(nowMs)
    return this.#flush()
  }

  /**
   * Whether consensus can take over: this node is at most one block behind the best believed peer. No lie about a height keeps
   * it from that for long: believing ends with requests that run out, with a time without any block, and with a time spent at the
   * height of a peer that delivered.
   */
  isDone(nowMs: number): boolean {
    if (this.#applying || this.#halted) return false
    const { stallMs } = this.#limits
    if (this.isStalled(nowMs)) return !this.isStranded()
    if (this.#nearHeadMs !== undefined && nowMs - this.#nearHeadMs >= stallMs) return true
    if (this.bestHeight > this.height + 1) return false
    // Peers that stopped answering, or have pruned what is next, may be right about their height: one that is near decides.
    const { hasPeers, isAnyAhead, isAnyNear } = this.#survey()
    return isAnyAhead ? isAnyNear : hasPeers
  }

  /** Nothing came for a while. */
  isStalled(nowMs: number): boolean {
    return nowMs - this.#progressMs >= this.#limits.stallMs
  }

  /** Whether every peer that is ahead has pruned the next block, and none is near: waiting for other peers is all that is left. */
  isStranded(): boolean {
    const next = this.height + 1
    const ahead = [...this.#peers.all()].filter(({ height }) => height > next)
    return ahead.length > 0 && ahead.every(({ base }) => base > next) && !this.#survey().isAnyNear
  }

  /** The lowest block that any peer serves which has more than this node; undefined when there is none. */
  lowestServed(): number | undefined {
    let lowest: number | undefined
    for (const { base, height } of this.#peers.all()) {
      if (height > this.height) lowest = Math.min(lowest ?? base, base)
    }
    return lowest
  }

  #noteHead(nowMs: number): void {
    this.#nearHeadMs = this.#survey().hasDeliveredNear ? (this.#nearHeadMs ?? nowMs) : undefined
  }

  /** Where peers are, seen from here. Near: at most one block ahead or behind, and believed. */
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

  #learnSets(): void {
    const { lastValidators, validators, nextValidators } = this.#state
    this.#sets.clear()
    for (const set of [lastValidators, validators, nextValidators]) this.#sets.set(setKey(set), set)
  }

  // Requests

  #schedule(nowMs: number): void {
    const { aheadBlocks, heldBytes, requestBytes } = this.#limits
    const next = this.height + 1
    let top = 0
    for (const peer of this.#peers.all()) top = Math.max(top, peer.height)
    top = Math.min(top, this.height + aheadBlocks)
    let reserved = this.#heldBytes
    for (const { count } of this.#requests.values()) reserved += count * this.#blockBytes
    let isFirstMissing = true
    for (let height = next; height <= top && this.#requests.size < MAX_OPEN_REQUESTS; height++) {
      if (this.#slots.has(height)) continue
      const isFirst = isFirstMissing
      isFirstMissing = false
      if (this.#isRequested(height)) continue
      if (!isFirst && reserved >= heldBytes) return
      const peer = this.#peers.choose(height, nowMs)
      if (peer === undefined) continue
      const byBytes = Math.max(1, Math.floor(requestBytes / this.#blockBytes))
      const most = Math.min(peer.batch, byBytes, peer.height - height + 1, top - height + 1)
      let count = 1
      while (count < most && !this.#slots.has(height + count) && !this.#isRequested(height + count)) count++
      this.#request(peer, height, count, nowMs)
      reserved += count * this.#blockBytes
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

  /** Asks another peer for the block that all others wait for, when the one that was asked takes long. */
  #hedge(nowMs: number): void {
    let height = this.height + 1
    while (this.#slots.has(height)) height++
    const asked = [...this.#requests.values()].filter(({ from, count }) => height >= from && height < from + count)
    const newest = asked.at(-1)
    if (newest === undefined || asked.length >= MAX_ASKED) return
    const waitedMs = nowMs - newest.sentMs
    if (waitedMs < this.#limits.hedgeMs) return
    const other = this.#peers.choose(height, nowMs, new Set(asked.map(({ peer }) => peer)))
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
    if (peer.failures === this.#limits.failures) {
      const reason = `${peer.failures} requests for blocks ran out`
      this.#effects.push({ kind: 'punish', peer: peer.id, what: 'unresponsive', reason })
    }
  }

  // Answers

  #take(request: OpenRequest, peer: SyncPeer, answer: FetchedBlocks, nowMs: number): void {
    this.#peers.succeeded(peer, request, answer.blocks.length, nowMs)
    peer.base = Math.max(peer.base, answer.base)
    // It may have said more since it was asked.
    peer.height = peer.height > request.claimedHeight ? Math.max(peer.height, answer.height) : answer.height
    for (const [index, fetched] of answer.blocks.entries()) {
      const height = request.from + index
      if (height <= this.height || this.#slots.has(height)) continue
      const read = readBlock(fetched, height, this.#state.params.maxBytes)
      if (typeof read === 'string') {
        this.#ban(peer.id, 'malformed', read)
        return
      }
      this.#heldBytes += read.size
      this.#blockBytes = Math.max(256, (this.#blockBytes * 7 + read.size) >> 3)
      this.#slots.set(height, {
        peer: peer.id,
        read,
        commit: 'unchecked',
        lastCommit: 'unchecked',
        lastSet: '',
        reason: '',
      })
      this.#unchecked.add(height)
    }
  }

  #ban(id: PeerId, what: Misbehaviour, reason: string): void {
    this.#effects.push({ kind: 'punish', peer: id, what, reason })
    this.#banned.add(id)
    this.#forget(id)
  }

  /** Without the peer's requests and what is not known to be right. */
  #forget(id: PeerId): void {
    for (const request of this.#peers.get(id)?.requests.values() ?? []) this.#requests.delete(request.id)
    this.#peers.delete(id)
    for (const [height, slot] of this.#slots) {
      if (slot.peer === id && slot.commit !== 'valid') this.#drop(height, slot)
    }
  }

  #drop(height: number, slot: Slot): void {
    this.#slots.delete(height)
    this.#unchecked.delete(height)
    this.#heldBytes -= slot.read.size
  }

  // Checks

  /** Sends off the checks whose validators are known. */
  #check(): void {
    const pending: PendingCheck[] = []
    const checks: CommitCheck[] = []
    this.#banForeign()
    for (const height of this.#unchecked) {
      const slot = this.#slots.get(height)!
      if (slot.commit === 'unchecked') {
        const check = this.#commitCheck(height, slot)
        if (check !== undefined) {
          slot.commit = 'checking'
          pending.push({ slot, what: 'commit' })
          checks.push(check)
        }
      }
      if (slot.commit === 'valid' && slot.lastCommit === 'unchecked') this.#checkLast(height, slot, pending, checks)
      if (slot.commit !== 'unchecked' && slot.lastCommit !== 'unchecked') this.#unchecked.delete(height)
    }
    if (checks.length === 0) return
    const id = this.#nextId()
    this.#checks.set(id, pending)
    this.#effects.push({ kind: 'verify', id, checks })
  }

  /** The validators of the next two blocks are certain: whoever names others made the block up. */
  #banForeign(): void {
    const { validators, nextValidators } = this.#state
    for (const [ahead, set] of [validators, nextValidators].entries()) {
      const height = this.height + 1 + ahead
      const slot = this.#slots.get(height)
      if (slot === undefined || bytesKey(slot.read.block.header.validatorsHash) === setKey(set)) continue
      this.#drop(height, slot)
      this.#ban(slot.peer, 'invalid block', `block ${height} is signed by validators of another height`)
    }
  }

  #commitCheck(height: number, { read }: Slot): CommitCheck | undefined {
    const validators = this.#sets.get(bytesKey(read.block.header.validatorsHash))
    if (validators === undefined) return undefined
    const { chainId } = this.#state
    return { chainId, height, blockId: read.blockId, validators, commit: read.commit, known: undefined }
  }

  /** The last commit of a block, as soon as the block before is known to be decided: most signatures are its commit's. */
  #checkLast(height: number, slot: Slot, pending: PendingCheck[], checks: CommitCheck[]): void {
    const { header, lastCommit } = slot.read.block
    const before = this.#slots.get(height - 1)
    let validators: ValidatorSet | undefined
    let known = this.#state.lastSeenCommit
    if (height - 1 === this.height) {
      validators = this.#state.lastValidators
    } else if (before?.commit === 'valid') {
      validators = this.#sets.get(bytesKey(before.read.block.header.validatorsHash))
      known = before.read.commit
    }
    if (validators === undefined) return
    slot.lastSet = setKey(validators)
    const { chainId } = this.#state
    const check: CommitCheck = {
      chainId,
      height: height - 1,
      blockId: header.lastBlockId,
      validators,
      commit: lastCommit,
      known,
    }
    if (isCovered(check)) {
      slot.lastCommit = 'valid'
      return
    }
    slot.lastCommit = 'checking'
    pending.push({ slot, what: 'lastCommit' })
    checks.push(check)
  }

  #settle({ slot, what }: PendingCheck, reason: string | undefined, nowMs: number): void {
    const { block, blockId, commit } = slot.read
    const { height } = block.header
    if (this.#slots.get(height) !== slot) return
    if (what === 'lastCommit') {
      slot.lastCommit = reason === undefined ? 'valid' : 'invalid'
      slot.reason = reason ?? ''
      return
    }
    if (reason !== undefined) {
      this.#drop(height, slot)
      this.#ban(slot.peer, 'bad signature', `commit of block ${height}: ${reason}`)
      return
    }
    slot.commit = 'valid'
    this.#unchecked.add(height)
    if (this.#slots.has(height + 1)) this.#unchecked.add(height + 1)
    this.#progressMs = nowMs
    const peer = this.#peers.get(slot.peer)
    if (peer !== undefined) peer.delivered++
    this.#effects.push({ kind: 'prepare', decided: { block, blockId, seenCommit: commit } })
  }

  // Application

  #apply(): void {
    const height = this.height + 1
    const slot = this.#slots.get(height)
    if (this.#applying || this.#halted || slot === undefined || slot.commit !== 'valid') return
    if (slot.lastCommit === 'unchecked' || slot.lastCommit === 'checking') return
    const { block, blockId, commit } = slot.read
    if (slot.lastSet !== setKey(this.#state.lastValidators)) {
      slot.lastCommit = 'unchecked'
      this.#unchecked.add(height)
      this.#check()
      if (slot.lastCommit === 'unchecked' || slot.lastCommit === 'checking') return
    }
    const problem =
      slot.lastCommit === 'invalid' ? `last commit: ${slot.reason}` : checkBlock(this.#state, block, () => true)
    if (problem !== undefined) {
      this.#halted = true
      const reason = `more than two thirds of the validators decided block ${height}, which this node cannot accept: ${problem}`
      this.#effects.push({ kind: 'halt', reason })
      return
    }
    this.#applying = true
    // The next one can follow at once: blocks may be written together.
    const catchingUp = this.#slots.get(height + 1)?.commit === 'valid'
    this.#effects.push({ kind: 'apply', decided: { block, blockId, seenCommit: commit, catchingUp } })
  }
}

/** Sets are few and long-lived; their hashes are not computed for each block. */
const setKeys = new WeakMap<ValidatorSet['validators'], string>()

function setKey(set: ValidatorSet): string {
  const known = setKeys.get(set.validators)
  if (known !== undefined) return known
  const key = bytesKey(validatorSetHash(set))
  setKeys.set(set.validators, key)
  return key
}

/** What no honest peer answers. */
function lieIn(
  { from, count, claimedHeight }: OpenRequest,
  answer: FetchedBlocks,
): readonly [Misbehaviour, string] | undefined {
  if (answer.blocks.length > count) return ['malformed', `${answer.blocks.length} blocks for ${count} asked for`]
  if (answer.height + HEIGHT_SLACK < claimedHeight) {
    return ['false height', `height is ${answer.height}, was ${claimedHeight}`]
  }
  if (answer.blocks.length === 0 && answer.base <= from && answer.height >= from) {
    return ['false height', `no block ${from}, but height ${answer.height} and base ${answer.base}`]
  }
  if (answer.base > answer.height + 1) return ['malformed', `base ${answer.base} over height ${answer.height}`]
  return undefined
}
