import { eventsOfEntry } from '../../../app/entryEvents.ts'
import type { StoredEntry } from '../../../chain/entries.ts'
import { NO_TX_RESULT, type TxResult } from './txResultJson.ts'

/** How an entry of a block's data.txs fared, as CometBFT shows it. The codes are those under last_results_hash. */
export function entryTxResult(entry: StoredEntry): TxResult {
  switch (entry.kind) {
    case 'native':
      return entry.result
    case 'skipped': {
      const { code, codespace, reason, gasWanted } = entry
      return { ...NO_TX_RESULT, code, codespace, log: reason, gasWanted }
    }
    case 'evm': {
      const { signed, receipt } = entry
      const ran = { gasWanted: signed.transaction.gasLimit, gasUsed: receipt.gasUsed, events: eventsOfEntry(entry) }
      if (receipt.status === 1) return { ...NO_TX_RESULT, ...ran }
      return { ...NO_TX_RESULT, ...ran, code: 1, codespace: 'evm', log: 'execution failed' }
    }
  }
}
