import type { EthereumHeader } from '../../chain/ethereumBlock.ts'
import type { Receipt } from '../../chain/receipt.ts'
import type { SignedTransaction } from '../../chain/transaction.ts'
import { bytesToHex } from '../../primitives/bytes.ts'
import type { Hash } from '../../primitives/hash.ts'
import type { JsonObject } from './json.ts'
import { formatLog } from './log.ts'
import { toQuantity } from './quantity.ts'

export interface ReceiptPlace {
  readonly header: Pick<EthereumHeader, 'number' | 'timestamp'>
  readonly hash: Hash
  /** of the transaction in its block */
  readonly index: number
  /** how many logs the block has before this transaction */
  readonly firstLogIndex: number
}

/** A receipt with its transaction's place (geth: MarshalReceipt). */
export function formatReceipt(
  receipt: Receipt,
  { transaction, sender }: SignedTransaction,
  { header, hash, index, firstLogIndex }: ReceiptPlace,
): JsonObject {
  const { status, contractAddress, blobGasUsed, blobGasPrice } = receipt
  return {
    blockHash: bytesToHex(hash),
    blockNumber: toQuantity(header.number),
    transactionHash: bytesToHex(transaction.hash),
    transactionIndex: toQuantity(index),
    from: bytesToHex(sender),
    to: transaction.to === undefined ? null : bytesToHex(transaction.to),
    gasUsed: toQuantity(receipt.gasUsed),
    cumulativeGasUsed: toQuantity(receipt.cumulativeGasUsed),
    contractAddress: contractAddress === undefined ? null : bytesToHex(contractAddress),
    logs: receipt.logs.map((log, position) =>
      formatLog(log, {
        blockNumber: header.number,
        blockHash: hash,
        blockTimestamp: header.timestamp,
        transactionHash: transaction.hash,
        transactionIndex: index,
        logIndex: firstLogIndex + position,
      }),
    ),
    logsBloom: bytesToHex(receipt.logsBloom),
    type: toQuantity(receipt.type),
    effectiveGasPrice: toQuantity(receipt.effectiveGasPrice),
    ...(typeof status === 'number' ? { status: toQuantity(status) } : { root: bytesToHex(status) }),
    ...(blobGasUsed === undefined ? {} : { blobGasUsed: toQuantity(blobGasUsed) }),
    ...(blobGasPrice === undefined ? {} : { blobGasPrice: toQuantity(blobGasPrice) }),
  }
}
