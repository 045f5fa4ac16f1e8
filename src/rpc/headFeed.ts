import type { PooledTransaction } from '../mempool/types.ts'
import type { NodeView } from '../state/view.ts'

/** What a socket thread learns from the others. Several blocks may have been published between two heads. */
export interface HeadFeed {
  /** `view` may be read while the listener runs. */
  onHead(listener: (view: NodeView) => void): void
  /** transactions that became executable */
  onPendingTransactions(listener: (transactions: readonly PooledTransaction[]) => void): void
}
