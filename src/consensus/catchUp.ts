import type { Validator } from '../chain/comet/types.ts'
import { validatorIndexOf } from '../chain/comet/validatorSet.ts'
import { bytesKey } from '../primitives/bytes.ts'
import type { ConsensusEnvironment } from './environment.ts'
import type { GossipPeer } from './gossipPeer.ts'
import { exceedsThird } from './quorum.ts'
import { type RoundStateView, STEPS } from './roundStateView.ts'
import type { PeerId } from './transport.ts'

/** A node that is this many heights behind reports it (`onBehind`), because block sync is faster than fetching single blocks. */
const MAX_LAG = 16

/** `onBehind` is not repeated within this time. */
const REPEAT_MS = 10_000

/**
 * Fetches decided blocks one by one, while this node is a few blocks behind. {@link CatchUpPeerSelector} chooses the peer; the reducer
 * verifies the peer's block as a `decision` input.
 */
export class CatchUp {
  readonly #environment: Pick<ConsensusEnvironment, 'fetchDecided' | 'onBehind' | 'monotonicMs'>
  #fetching: { readonly peer: PeerId; readonly height: number } | undefined
  #reportedMs: number | undefined
  /** the last height was decided by a block from a peer, so probably the next one will be too */
  #isFetching = false

  constructor(environment: Pick<ConsensusEnvironment, 'fetchDecided' | 'onBehind' | 'monotonicMs'>) {
    this.#environment = environment
  }

