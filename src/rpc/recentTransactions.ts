import type { PooledTransaction } from '../mempool/types.ts'

/** The newest pool transactions, numbered in the order in which they came. */
export interface RecentTransactions {
  add(transactions: readonly PooledTransaction[]): void
  /** the number that the next transaction gets */
  next(): number
  /** Some of those from number `first` on that are still kept; `next` is the number to go on from. */
  since(first: number): { readonly transactions: readonly PooledTransaction[]; readonly next: number }
  /** Forgets all; numbers go on. */
  clear(): void
}

export interface RecentTransactionLimits {
  readonly transactions: number
  readonly transactionBytes: number
}

/** Memory of a transaction beside its bytes. */
const OVERHEAD_BYTES = 300
/** What one call gives at most, so that its JSON stays far below the limit of an answer. */
const MAX_GIVEN = 20_000
const MAX_GIVEN_BYTES = 4_194_304

/** Keeps the newest transactions within the limits. */
export function createRecentTransactions({
  transactions: maxCount,
  transactionBytes,
}: RecentTransactionLimits): RecentTransactions {
  let kept: PooledTransaction[] = []
  /** how many at the front of `kept` are dropped already: they are cut off many at a time */
  let dropped = 0
  /** number of the first one in `kept` */
  let base = 0
  let bytes = 0

  const sizeOf = ({ raw }: PooledTransaction): number => raw.length + OVERHEAD_BYTES
  const compact = (): void => {
    kept = kept.slice(dropped)
    base += dropped
    dropped = 0
  }

  return {
    add: (transactions) => {
      for (const transaction of transactions) {
        kept.push(transaction)
        bytes += sizeOf(transaction)
      }
      while (kept.length - dropped > maxCount || bytes > transactionBytes) {
        bytes -= sizeOf(kept[dropped]!)
        dropped++
      }
      if (dropped > kept.length / 2) compact()
    },
    next: () => base + kept.length,
    since: (first) => {
      const start = Math.max(first - base, dropped)
      let end = start
      let given = 0
      while (end < kept.length && end - start < MAX_GIVEN && given < MAX_GIVEN_BYTES) given += sizeOf(kept[end++]!)
      return { transactions: kept.slice(start, end), next: base + end }
    },
    clear: () => {
      base += kept.length
      kept = []
      dropped = 0
      bytes = 0
    },
  }
}
