import { type HeapItem, IndexedHeap } from './indexedHeap.ts'
import type { PoolEntry } from './poolEntry.ts'
import { effectiveTip } from './priceRules.ts'
import type { SenderQueue } from './senderQueue.ts'

/** The next transaction of one sender. */
interface ReadyItem extends HeapItem {
  readonly queue: SenderQueue
  readonly entry: PoolEntry
  readonly class: ReadyClass
}

/** The item of a sender whose next transaction is `entry`. */
function readyItem(queue: SenderQueue, entry: PoolEntry): ReadyItem {
  return { queue, entry, class: classOf(entry), heapIndex: -1 }
}

/** Classes of transactions that are chosen apart: small and large ones of each kind. */
const READY_CLASSES = ['evm', 'native', 'largeEvm', 'largeNative'] as const
type ReadyClass = (typeof READY_CLASSES)[number]

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

  /** Moves items at the front of the wrong heap, at most `moves`. Returns how many moves are left: 0 when it is not done. */
  reorder(baseFeePerGas: bigint, moves: number): number {
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

  /** The best one, once the orders are up to date. */
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
  reorder(baseFeePerGas: bigint, moves: number): number {
    let left = moves
    for (const name of READY_CLASSES) if (left > 0) left = this.#orders[name].reorder(baseFeePerGas, left)
    return left
  }

  /** The best transaction of a class, once the index is ordered for this base fee. */
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
function precedes(a: PoolEntry, b: PoolEntry, baseFeePerGas: bigint): boolean {
  const tipA = effectiveTip(a, baseFeePerGas)
  const tipB = effectiveTip(b, baseFeePerGas)
  return tipA === tipB ? a.arrival < b.arrival : tipA > tipB
}

/** How much room a block has. */
export interface SelectionRequest {
  /** of the block, wei per gas */
  readonly baseFeePerGas: bigint
  /** that EVM transactions may use */
  readonly gasLimit: bigint
  /** that native transactions may use, see `nativeGasLimit` */
  readonly nativeGasLimit: bigint
  /** encoded length of all transactions together */
  readonly maxBytes: number
}

/** No transaction uses less gas or is shorter. */
const LEAST_GAS = 21_000n
const LEAST_NATIVE_GAS = 1_000n
const LEAST_BYTES = 64

/**
 * The most senders of a class that one selection passes over because their next transaction does not fit, and the most whose rank it
 * corrects after a change of the base fee (some 5 ms each). Both could be as many as there are senders. A class that has passed over so many
 * is left out of this block, and the others continue: a few large transactions that take a class's room, and many more of the same size that
 * cannot fit, must not keep small ones out.
 */
const MOST_PASSED = 1_024
const MOST_MOVES = 1_024

/** The gas that EVM or native transactions have in a block. */
interface KindBudget {
  gasLeft: bigint
  readonly leastGas: bigint
}

/** The transactions of a class. */
interface Choice {
  readonly name: ReadyClass
  readonly budget: KindBudget
  /** later transactions of senders of whom the selection has taken one */
  readonly later: IndexedHeap<ReadyItem>
  /** how many were passed over */
  passed: number
}

/**
 * The transactions for a block in the order to try them: the highest effective tip first, one sender's in nonce order, equals in order
 * of arrival. Their encodings together fit `maxBytes`, and what they use at least fits the gas of their kind. Most use less than their
 * gas limit, so the caller stops when its block is full. A sender whose next transaction does not fit is left out with all its later
 * ones; other senders continue. Taking one more costs O(log n), and nothing else depends on the number of senders. Where a change of the base
 * fee has left more wrong ranks than it corrects, some transactions come earlier than they deserve. The pool may change in between: a
 * transaction that has left it is skipped, a new one is considered when its sender's turn comes.
 */
export function* selectTransactions(
  index: ReadyIndex,
  { baseFeePerGas, gasLimit, nativeGasLimit, maxBytes }: SelectionRequest,
): Generator<PoolEntry, void, void> {
  index.begin()
  const order = (a: ReadyItem, b: ReadyItem): boolean => precedes(a.entry, b.entry, baseFeePerGas)
  const evm: KindBudget = { gasLeft: gasLimit, leastGas: LEAST_GAS }
  const native: KindBudget = { gasLeft: nativeGasLimit, leastGas: LEAST_NATIVE_GAS }
  const choice = (name: ReadyClass, budget: KindBudget): Choice => ({
    name,
    budget,
    later: new IndexedHeap(order),
    passed: 0,
  })
  const choices: Readonly<Record<ReadyClass, Choice>> = {
    evm: choice('evm', evm),
    native: choice('native', native),
    largeEvm: choice('largeEvm', evm),
    largeNative: choice('largeNative', native),
  }

  /** Returns the best transaction of a class: the index's, or a later one of a sender whom the selection took out of the index. */
  const bestOf = ({ name, budget, later, passed }: Choice): ReadyItem | undefined => {
    if (budget.gasLeft < budget.leastGas || passed >= MOST_PASSED) return undefined
    const indexed = index.peek(name, baseFeePerGas)
    const next = later.peek()
    if (indexed === undefined || next === undefined) return indexed ?? next
    return order(indexed, next) ? indexed : next
  }
  const findBest = (): ReadyItem | undefined => {
    let best: ReadyItem | undefined
    for (const name of READY_CLASSES) {
      const next = bestOf(choices[name])
      if (next !== undefined && (best === undefined || order(next, best))) best = next
    }
    return best
  }
  const isBelowBaseFee = (entry: PoolEntry): boolean => effectiveTip(entry, baseFeePerGas) < 0n
  const putLater = ({ queue }: ReadyItem, entry: PoolEntry | undefined): void => {
    if (entry === undefined || isBelowBaseFee(entry)) return
    const item = readyItem(queue, entry)
    choices[item.class].later.put(item)
  }

  let bytesLeft = maxBytes
  let moves = MOST_MOVES
  while (bytesLeft >= LEAST_BYTES) {
    if (moves > 0) moves = index.reorder(baseFeePerGas, moves)
    const best = findBest()
    if (best === undefined) return
    const { queue, entry } = best
    // All others have lower ranks then, if no rank is wrong.
    if (isBelowBaseFee(entry) && moves > 0) return
    const { budget, later } = choices[best.class]
    if (later.peek() === best) later.pop()
    else index.take(best)
    const current = queue.getExecutable(entry.nonce)
    if (current !== entry) {
      putLater(best, current)
      continue
    }
    // A transaction that does not fit holds back its sender's later ones.
    const fits = entry.minimumGas <= budget.gasLeft && entry.raw.length <= bytesLeft
    if (!fits || (entry.kind === 'evm' && entry.gasLimit > gasLimit) || isBelowBaseFee(entry)) {
      choices[best.class].passed++
      continue
    }
    budget.gasLeft -= entry.minimumGas
    bytesLeft -= entry.raw.length
    yield entry
    putLater(best, queue.getExecutable(entry.nonce + 1n))
  }
}