  /**
   * Asks a peer for the current height's block, if the peer has it. The height's votes may still
   * arrive, so a node that was not fetching blocks before asks only in a periodic sweep
   * (`isSweep`).
   */
  check(view: Pick<RoundStateView, 'height'>, behind: Behind | undefined, isSweep: boolean): void {
    if (behind === undefined) {
      this.#isFetching = false
      return
    }
    const { height } = view
    const { peer, networkHeight } = behind
    if (networkHeight - height >= MAX_LAG) this.#report(height, networkHeight)
    if (!isSweep && !this.#isFetching) return
    if (this.#fetching?.peer === peer && this.#fetching.height === height) return
    this.#fetching = { peer, height }
    this.#environment.fetchDecided(peer, height)
  }

  #report(height: number, networkHeight: number): void {
    const nowMs = this.#environment.monotonicMs()
    if (this.#reportedMs !== undefined && nowMs - this.#reportedMs < REPEAT_MS) return
    this.#reportedMs = nowMs
    this.#environment.onBehind(height, networkHeight)
  }

  /** Called when the peer has answered, or will not answer. */
  answered(peer: PeerId, height: number): void {
    if (this.#fetching?.peer === peer && this.#fetching.height === height) this.#fetching = undefined
  }

  /** @param isFetched the height was decided by a block from a peer */
  decided(isFetched: boolean): void {
    this.#isFetching = isFetched
  }
}

/** After this time without a block, another peer is asked. */
const ANSWER_TICKS = 5

const MAX_BACKOFF_TICKS = 64

/** The peer to ask for the decided block of the current height. */
export interface Behind {
  readonly peer: PeerId
  /** the height that the peer claims to be at; it was not checked */
  readonly height: number
  /**
   * The height that validators with more than a third of the power claim to have reached: one of them is honest. When the peers have
   * less power than that: the height that half of the peers claim.
   */
  readonly networkHeight: number
}

interface PeerRecord {
  failures: number
  /** the peer is not asked before */
  retryTick: number
  /** number of the choice in which the peer was last chosen */
  chosen: number
  /** its last block took longer than {@link SLOW_TICKS} */
  isSlow: boolean
}

/** A node whose blocks arrive later than this stays behind: others are decided meanwhile. */
const SLOW_TICKS = 2

/** More than a validator set has members and a node has peers. */
const MAX_RECORDS = 1_024

/**
 * Chooses among the peers that are ahead, in turns. A peer that failed is not chosen for a while, longer after each failure.
 *
 * Validators come first, and of equal peers the quick ones: a stranger can claim to be ahead and then answer late or not at
 * all, and it can connect again as another peer. All nodes of a validator count as one peer, which they stay when they connect again.
 */
export class CatchUpPeerSelector {
  /** by validator or peer; oldest first */
  readonly #records = new Map<string, PeerRecord>()
  #choice:
    | { readonly peer: PeerId; readonly key: string; readonly height: number; readonly sinceTick: number }
    | undefined
  /** of peers that were chosen */
  readonly #keys = new Map<PeerId, string>()
  #choices = 0

  /** Called when the peer did not have the block of `height`, or sent a wrong one. */
  failed(peer: PeerId, height: number, tick: number): void {
    const record = this.#records.get(this.#keys.get(peer) ?? peer)
    if (record === undefined) return
    if (this.#choice?.peer === peer && this.#choice.height === height) this.#choice = undefined
    record.failures++
    record.retryTick = tick + Math.min(2 ** record.failures, MAX_BACKOFF_TICKS)
  }

  left(peer: PeerId): void {
    this.#records.delete(peer)
    this.#keys.delete(peer)
    if (this.#choice?.peer === peer) this.#choice = undefined
  }

  /**
   * Called when the height for which a peer was asked is decided, probably with the peer's block.
   */
  entered(height: number, tick: number): void {
    const choice = this.#choice
    if (choice === undefined || choice.height >= height) return
    const record = this.#records.get(choice.key)
    if (record !== undefined) {
      record.failures = 0
      record.isSlow = tick - choice.sinceTick > SLOW_TICKS
    }
    this.#choice = undefined
  }

  /** The choice stays until the height is decided, or the peer fails, leaves or takes too long. */
  choose(peers: Iterable<GossipPeer>, view: RoundStateView, tick: number): PeerId | undefined {
    if (isDecided(view)) return undefined
    const choice = this.#choice
    if (choice?.height === view.height) {
      if (tick - choice.sinceTick < ANSWER_TICKS) return choice.peer
      this.failed(choice.peer, choice.height, tick)
    }
    let best: Candidate | undefined
    for (const peer of peers) {
      if (!peer.isAhead(tick)) continue
      const isValidator = powerOf(view.validators.validators, peer.validatorAddress) > 0n
      const key = isValidator ? bytesKey(peer.validatorAddress!) : peer.id
      const candidate = { peer: peer.id, key, isValidator, record: this.#record(key) }
      if (candidate.record.retryTick > tick) continue
      if (best === undefined || isBefore(candidate, best)) best = candidate
    }
    if (best === undefined) return undefined
    const { peer, key, record } = best
    record.chosen = ++this.#choices
    this.#keys.set(peer, key)
    this.#choice = { peer, key, height: view.height, sinceTick: tick }
    return peer
  }

  #record(key: string): PeerRecord {
    let record = this.#records.get(key)
    if (record === undefined) {
      if (this.#records.size >= MAX_RECORDS) this.#records.delete(this.#records.keys().next().value!)
      record = { failures: 0, retryTick: 0, chosen: 0, isSlow: false }
      this.#records.set(key, record)
    }
    return record
  }
}

interface Candidate {
  readonly peer: PeerId
  readonly key: string
  readonly isValidator: boolean
  readonly record: PeerRecord
}

function isBefore(a: Candidate, b: Candidate): boolean {
  if (a.isValidator !== b.isValidator) return a.isValidator
  if (a.record.isSlow !== b.record.isSlow) return b.record.isSlow
  return a.record.failures !== b.record.failures
    ? a.record.failures < b.record.failures
    : a.record.chosen < b.record.chosen
}

/** Whether no peer is needed, because the block is decided and complete. */
function isDecided({ step, parts }: RoundStateView): boolean {
  if (step !== STEPS.commit || parts === undefined) return false
  for (let index = 0; index < parts.header.total; index++) if (!parts.has(index)) return false
  return true
}

/** See {@link Behind}; never below the height of `view`. */
export function networkHeight(peers: Iterable<GossipPeer>, view: RoundStateView): number {
  const { validators } = view.validators
  /** by validator or peer: a validator can have any number of nodes */
  const heights = new Map<string, { readonly height: number; readonly power: bigint }>()
  for (const { id, status, validatorAddress } of peers) {
    if (status === undefined) continue
    const power = powerOf(validators, validatorAddress)
    const key = power > 0n ? bytesKey(validatorAddress!) : id
    heights.set(key, { height: Math.max(heights.get(key)?.height ?? 0, status.height), power })
  }
  const claims = [...heights.values()]
  claims.sort((a, b) => b.height - a.height)
  let power = 0n
  for (const claim of claims) {
    power += claim.power
    if (exceedsThird(power, view.validators)) return Math.max(claim.height, view.height)
  }
  return Math.max(claims[claims.length >> 1]?.height ?? 0, view.height)
}

function powerOf(validators: readonly Validator[], address: Uint8Array | undefined): bigint {
  if (address === undefined) return 0n
  return validators[validatorIndexOf({ validators }, address)]?.power ?? 0n
}
