import { resultsHash, type TxResult } from '../chain/consensus/block.ts'
import { EMPTY_BYTES } from '../primitives/bytes.ts'
import { type EntryResult, RESULT_CODES } from './executionResults.ts'

/** CometBFT's last_results_hash over a block's entries: code, data, gas wanted and gas used of each. */
export function resultsHashOf(results: readonly EntryResult[]): Uint8Array {
  return resultsHash(results.map(transactionResult))
}

function transactionResult(result: EntryResult): TxResult {
  if (result.kind === 'skipped') {
    return { code: result.code, data: EMPTY_BYTES, gasWanted: result.gasWanted, gasUsed: 0n }
  }
  if (result.kind === 'native') return result.result
  const { signed, receipt } = result
  return {
    code: receipt.status === 1 ? RESULT_CODES.success : RESULT_CODES.failed,
    data: EMPTY_BYTES,
    gasWanted: signed.transaction.gasLimit,
    gasUsed: receipt.gasUsed,
  }
}
