import { IndexedHeap } from './indexedHeap.ts'
import { effectiveTip, type PoolEntry } from './poolEntry.ts'
import type { SenderQueue } from './senderQueue.ts'

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

/** The next transaction of one sender. */
interface Candidate {
  readonly queue: SenderQueue
  readonly entry: PoolEntry
  readonly tip: bigint
  heapIndex: number
}

/** EVM and native transactions each have gas of their own in a block. */
interface KindBudget {
  readonly heap: IndexedHeap<Candidate>
  gasLeft: bigint
}

/**
 * The transactions for a block in the order to try them: the highest effective tip first, one sender's in nonce order, equals in order
 * of arrival. Their encodings together fit `maxBytes`, and what they use at least fits the gas of their kind. Most use less than their
 * gas limit, so the caller stops when its block is full. A sender whose next transaction does not fit, or is not ready, is left out
 * with all its later ones; other senders go on. Taking one more costs O(log n). The pool may change in between: a transaction that has
 * left it is skipped, a new one is considered when its sender's turn comes.
 */
export function* selectTransactions(
  queues: Iterable<SenderQueue>,
  { baseFeePerGas, gasLimit, nativeGasLimit, maxBytes }: SelectionRequest,
  isReady: (entry: PoolEntry) => boolean,
): Generator<PoolEntry, void, void> {
  const candidateOf = (queue: SenderQueue, entry: PoolEntry | undefined): Candidate | undefined => {
    if (entry === undefined || !isReady(entry)) return undefined
    const tip = effectiveTip(entry, baseFeePerGas)
    return tip < 0n ? undefined : { queue, entry, tip, heapIndex: -1 }
  }
  const first: { readonly evm: Candidate[]; readonly native: Candidate[] } = { evm: [], native: [] }
  for (const queue of queues) {
    const candidate = queue.executable > 0 ? candidateOf(queue, queue.entries[0]) : undefined
    if (candidate !== undefined) first[candidate.entry.kind].push(candidate)
  }
  const evm: KindBudget = { heap: new IndexedHeap(precedes, first.evm), gasLeft: gasLimit }
  const native: KindBudget = { heap: new IndexedHeap(precedes, first.native), gasLeft: nativeGasLimit }
  const put = (candidate: Candidate | undefined): void => {
    if (candidate !== undefined) (candidate.entry.kind === 'evm' ? evm : native).heap.put(candidate)
  }

  let bytesLeft = maxBytes
  while (bytesLeft >= LEAST_BYTES) {
    const kind = better(evm, native)
    const candidate = kind?.heap.pop()
    if (kind === undefined || candidate === undefined) return
    const { queue, entry } = candidate
    const current = queue.getExecutable(entry.nonce)
    if (current !== entry) {
      put(candidateOf(queue, current))
      continue
    }
    // A transaction that does not fit holds back its sender's later ones.
    if (entry.minimumGas > kind.gasLeft || entry.raw.length > bytesLeft) continue
    if (entry.kind === 'evm' && entry.gasLimit > gasLimit) continue
    kind.gasLeft -= entry.minimumGas
    bytesLeft -= entry.raw.length
    yield entry
    put(candidateOf(queue, queue.getExecutable(entry.nonce + 1n)))
  }
}

/** The kind with gas left whose next transaction comes first. */
function better(evm: KindBudget, native: KindBudget): KindBudget | undefined {
  const a = evm.gasLeft >= LEAST_GAS ? evm.heap.peek() : undefined
  const b = native.gasLeft >= LEAST_NATIVE_GAS ? native.heap.peek() : undefined
  if (a === undefined) return b === undefined ? undefined : native
  return b === undefined || precedes(a, b) ? evm : native
}

function precedes(a: Candidate, b: Candidate): boolean {
  return a.tip === b.tip ? a.entry.arrival < b.entry.arrival : a.tip > b.tip
}
