import { IndexedHeap } from './indexedHeap.ts'
import { effectiveTip, type PoolEntry } from './poolEntry.ts'
import type { SenderQueue } from './senderQueue.ts'

/** A transaction that is to come into a full pool. */
export interface Bid extends Pick<PoolEntry, 'nonce' | 'maxFeePerGas' | 'maxPriorityFeePerGas'> {
  readonly queue: SenderQueue
  readonly isExecutable: boolean
}

/**
 * Which sender loses its last transaction first when the pool is full. It is always the last nonce, so that eviction never makes a
 * gap. The order: first senders whose last transaction is not executable, then those with more than a fair share of transactions, then
 * all others; among equals by the lowest effective tip, then the longest queue, then the latest arrival.
 */
export class EvictionOrder {
  readonly #fairShare: number
  readonly #queues: Iterable<SenderQueue>
  #baseFeePerGas: bigint
  /** created at the first use, because only a full pool needs it; dropped when a new base fee changes the order */
  #heap: IndexedHeap<SenderQueue> | undefined

  /** `queues`: all queues with transactions; each iteration gives the present ones */
  constructor(fairShare: number, baseFeePerGas: bigint, queues: Iterable<SenderQueue>) {
    this.#fairShare = fairShare
    this.#baseFeePerGas = baseFeePerGas
    this.#queues = queues
  }

  /** Tips depend on the base fee. */
  setBaseFee(baseFeePerGas: bigint): void {
    if (baseFeePerGas === this.#baseFeePerGas) return
    this.#baseFeePerGas = baseFeePerGas
    this.#heap = undefined
  }

  /** To be called when a queue with transactions is new or has changed. */
  put(queue: SenderQueue): void {
    if (this.#heap === undefined) queue.heapIndex = -1
    else this.#heap.put(queue)
  }

  /** To be called when a queue has no transactions any more. */
  remove(queue: SenderQueue): void {
    this.#heap?.remove(queue)
    queue.heapIndex = -1
  }

  /** The queue that loses its last transaction next. */
  worst(): SenderQueue | undefined {
    this.#heap ??= new IndexedHeap((a, b) => this.#losesFirst(a, b), this.#queues)
    return this.#heap.peek()
  }

  /** Why the bid may not replace the worst transaction, in geth's words; undefined when it may. */
  refusal(bid: Bid): string | undefined {
    const victim = this.worst()
    if (victim === undefined) return 'txpool is full'
    const last = victim.last!
    // If the sender's earlier nonce were evicted, the new transaction would come after a gap.
    if (victim.key === bid.queue.key) return last.nonce > bid.nonce ? undefined : 'transaction underpriced'
    const isVictimExecutable = victim.executable === victim.entries.length
    if (!isVictimExecutable && bid.isExecutable) return undefined
    if (isVictimExecutable && !bid.isExecutable) return 'txpool is full'
    const offered = effectiveTip(bid, this.#baseFeePerGas)
    const held = effectiveTip(last, this.#baseFeePerGas)
    if (offered > held) return undefined
    const isLighter = bid.queue.entries.length + 1 < victim.entries.length
    return offered === held && isLighter ? undefined : 'transaction underpriced'
  }

  #losesFirst(a: SenderQueue, b: SenderQueue): boolean {
    const isWaitingA = a.executable < a.entries.length
    const isWaitingB = b.executable < b.entries.length
    if (isWaitingA !== isWaitingB) return isWaitingA
    const isHeavyA = a.entries.length > this.#fairShare
    const isHeavyB = b.entries.length > this.#fairShare
    if (isHeavyA !== isHeavyB) return isHeavyA
    const lastA = a.last!
    const lastB = b.last!
    const tipA = effectiveTip(lastA, this.#baseFeePerGas)
    const tipB = effectiveTip(lastB, this.#baseFeePerGas)
    if (tipA !== tipB) return tipA < tipB
    if (a.entries.length !== b.entries.length) return a.entries.length > b.entries.length
    return lastA.arrival > lastB.arrival
  }
}
