import type { Receipt } from '../chain/receipt.ts'
import type { SignedTransaction } from '../chain/transaction.ts'

/** How one entry of a consensus block's data.txs fared. */
export type EntryResult =
  | { readonly kind: 'evm'; readonly transaction: SignedTransaction; readonly receipt: Receipt }
  /** it could not start: no effect, not in the Ethereum block */
  | { readonly kind: 'skipped'; readonly reason: string; readonly gasWanted: bigint }

/** ABCI codes of EVM entries in `last_results_hash` and block results. */
export const RESULT_CODES = { success: 0, failed: 1, skipped: 2 } as const
