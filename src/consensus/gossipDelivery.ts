import { addBit, bitDifference, copyBitSet, countBits, createBitSet, hasBit } from './bitSet.ts'
import type { BitSet } from './message.ts'

/** Ticks in which a peer shows that it got something. */
const ANSWER_TICKS = 2

/** The longest wait before something is sent once more. */
const MAX_RETRY_TICKS = 16

/**
 * How one peer stands to numbered things that belong together: the votes of a round and type, the parts of a block. What was
 * sent is sent again, ever more seldom, until the peer shows that it has it.
 */
export class Delivery {
  readonly size: number
  /** since when the peer could have been sent them */
  #sinceTick: number
  #have: BitSet
  readonly #sent: BitSet
  /** the most that the peer ever had */
  #most = 0
  #failures = 0
  #sentTick = 0
  #retryTick = 0

  constructor(size: number, tick: number) {
    this.size = size
    this.#sinceTick = tick
    this.#have = createBitSet(size)
    this.#sent = createBitSet(size)
  }

  has(index: number): boolean {
    return hasBit(this.#have, index)
  }

  /** The peer sent it, so it has it. */
  add(index: number): void {
    if (index >= 0 && index < this.size) addBit(this.#have, index)
  }

  /** The peer says what it has. A set of another size is not about these things. */
  replace(have: BitSet): void {
    if (have.size !== this.size) return
    this.#have = copyBitSet(have)
    const count = countBits(have)
    if (count <= this.#most) return
    this.#most = count
    this.#failures = 0
    this.#retryTick = this.#sentTick + ANSWER_TICKS
  }

  get sinceTick(): number {
    return this.#sinceTick
  }

  /** Forgets that sending did not help: the peer was out of reach until now. */
  forgive(tick: number): void {
    this.#sinceTick = tick
    this.#failures = 0
    this.#retryTick = 0
  }

  /**
   * What of `ours` to send now, ascending: what the peer lacks and `mine` (a first time is shared among many senders) accepts,
   * and, when it is time for it, what was sent before without effect.
   */
  due(ours: BitSet, tick: number, mine: (index: number) => boolean): number[] {
    const retries = tick >= this.#retryTick
    return bitDifference(ours, this.#have).filter((index) => (hasBit(this.#sent, index) ? retries : mine(index)))
  }

  markSent(index: number, tick: number): void {
    this.#sentTick = tick
    if (!hasBit(this.#sent, index)) {
      addBit(this.#sent, index)
      if (this.#retryTick <= tick) this.#retryTick = tick + ANSWER_TICKS
      return
    }
    if (this.#retryTick > tick) return
    this.#failures++
    this.#retryTick = tick + Math.min(ANSWER_TICKS + this.#failures, MAX_RETRY_TICKS)
  }
}
