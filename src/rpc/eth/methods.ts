import type { RpcMethod } from '../method.ts'
import { getBalance, getCode, getStorageAt, getStorageValues, getTransactionCount } from './accountState.ts'
import {
  getBlockTransactionCountByHash,
  getBlockTransactionCountByNumber,
  getUncleByBlockHashAndIndex,
  getUncleByBlockNumberAndIndex,
  getUncleCountByBlockHash,
  getUncleCountByBlockNumber,
} from './blockCounts.ts'
import { getBlockByHash, getBlockByNumber, getHeaderByHash, getHeaderByNumber } from './blocks.ts'
import { call } from './call.ts'
import { capabilities } from './capabilities.ts'
import { accounts, blockNumber, chainId, syncing } from './chainInfo.ts'
import { config } from './config.ts'
import { createAccessList } from './createAccessList.ts'
import { estimateGas } from './estimateGas.ts'
import { feeHistory } from './feeHistory.ts'
import { baseFee, blobBaseFee, gasPrice, maxPriorityFeePerGas } from './fees.ts'
import { fillTransaction } from './fillTransaction.ts'
import { getLogs } from './getLogs.ts'
import { getProof } from './getProof.ts'
import { getBlockReceipts, getTransactionReceipt } from './receipts.ts'
import { sendRawTransaction } from './sendRawTransaction.ts'
import { sendRawTransactionSync } from './sendRawTransactionSync.ts'
import {
  getRawTransactionByBlockHashAndIndex,
  getRawTransactionByBlockNumberAndIndex,
  getRawTransactionByHash,
  getTransactionByBlockHashAndIndex,
  getTransactionByBlockNumberAndIndex,
  getTransactionByHash,
} from './transactions.ts'

/** The `eth` namespace, without filters and subscriptions. */
export const ethMethods: readonly RpcMethod[] = [
  accounts,
  baseFee,
  blobBaseFee,
  blockNumber,
  call,
  capabilities,
  chainId,
  config,
  createAccessList,
  estimateGas,
  feeHistory,
  fillTransaction,
  gasPrice,
  getBalance,
  getBlockByHash,
  getBlockByNumber,
  getBlockReceipts,
  getBlockTransactionCountByHash,
  getBlockTransactionCountByNumber,
  getCode,
  getHeaderByHash,
  getHeaderByNumber,
  getLogs,
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
  sendRawTransaction,
  sendRawTransactionSync,
  syncing,
]
