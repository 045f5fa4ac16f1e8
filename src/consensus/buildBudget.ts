import { bytesKey } from '../primitives/bytes.ts'

/** Bounds of the budget and its first value, as shares of the block interval. */
const LEAST_SHARE = 0.1
const FIRST_SHARE = 0.3
const MOST_SHARE = 0.6

/**
 * Share of the interval that a height may take from the beginning of its round on. The rest is for
 * late precommits, for the time that a block's travel from its proposer hides (see
 * {@link BuildBudget.received}), and for large transactions: if each takes a great part of the
 * budget, a block with one more transaction is much slower than the last one.
 */
const TARGET_SHARE = 0.8
/** The same share for the only validator: no other validator has to follow. */
const ALONE_TARGET_SHARE = 0.9

/**
 * The budget falls by half of the difference to the last block's target: two slow blocks in a row
 * bring it near the target, and a single slow one with another cause (a disk, a pause) does not. It
 * rises by an eighth, because a block that is too large costs every validator, and one that is too
 * small costs only a moment's throughput.
 */
const DOWN = 1 / 2
const UP = 1 / 8

/**
 * Each block of this node that others did not accept halves the budget, down to this share of the
 * budget from the measured times.
 */
const LEAST_ACCEPTED_SHARE = 1 / 64

interface Measured {
  /** monotonic milliseconds at which its round began here */
  readonly roundMs: number
  /** time that its proposer worked on it, as far as this node can know */
  workMs: number
  /**
   * whether its execution was measured: later executions find the first result and show nothing
   * more
   */
  isExecuted: boolean
}

/**
 * Decides how long this node may work on a block that it proposes, so that the others can follow
 * within the block interval. Every height, of any proposer, shows how long they take. From the
 * beginning of its round to its end, the proposer has worked for `workMs`. The remaining time was
 * needed for the travel of the block, its execution on two thirds of the validators, votes, and a
 * disk that is still busy with the previous block.
 *
 * If the others need r times as long as the proposer for the same work, and the remaining time
 * without that is L, then a block fits when its work w fulfils w + L + r × w = target. One height
 * shows only the sum, not r and L. So each height moves the budget to w + (target − total) / 2, the
 * work that would have fitted for r = 1. The budget settles where the total is the target, for any
 * r.
 *
 * The budget affects only the size of this node's own proposals, and never the state. A proposer
 * that makes slow blocks on purpose can lower the others' budgets, but not below
 * {@link LEAST_SHARE} of the interval.
 */
export class BuildBudget {
  readonly #intervalMs: number
  readonly #leastMs: number
  readonly #mostMs: number
  #ms: number
  /** share of the budget that is used: lower after others have refused blocks */
  #acceptedShare = 1
  #refusals = 0
  #roundMs = 0
  /** the newest block that this node has built for the open height */
  #own: Measured | undefined
  /** other blocks of the open height, by hash */
  readonly #received = new Map<string, Measured>()

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs
    this.#leastMs = intervalMs * LEAST_SHARE
    this.#mostMs = intervalMs * MOST_SHARE
    this.#ms = intervalMs * FIRST_SHARE
  }

  /** milliseconds, from the request for a block to its being ready to be proposed */
  get ms(): number {
    return this.#ms * this.#acceptedShare
  }

  /** Returns how many blocks of this node in a row others did not accept. */
  get refusals(): number {
    return this.#refusals
  }

  /**
   * Halves this node's budget because others did not accept a block of this node. The measured
   * times do not show how long the block took them, since a stopped check is not measured. Each
   * decided block of this node takes back an eighth.
   */
  refused(): void {
    this.#refusals++
    this.#acceptedShare = Math.max(LEAST_ACCEPTED_SHARE, this.#acceptedShare / 2)
  }

  /** Called when a round begins here. */
  roundBegan(nowMs: number): void {
    this.#roundMs = nowMs
  }

  /** Called when this node has built a block. */
  built(beganMs: number, nowMs: number): void {
    this.#own = { roundMs: this.#roundMs, workMs: nowMs - beganMs, isExecuted: true }
  }

  /**
   * Called when the block of another proposer is complete. The proposer worked at most for the time
   * since the beginning of the round, which includes the travel of the block, and as a rule ({@link
   * executed}) at most for the time of its execution.
   */
  received(hash: Uint8Array, nowMs: number): void {
    const key = bytesKey(hash)
    if (this.#received.has(key)) return
    this.#received.set(key, { roundMs: this.#roundMs, workMs: nowMs - this.#roundMs, isExecuted: false })
  }

  /** Called when a block was executed. */
  executed(hash: Uint8Array, beganMs: number, nowMs: number): void {
    const block = this.#received.get(bytesKey(hash))
    if (block === undefined || block.isExecuted) return
    block.workMs = Math.min(block.workMs, nowMs - beganMs)
    block.isExecuted = true
  }

  /**
   * Called when the height is over: a block was decided and executed, but may not be stored yet.
   * @param decided whether this node has built it, and how many validators the height had
   */
  decided(
    { hash, isOwn, validators }: { readonly hash: Uint8Array; readonly isOwn: boolean; readonly validators: number },
    nowMs: number,
  ): void {
    const own = this.#own
    const block = isOwn ? own : this.#received.get(bytesKey(hash))
    this.#own = undefined
    this.#received.clear()
    if (isOwn) {
      this.#refusals = 0
      this.#acceptedShare = Math.min(1, this.#acceptedShare * (1 + UP))
    }
    // This node's block came too late for the others, or they had no time for it.
    if (own !== undefined && !isOwn) this.#moveTo(this.#leastMs, 1)
    else if (block !== undefined) {
      const targetMs = this.#intervalMs * (validators === 1 ? ALONE_TARGET_SHARE : TARGET_SHARE)
      const leftMs = targetMs - (nowMs - block.roundMs)
      this.#moveTo(block.workMs + leftMs / 2, Math.min(1, block.workMs / this.ms))
    }
  }

  /** @param fullness how much of the budget the block took: one that took little says little about larger ones */
  #moveTo(wantedMs: number, fullness: number): void {
    const boundedMs = Math.min(this.#mostMs, Math.max(this.#leastMs, wantedMs))
    const stepMs = boundedMs - this.#ms
    this.#ms += stepMs * (stepMs < 0 ? DOWN : UP * fullness)
  }
}
