import { type HeapItem, IndexedHeap } from './indexedHeap.ts'
import { effectiveTip, type PoolEntry } from './poolEntry.ts'
import type { SenderQueue } from './senderQueue.ts'

/** The next transaction of one sender. */
export interface ReadyItem extends HeapItem {
  readonly queue: SenderQueue
  readonly entry: PoolEntry
  readonly class: ReadyClass
}

/** The item of a sender whose next transaction is `entry`. */
export function readyItem(queue: SenderQueue, entry: PoolEntry): ReadyItem {
  return { queue, entry, class: classOf(entry), heapIndex: -1 }
}

/** Classes of transactions that are chosen apart: small and large ones of each kind. */
export const READY_CLASSES = ['evm', 'native', 'largeEvm', 'largeNative'] as const
export type ReadyClass = (typeof READY_CLASSES)[number]

/** A transaction with more bytes, or that uses more gas at least, is large: a small one finds room until the block is nearly full. */
const SMALL_BYTES = 4_096
const SMALL_GAS = 500_000n

function classOf({ kind, raw, minimumGas }: PoolEntry): ReadyClass {
  if (raw.length <= SMALL_BYTES && minimumGas <= SMALL_GAS) return kind
  return kind === 'evm' ? 'largeEvm' : 'largeNative'
}

/**
 * The next transactions of all senders whose turn it is, of one class, by effective tip. A base fee changes all tips but not the order:
 * the tip is the priority fee where the fee cap leaves room for it (`capped`), else what the cap leaves (`floating`), and neither of
 * these orders depends on the base fee. One that is in the wrong heap has a better rank there than it deserves, so it comes to the
 * front and is moved then: nothing is sorted again when the base fee changes.
 */
class ReadyOrder {
  readonly #capped = new IndexedHeap<ReadyItem>(hasHigherPriority)
  readonly #floating = new IndexedHeap<ReadyItem>(hasHigherCap)
  readonly #inFloating = new Set<ReadyItem>()

  put(item: ReadyItem, baseFeePerGas: bigint): void {
    if (isCapped(item, baseFeePerGas)) {
      this.#capped.put(item)
    } else {
      this.#inFloating.add(item)
      this.#floating.put(item)
    }
  }

  remove(item: ReadyItem): void {
    if (this.#inFloating.delete(item)) this.#floating.remove(item)
    else this.#capped.remove(item)
  }

  /** Moves what is in the wrong heap from the front of it, at most `moves` items. Returns how many moves are left: 0 when it is not done. */
  settle(baseFeePerGas: bigint, moves: number): number {
    for (let left = moves; left > 0; left--) {
      const capped = this.#capped.peek()
      const floating = this.#floating.peek()
      const wrong =
        capped !== undefined && !isCapped(capped, baseFeePerGas)
          ? capped
          : floating !== undefined && isCapped(floating, baseFeePerGas)
            ? floating
            : undefined
      if (wrong === undefined) return left
      this.remove(wrong)
      this.put(wrong, baseFeePerGas)
    }
    return 0
  }

  /** The best one, once it is settled. */
  peek(baseFeePerGas: bigint): ReadyItem | undefined {
    const capped = this.#capped.peek()
    const floating = this.#floating.peek()
    if (capped === undefined || floating === undefined) return capped ?? floating
    return precedes(capped.entry, floating.entry, baseFeePerGas) ? capped : floating
  }
}

/** {@link ReadyOrder} for each class of transactions. */
export class ReadyIndex {
  readonly #orders: Readonly<Record<ReadyClass, ReadyOrder>> = {
    evm: new ReadyOrder(),
    native: new ReadyOrder(),
    largeEvm: new ReadyOrder(),
    largeNative: new ReadyOrder(),
  }
  readonly #items = new Map<SenderQueue, ReadyItem>()
  /** queues that a selection has taken out: they are put back when the next one begins */
  readonly #taken = new Set<SenderQueue>()
  #baseFeePerGas: bigint

  constructor(baseFeePerGas: bigint) {
    this.#baseFeePerGas = baseFeePerGas
  }

  setBaseFee(baseFeePerGas: bigint): void {
    this.#baseFeePerGas = baseFeePerGas
  }

  /** To be called when a queue has changed. */
  put(queue: SenderQueue): void {
    const entry = queue.ready
    const item = this.#items.get(queue)
    if (item?.entry === entry) return
    if (item !== undefined) this.#remove(item)
    if (entry === undefined) this.#taken.delete(queue)
    if (entry === undefined || this.#taken.has(queue)) return
    const next = readyItem(queue, entry)
    this.#items.set(queue, next)
    this.#orders[next.class].put(next, this.#baseFeePerGas)
  }

  /** Puts back what the selection before has taken. To be called when one begins. */
  begin(): void {
    const taken = [...this.#taken]
    this.#taken.clear()
    for (const queue of taken) this.put(queue)
  }

  /** Brings the front of the heaps in order, see {@link ReadyOrder}. Returns how many moves are left: 0 when it is not done. */
  settle(baseFeePerGas: bigint, moves: number): number {
    let left = moves
    for (const name of READY_CLASSES) if (left > 0) left = this.#orders[name].settle(baseFeePerGas, left)
    return left
  }

  /** The best transaction of a class, once the index is settled for this base fee. */
  peek(name: ReadyClass, baseFeePerGas: bigint): ReadyItem | undefined {
    return this.#orders[name].peek(baseFeePerGas)
  }

  /** Takes out a queue until the next selection begins. */
  take(item: ReadyItem): void {
    this.#remove(item)
    this.#taken.add(item.queue)
  }

  #remove(item: ReadyItem): void {
    this.#items.delete(item.queue)
    this.#orders[item.class].remove(item)
  }
}

function isCapped({ entry }: ReadyItem, baseFeePerGas: bigint): boolean {
  return entry.maxFeePerGas - baseFeePerGas >= entry.maxPriorityFeePerGas
}

function hasHigherPriority({ entry: a }: ReadyItem, { entry: b }: ReadyItem): boolean {
  if (a.maxPriorityFeePerGas === b.maxPriorityFeePerGas) return a.arrival < b.arrival
  return a.maxPriorityFeePerGas > b.maxPriorityFeePerGas
}

function hasHigherCap({ entry: a }: ReadyItem, { entry: b }: ReadyItem): boolean {
  return a.maxFeePerGas === b.maxFeePerGas ? a.arrival < b.arrival : a.maxFeePerGas > b.maxFeePerGas
}

/** The higher effective tip first, equals by arrival. */
export function precedes(a: PoolEntry, b: PoolEntry, baseFeePerGas: bigint): boolean {
  const tipA = effectiveTip(a, baseFeePerGas)
  const tipB = effectiveTip(b, baseFeePerGas)
  return tipA === tipB ? a.arrival < b.arrival : tipA > tipB
}
