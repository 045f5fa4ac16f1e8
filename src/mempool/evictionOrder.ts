import { IndexedHeap } from './indexedHeap.ts'
import type { PoolEntry } from './poolEntry.ts'
import { effectiveTip } from './priceRules.ts'
import type { SenderQueue } from './senderQueue.ts'

/** A transaction that is to come into a full pool. */
export interface Bid extends Pick<PoolEntry, 'nonce' | 'maxFeePerGas' | 'maxPriorityFeePerGas'> {
  readonly queue: SenderQueue
  readonly isExecutable: boolean
}

/** Classes of queues: those of the lowest number lose first. `within`: no more than the sender's share. */
const TIERS = { waiting: 0, heavy: 1, within: 2 }

/** The share of a sender that has not paid for a transaction yet. */
const LEAST_SHARE = 4n

/**
 * Which sender loses its last transaction first when the pool is full. It is always the last nonce, so that eviction never makes a
 * gap. The order: first senders whose last transaction is not executable or is held back, then those with more than their share of
 * transactions, then all others; among equals by the lowest effective tip, then the longest queue, then the latest arrival.
 *
 * A sender's share is the number of transactions that it has paid for, its nonce, but at least {@link LEAST_SHARE} and at most
 * `fairShare`. Transactions beyond a share yield to one within a share at any price: coins that back many transactions can leave
 * their account without one of them, so a price alone does not entitle to the room of others.
 */
export class EvictionOrder {
  readonly #fairShare: number
  readonly #queues: Iterable<SenderQueue>
  readonly #heap = new IndexedHeap<SenderQueue>(losesFirst)
  #baseFeePerGas: bigint
  /** of the last pass over all queues, or of the current one */
  #passBaseFee: bigint
  /** the queues that a pass has not come to yet; undefined: there is no pass */
  #pass: Iterator<SenderQueue> | undefined

  /** `queues`: all queues with transactions; an iteration sees those that are added and removed meanwhile */
  constructor(fairShare: number, baseFeePerGas: bigint, queues: Iterable<SenderQueue>) {
    this.#fairShare = fairShare
    this.#baseFeePerGas = baseFeePerGas
    this.#passBaseFee = baseFeePerGas
    this.#queues = queues
  }

  /**
   * Tips depend on the base fee, and each queue has its place by the tip that its last transaction had when it was put there. Where the
   * base fee differs by more than an eighth, {@link refresh} puts all in their places again, some at a time: all at once would take
   * longer than blocks can wait.
   */
  setBaseFee(baseFeePerGas: bigint): void {
    this.#baseFeePerGas = baseFeePerGas
  }

  /** To be called when a queue with transactions is new or has changed. */
  put(queue: SenderQueue): void {
    const { evictionRank: rank, entries } = queue
    const last = queue.last!
    rank.tier = isWaiting(queue) ? TIERS.waiting : this.#isHeavy(queue) ? TIERS.heavy : TIERS.within
    rank.tip = effectiveTip(last, this.#baseFeePerGas)
    rank.count = entries.length
    rank.arrival = last.arrival
    this.#heap.put(queue)
  }

  /** To be called when a queue has no transactions any more. */
  remove(queue: SenderQueue): void {
    this.#heap.remove(queue)
  }

  /** Puts so many queues where they belong at the current base fee. Returns whether there may be more. */
  refresh(count: number): boolean {
    if (this.#pass === undefined) {
      const change = this.#baseFeePerGas - this.#passBaseFee
      if ((change < 0n ? -change : change) * 8n <= this.#passBaseFee) return false
      this.#passBaseFee = this.#baseFeePerGas
      this.#pass = this.#queues[Symbol.iterator]()
    }
    for (let done = 0; done < count; done++) {
      const next = this.#pass.next()
      if (next.done === true) {
        this.#pass = undefined
        return true
      }
      this.put(next.value)
    }
    return true
  }

  /** The queue that loses its last transaction next. */
  worst(): SenderQueue | undefined {
    return this.#heap.peek()
  }

  /** Why the bid may not replace the worst transaction, in geth's words; undefined when it may. */
  refusal(bid: Bid): string | undefined {
    const victim = this.worst()
    if (victim === undefined) return 'txpool is full'
    const last = victim.last!
    // If the sender's earlier nonce were evicted, the new transaction would come after a gap.
    if (victim.key === bid.queue.key) return last.nonce > bid.nonce ? undefined : 'transaction underpriced'
    const isVictimWaiting = isWaiting(victim)
    if (isVictimWaiting && bid.isExecutable) return undefined
    if (!isVictimWaiting && !bid.isExecutable) return 'txpool is full'
    if (bid.isExecutable && this.#isHeavy(victim) && !this.#isHeavy(bid.queue, 1)) return undefined
    const offered = effectiveTip(bid, this.#baseFeePerGas)
    const held = effectiveTip(last, this.#baseFeePerGas)
    if (offered > held) return undefined
    const isLighter = bid.queue.entries.length + 1 < victim.entries.length
    return offered === held && isLighter ? undefined : 'transaction underpriced'
  }

  /** Whether it has more than its share, with so many more transactions. */
  #isHeavy({ entries, state }: SenderQueue, more = 0): boolean {
    const paid = state.nonce > LEAST_SHARE ? state.nonce : LEAST_SHARE
    const share = paid < this.#fairShare ? Number(paid) : this.#fairShare
    return entries.length + more > share
  }
}

function losesFirst({ evictionRank: a }: SenderQueue, { evictionRank: b }: SenderQueue): boolean {
  if (a.tier !== b.tier) return a.tier < b.tier
  if (a.tip !== b.tip) return a.tip < b.tip
  if (a.count !== b.count) return a.count > b.count
  return a.arrival > b.arrival
}

function isWaiting({ executable, entries, heldUntil }: SenderQueue): boolean {
  return executable < entries.length || heldUntil > 0
}
