import type { Validator } from '../chain/consensus/types.ts'
import { validatorIndexOf } from '../chain/consensus/validatorSet.ts'
import type { ConsensusEnvironment } from './environment.ts'
import type { GossipPeer } from './gossipPeer.ts'
import { type RoundStateView, STEPS } from './roundStateView.ts'
import type { PeerId } from './transport.ts'

/** This far behind, blocks are synced in ranges instead of one by one. */
export const MAX_LAG = 16

/** `onBehind` is not repeated within this time. */
const REPEAT_MS = 10_000

/** Gets blocks that others have decided, one by one, while this node is slightly behind. */
export class CatchUp {
  readonly #environment: Pick<ConsensusEnvironment, 'fetchDecided' | 'onBehind' | 'monotonicMs'>
  #fetching: { readonly peer: PeerId; readonly height: number } | undefined
  #reportedMs: number | undefined
  /** the last height was decided by a block of a peer: the next one probably will be, too */
  #pulls = false

  constructor(environment: Pick<ConsensusEnvironment, 'fetchDecided' | 'onBehind' | 'monotonicMs'>) {
    this.#environment = environment
  }

  /**
   * Asks for the present height's block if a peer has it. Its votes may be on their way, so without haste (`isSweep`) only a
   * node that lags already asks.
   */
  check(view: Pick<RoundStateView, 'height'>, behind: Behind | undefined, isSweep: boolean): void {
    if (behind === undefined) {
      this.#pulls = false
      return
    }
    const { height } = view
    const { peer, networkHeight } = behind
    if (networkHeight - height >= MAX_LAG) this.#report(height, networkHeight)
    if (!isSweep && !this.#pulls) return
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

  /** An answer came, or none will. */
  answered(peer: PeerId, height: number): void {
    if (this.#fetching?.peer === peer && this.#fetching.height === height) this.#fetching = undefined
  }

  /** @param byPull the height was decided by a block of a peer */
  decided(byPull: boolean): void {
    this.#pulls = byPull
  }
}

/** Without a block after that long, another peer is asked. */
const ANSWER_TICKS = 5

const MAX_BACKOFF_TICKS = 64

/** Whom to ask for the decided block of the present height. */
export interface Behind {
  readonly peer: PeerId
  /** that it says it is at; nobody has checked that */
  readonly height: number
  /**
   * That validators with more than a third of the power say they are at, at least: one of them is honest. Without so many among
   * the peers, what half of the peers say.
   */
  readonly networkHeight: number
}

interface Record {
  failures: number
  /** not asked before */
  retryTick: number
  /** order in which peers were chosen */
  chosen: number
}

/** Chooses among peers that are ahead, in turns, and for ever longer times without those that did not help. */
export class CatchUpPeerSelector {
  readonly #records = new Map<PeerId, Record>()
  #choice: { readonly peer: PeerId; readonly height: number; readonly sinceTick: number } | undefined
  #choices = 0

  /** The peer did not have the block of `height`, or what it sent was wrong. */
  failed(peer: PeerId, height: number, tick: number): void {
    const record = this.#records.get(peer)
    if (record === undefined) return
    if (this.#choice?.peer === peer && this.#choice.height === height) this.#choice = undefined
    record.failures++
    record.retryTick = tick + Math.min(2 ** record.failures, MAX_BACKOFF_TICKS)
  }

  left(peer: PeerId): void {
    this.#records.delete(peer)
    if (this.#choice?.peer === peer) this.#choice = undefined
  }

  /** The height that a peer was asked for is decided, most likely with its help. */
  entered(height: number): void {
    const choice = this.#choice
    if (choice === undefined || choice.height >= height) return
    const record = this.#records.get(choice.peer)
    if (record !== undefined) record.failures = 0
    this.#choice = undefined
  }

  /** Stays the same until the height is decided, the peer failed, left, or took too long. */
  choose(peers: Iterable<GossipPeer>, view: RoundStateView, tick: number): PeerId | undefined {
    if (isDecided(view)) return undefined
    const choice = this.#choice
    if (choice?.height === view.height) {
      if (tick - choice.sinceTick < ANSWER_TICKS) return choice.peer
      this.failed(choice.peer, choice.height, tick)
    }
    let best: PeerId | undefined
    let bestRecord: Record | undefined
    for (const peer of peers) {
      if (!peer.isAhead(tick)) continue
      const record = this.#record(peer.id)
      if (record.retryTick > tick) continue
      if (bestRecord === undefined || isBefore(record, bestRecord)) {
        best = peer.id
        bestRecord = record
      }
    }
    if (best === undefined || bestRecord === undefined) return undefined
    bestRecord.chosen = ++this.#choices
    this.#choice = { peer: best, height: view.height, sinceTick: tick }
    return best
  }

  #record(peer: PeerId): Record {
    let record = this.#records.get(peer)
    if (record === undefined) {
      record = { failures: 0, retryTick: 0, chosen: 0 }
      this.#records.set(peer, record)
    }
    return record
  }
}

function isBefore(a: Record, b: Record): boolean {
  return a.failures !== b.failures ? a.failures < b.failures : a.chosen < b.chosen
}

/** Whether nothing is needed of others: the block is decided and here. */
function isDecided({ step, parts }: RoundStateView): boolean {
  if (step !== STEPS.commit || parts === undefined) return false
  for (let index = 0; index < parts.header.total; index++) if (!parts.has(index)) return false
  return true
}

/** See {@link Behind}; that of `view` at least. */
export function networkHeight(peers: Iterable<GossipPeer>, view: RoundStateView): number {
  const { validators, totalPower } = view.validators
  const claims: { readonly height: number; readonly power: bigint }[] = []
  for (const { status, validatorAddress } of peers) {
    if (status !== undefined) claims.push({ height: status.height, power: powerOf(validators, validatorAddress) })
  }
  claims.sort((a, b) => b.height - a.height)
  let power = 0n
  for (const claim of claims) {
    power += claim.power
    if (power * 3n > totalPower) return Math.max(claim.height, view.height)
  }
  return Math.max(claims[claims.length >> 1]?.height ?? 0, view.height)
}

function powerOf(validators: readonly Validator[], address: Uint8Array | undefined): bigint {
  if (address === undefined) return 0n
  return validators[validatorIndexOf({ validators }, address)]?.power ?? 0n
}
