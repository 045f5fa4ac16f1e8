import { IndexedHeap } from './indexedHeap.ts'
import { effectiveTip, type PoolEntry } from './poolEntry.ts'
import { precedes, type ReadyIndex, type ReadyItem } from './readyIndex.ts'

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
 * The most senders that one selection passes over because their next transaction does not fit, and the most whose rank it corrects after
 * a change of the base fee (some 5 ms each). Both could be as many as there are senders.
 */
const MOST_PASSED = 1_024
const MOST_MOVES = 1_024

/** EVM and native transactions each have gas of their own in a block. */
interface KindBudget {
  readonly kind: PoolEntry['kind']
  /** later transactions of senders of whom the selection has taken one */
  readonly later: IndexedHeap<ReadyItem>
  gasLeft: bigint
  readonly leastGas: bigint
}

/**
 * The transactions for a block in the order to try them: the highest effective tip first, one sender's in nonce order, equals in order
 * of arrival. Their encodings together fit `maxBytes`, and what they use at least fits the gas of their kind. Most use less than their
 * gas limit, so the caller stops when its block is full. A sender whose next transaction does not fit is left out with all its later
 * ones; other senders go on. Taking one more costs O(log n), and nothing else depends on the number of senders. The pool may change in
 * between: a transaction that has left it is skipped, a new one is considered when its sender's turn comes.
 */
export function* selectTransactions(
  index: ReadyIndex,
  { baseFeePerGas, gasLimit, nativeGasLimit, maxBytes }: SelectionRequest,
): Generator<PoolEntry, void, void> {
  index.begin()
  const order = (a: ReadyItem, b: ReadyItem): boolean => precedes(a.entry, b.entry, baseFeePerGas)
  const budgetOf = (kind: PoolEntry['kind'], gasLeft: bigint, leastGas: bigint): KindBudget => ({
    kind,
    later: new IndexedHeap(order),
    gasLeft,
    leastGas,
  })
  const budgets = {
    evm: budgetOf('evm', gasLimit, LEAST_GAS),
    native: budgetOf('native', nativeGasLimit, LEAST_NATIVE_GAS),
  }

  /** The best transaction of a kind: the index's, or a later one of a sender who was taken out of it. */
  const bestOf = ({ kind, later, gasLeft, leastGas }: KindBudget): ReadyItem | undefined => {
    if (gasLeft < leastGas) return undefined
    const indexed = index.peek(kind, baseFeePerGas)
    const next = later.peek()
    if (indexed === undefined || next === undefined) return indexed ?? next
    return order(indexed, next) ? indexed : next
  }
  const takeBest = (): ReadyItem | undefined => {
    const evm = bestOf(budgets.evm)
    const native = bestOf(budgets.native)
    const best = evm === undefined || native === undefined ? (evm ?? native) : order(evm, native) ? evm : native
    if (best === undefined || effectiveTip(best.entry, baseFeePerGas) < 0n) return undefined
    const { later } = budgets[best.entry.kind]
    if (later.peek() === best) later.pop()
    else index.take(best)
    return best
  }
  const putLater = ({ queue }: ReadyItem, entry: PoolEntry | undefined): void => {
    if (entry === undefined || effectiveTip(entry, baseFeePerGas) < 0n) return
    budgets[entry.kind].later.put({ queue, entry, heapIndex: -1 })
  }

  let bytesLeft = maxBytes
  let passed = 0
  let moves = MOST_MOVES
  while (bytesLeft >= LEAST_BYTES && passed < MOST_PASSED) {
    moves = index.settle(baseFeePerGas, moves)
    if (moves === 0) return
    const best = takeBest()
    if (best === undefined) return
    const { queue, entry } = best
    const current = queue.getExecutable(entry.nonce)
    if (current !== entry) {
      putLater(best, current)
      continue
    }
    const budget = budgets[entry.kind]
    // A transaction that does not fit holds back its sender's later ones.
    const fits = entry.minimumGas <= budget.gasLeft && entry.raw.length <= bytesLeft
    if (!fits || (entry.kind === 'evm' && entry.gasLimit > gasLimit)) {
      passed++
      continue
    }
    budget.gasLeft -= entry.minimumGas
    bytesLeft -= entry.raw.length
    yield entry
    putLater(best, queue.getExecutable(entry.nonce + 1n))
  }
}
