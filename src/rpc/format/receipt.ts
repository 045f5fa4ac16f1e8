import type { EthereumHeader } from '../../chain/block/ethereumBlock.ts'
import type { Log, Receipt } from '../../chain/block/receipt.ts'
import type { SignedTransaction } from '../../chain/block/transaction.ts'
import { bytesToHex, toQuantity } from '../../primitives/bytes.ts'
import type { Hash } from '../../primitives/hash.ts'
import type { JsonObject } from './json.ts'

interface ReceiptPosition {
  readonly header: Pick<EthereumHeader, 'number' | 'timestamp'>
  readonly hash: Hash
  /** of the transaction in its block */
  readonly index: number
  /** how many logs the block has before this transaction */
  readonly firstLogIndex: number
}

/** Formats a receipt with the position of its transaction (geth: MarshalReceipt). */
export function formatReceipt(
  receipt: Receipt,
  { transaction, sender }: SignedTransaction,
  { header, hash, index, firstLogIndex }: ReceiptPosition,
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
    logs: receipt.logs.map((log, offset) =>
      formatLog(log, {
        blockNumber: header.number,
        blockHash: hash,
        blockTimestamp: header.timestamp,
        transactionHash: transaction.hash,
        transactionIndex: index,
        logIndex: firstLogIndex + offset,
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

/** The place where a log was emitted. */
export interface LogPosition {
  readonly blockNumber: number
  readonly blockHash: Hash
  /** whole seconds */
  readonly blockTimestamp: number
  readonly transactionHash: Hash
  readonly transactionIndex: number
  /** among all logs of the block */
  readonly logIndex: number
}

/** Formats a log (geth: types.Log). A decided block is final, so no log is ever removed. */
export function formatLog(log: Log, position: LogPosition): JsonObject {
  return {
    address: bytesToHex(log.address),
    topics: log.topics.map(bytesToHex),
    data: bytesToHex(log.data),
    blockNumber: toQuantity(position.blockNumber),
    transactionHash: bytesToHex(position.transactionHash),
    transactionIndex: toQuantity(position.transactionIndex),
    blockHash: bytesToHex(position.blockHash),
    blockTimestamp: toQuantity(position.blockTimestamp),
    logIndex: toQuantity(position.logIndex),
    removed: false,
  }
}
