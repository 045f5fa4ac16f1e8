import { IndexedHeap } from './indexedHeap.ts'
import { effectiveTip, type PoolEntry } from './poolEntry.ts'
import type { SenderQueue } from './senderQueue.ts'

/** What a block has room for. */
export interface SelectionRequest {
  /** of the block, wei per gas */
  readonly baseFeePerGas: bigint
  /** of the block */
  readonly gasLimit: bigint
  /** encoded length of all transactions together */
  readonly maxBytes: number
}

/** No transaction uses less gas or is shorter. */
const LEAST_GAS = 21_000n
const LEAST_BYTES = 64

/** The next transaction of one sender. */
interface Contender {
  readonly queue: SenderQueue
  readonly entry: PoolEntry
  readonly tip: bigint
  heapIndex: number
}

/**
 * The transactions for a block in the order to try them: the highest effective tip first, one sender's in nonce order,
 * equals in order of arrival. Their encodings together fit `maxBytes`, and so does what they use at least fit `gasLimit`:
 * as most use less than their gas limit, the caller stops when its block is full. Taking one more costs O(log n) at any
 * time; what leaves the pool in between is passed over, what comes is seen with its sender's next transaction.
 */
export function* selectTransactions(
  queues: Iterable<SenderQueue>,
  { baseFeePerGas, gasLimit, maxBytes }: SelectionRequest,
): Generator<PoolEntry, void, void> {
  const contend = (queue: SenderQueue, entry: PoolEntry | undefined): Contender | undefined => {
    if (entry === undefined) return undefined
    const tip = effectiveTip(entry, baseFeePerGas)
    return tip < 0n ? undefined : { queue, entry, tip, heapIndex: -1 }
  }
  const first: Contender[] = []
  for (const queue of queues) {
    const contender = queue.executable > 0 ? contend(queue, queue.entries[0]) : undefined
    if (contender !== undefined) first.push(contender)
  }
  const heap = new IndexedHeap<Contender>(precedes, first)

  let gasLeft = gasLimit
  let bytesLeft = maxBytes
  while (gasLeft >= LEAST_GAS && bytesLeft >= LEAST_BYTES) {
    const best = heap.pop()
    if (best === undefined) return
    const { queue, entry } = best
    const current = queue.getExecutable(entry.nonce)
    if (current !== entry) {
      const replacement = contend(queue, current)
      if (replacement !== undefined) heap.put(replacement)
      continue
    }
    // A transaction that does not fit holds back its sender's later ones.
    if (entry.minimumGas > gasLeft || entry.gasLimit > gasLimit || entry.raw.length > bytesLeft) continue
    gasLeft -= entry.minimumGas
    bytesLeft -= entry.raw.length
    yield entry
    const next = contend(queue, queue.getExecutable(entry.nonce + 1n))
    if (next !== undefined) heap.put(next)
  }
}

function precedes(a: Contender, b: Contender): boolean {
  return a.tip === b.tip ? a.entry.arrival < b.entry.arrival : a.tip > b.tip
}
