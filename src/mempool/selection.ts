import { IndexedHeap } from './indexedHeap.ts'
import { effectiveTip, type PoolEntry } from './poolEntry.ts'
import type { SenderQueue } from './senderQueue.ts'

/** What a block has room for. */
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
interface Contender {
  readonly queue: SenderQueue
  readonly entry: PoolEntry
  readonly tip: bigint
  heapIndex: number
}

/** The transactions of one kind share a block's gas for that kind. */
interface Lane {
  readonly heap: IndexedHeap<Contender>
  gasLeft: bigint
}

/**
 * The transactions for a block in the order to try them: the highest effective tip first, one sender's in nonce order,
 * equals in order of arrival. Their encodings together fit `maxBytes`, and what they use at least fits the gas of their
 * kind: as most use less than their gas limit, the caller stops when its block is full. A kind whose gas is used up holds back
 * only senders whose turn it is with such a transaction; so does one that is not ready. Taking one more costs O(log n) at any time; what leaves the pool in
 * between is passed over, what comes is seen with its sender's next transaction.
 */
export function* selectTransactions(
  queues: Iterable<SenderQueue>,
  { baseFeePerGas, gasLimit, nativeGasLimit, maxBytes }: SelectionRequest,
  isReady: (entry: PoolEntry) => boolean,
): Generator<PoolEntry, void, void> {
  const contend = (queue: SenderQueue, entry: PoolEntry | undefined): Contender | undefined => {
    if (entry === undefined || !isReady(entry)) return undefined
    const tip = effectiveTip(entry, baseFeePerGas)
    return tip < 0n ? undefined : { queue, entry, tip, heapIndex: -1 }
  }
  const first: { readonly evm: Contender[]; readonly native: Contender[] } = { evm: [], native: [] }
  for (const queue of queues) {
    const contender = queue.executable > 0 ? contend(queue, queue.entries[0]) : undefined
    if (contender !== undefined) first[contender.entry.kind].push(contender)
  }
  const evm: Lane = { heap: new IndexedHeap(precedes, first.evm), gasLeft: gasLimit }
  const native: Lane = { heap: new IndexedHeap(precedes, first.native), gasLeft: nativeGasLimit }
  const put = (contender: Contender | undefined): void => {
    if (contender !== undefined) (contender.entry.kind === 'evm' ? evm : native).heap.put(contender)
  }

  let bytesLeft = maxBytes
  while (bytesLeft >= LEAST_BYTES) {
    const lane = better(evm, native)
    const contender = lane?.heap.pop()
    if (lane === undefined || contender === undefined) return
    const { queue, entry } = contender
    const current = queue.getExecutable(entry.nonce)
    if (current !== entry) {
      put(contend(queue, current))
      continue
    }
    // A transaction that does not fit holds back its sender's later ones.
    if (entry.minimumGas > lane.gasLeft || entry.raw.length > bytesLeft) continue
    if (entry.kind === 'evm' && entry.gasLimit > gasLimit) continue
    lane.gasLeft -= entry.minimumGas
    bytesLeft -= entry.raw.length
    yield entry
    put(contend(queue, queue.getExecutable(entry.nonce + 1n)))
  }
}

/** The lane with room whose next transaction comes first. */
function better(evm: Lane, native: Lane): Lane | undefined {
  const a = evm.gasLeft >= LEAST_GAS ? evm.heap.peek() : undefined
  const b = native.gasLeft >= LEAST_NATIVE_GAS ? native.heap.peek() : undefined
  if (a === undefined) return b === undefined ? undefined : native
  return b === undefined || precedes(a, b) ? evm : native
}

function precedes(a: Contender, b: Contender): boolean {
  return a.tip === b.tip ? a.entry.arrival < b.entry.arrival : a.tip > b.tip
}
