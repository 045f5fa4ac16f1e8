import { encodeLogs, logsBloom, type Receipt } from '../chain/block/receipt.ts'
import type { SignedTransaction } from '../chain/block/transaction.ts'
import type { AppliedTransaction } from '../evm/transition.ts'

/**
 * Returns the receipt of a transaction that ran.
 * @param outcome `logsBloom`: that of the logs, where it is known
 * @param block `gasUsed`: of its transactions up to this one, which is among them
 */
export function receiptOf(
  { transaction }: Pick<SignedTransaction, 'transaction'>,
  {
    status,
    gasUsed,
    effectiveGasPrice,
    logs,
    logsBloom: bloom = logsBloom(logs),
    createdAddress,
    blobGasUsed,
  }: Pick<
    AppliedTransaction,
    'status' | 'gasUsed' | 'effectiveGasPrice' | 'logs' | 'createdAddress' | 'blobGasUsed'
  > & {
    readonly logsBloom?: Uint8Array | undefined
  },
  block: { readonly gasUsed: bigint; readonly blobBaseFee: bigint },
): Receipt {
  const hasBlobs = transaction.type === 3
  // The receipts root takes it, and then the stored results.
  let encodedLogs: Uint8Array | undefined
  return {
    type: transaction.type,
    status: status === 'success' ? 1 : 0,
    gasUsed,
    cumulativeGasUsed: block.gasUsed,
    effectiveGasPrice,
    logs,
    get encodedLogs() {
      encodedLogs ??= encodeLogs(logs)
      return encodedLogs
    },
    logsBloom: bloom,
    contractAddress: createdAddress,
    blobGasUsed: hasBlobs ? blobGasUsed : undefined,
    blobGasPrice: hasBlobs ? block.blobBaseFee : undefined,
  }
}
