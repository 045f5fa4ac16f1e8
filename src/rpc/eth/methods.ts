import type { RpcMethod } from '../jsonrpc/method.ts'
import { simulateV1 } from '../simulate/simulateV1.ts'
import {
  getAccount,
  getBalance,
  getCode,
  getProof,
  getStorageAt,
  getStorageValues,
  getTransactionCount,
} from './accountState.ts'
import { getBlockAccessList } from './blockAccessLists.ts'
import {
  getBlockByHash,
  getBlockByNumber,
  getBlockTransactionCountByHash,
  getBlockTransactionCountByNumber,
  getHeaderByHash,
  getHeaderByNumber,
  getUncleByBlockHashAndIndex,
  getUncleByBlockNumberAndIndex,
  getUncleCountByBlockHash,
  getUncleCountByBlockNumber,
} from './blocks.ts'
import { call } from './call.ts'
import { callMany } from './callMany.ts'
import { accounts, blockNumber, capabilities, chainId, coinbase, config, syncing } from './chainInfo.ts'
import { createAccessList } from './createAccessList.ts'
import { estimateGas } from './estimateGas.ts'
import { feeHistory } from './feeHistory.ts'
import { baseFee, blobBaseFee, gasPrice, maxPriorityFeePerGas } from './fees.ts'
import { fillTransaction } from './fillTransaction.ts'
import { getLogs } from './logs.ts'
import { getLogsWithCursor } from './logsWithCursor.ts'
import { sendRawTransaction, sendRawTransactionSync } from './sendRawTransaction.ts'
import {
  getBlockReceipts,
  getRawTransactionByBlockHashAndIndex,
  getRawTransactionByBlockNumberAndIndex,
  getRawTransactionByHash,
  getTransactionByBlockHashAndIndex,
  getTransactionByBlockNumberAndIndex,
  getTransactionByHash,
  getTransactionReceipt,
} from './transactions.ts'
import { pendingTransactions } from './txpool.ts'

/** The `eth` namespace, without filters and subscriptions. */
export const ethMethods: readonly RpcMethod[] = [
  accounts,
  baseFee,
  blobBaseFee,
  blockNumber,
  call,
  callMany,
  capabilities,
  chainId,
  coinbase,
  config,
  createAccessList,
  estimateGas,
  feeHistory,
  fillTransaction,
  gasPrice,
  getAccount,
  getBalance,
  getBlockAccessList,
  getBlockByHash,
  getBlockByNumber,
  getBlockReceipts,
  getBlockTransactionCountByHash,
  getBlockTransactionCountByNumber,
  getCode,
  getHeaderByHash,
  getHeaderByNumber,
  getLogs,
  getLogsWithCursor,
  getProof,
  getRawTransactionByBlockHashAndIndex,
  getRawTransactionByBlockNumberAndIndex,
  getRawTransactionByHash,
  getStorageAt,
  getStorageValues,
  getTransactionByBlockHashAndIndex,
  getTransactionByBlockNumberAndIndex,
  getTransactionByHash,
  getTransactionCount,
  getTransactionReceipt,
  getUncleByBlockHashAndIndex,
  getUncleByBlockNumberAndIndex,
  getUncleCountByBlockHash,
  getUncleCountByBlockNumber,
  maxPriorityFeePerGas,
  pendingTransactions,
  sendRawTransaction,
  sendRawTransactionSync,
  simulateV1,
  syncing,
]
