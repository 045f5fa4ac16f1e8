import type { EvmEntry, NativeEntry, SkippedEntry } from '../chain/entries.ts'
import type { NativeTransaction } from '../modules/tx/nativeTransaction.ts'

/** How one entry of a consensus block's data.txs fared, as it is stored; a native transaction decoded. */
export type EntryResult = EvmEntry | ExecutedNative | SkippedEntry

export interface ExecutedNative extends NativeEntry {
  readonly transaction: NativeTransaction
}

/** ABCI codes of EVM entries in `last_results_hash` and block results. */
export const RESULT_CODES = { success: 0, failed: 1, skipped: 2 } as const
/** Codespace of the codes that are not 0. */
export const EVM_CODESPACE = 'evm'

/** An EVM entry, or bytes of no kind, that could not start. */
export function skippedEvm(reason: string, gasWanted: bigint): SkippedEntry {
  return { kind: 'skipped', code: RESULT_CODES.skipped, codespace: EVM_CODESPACE, reason, gasWanted }
}
