import { IndexedHeap } from './indexedHeap.ts'
import { effectiveTip, type PoolEntry } from './poolEntry.ts'
import { precedes, READY_CLASSES, type ReadyClass, type ReadyIndex, type ReadyItem, readyItem } from './readyIndex.ts'

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
 * is left out of this block, and the others go on: a few large transactions that take a class's room, and many more of the same size that
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
 * ones; other senders go on. Taking one more costs O(log n), and nothing else depends on the number of senders. Where a change of the base
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

  /** The best transaction of a class: the index's, or a later one of a sender who was taken out of it. */
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
    if (moves > 0) moves = index.settle(baseFeePerGas, moves)
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
