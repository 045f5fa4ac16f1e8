import type { Transaction } from '../../chain/block/transaction.ts'
import { createPrecompileGas } from '../../evm/precompileGas.ts'
import { applyTransaction } from '../../evm/transition.ts'
import { eventsOfEntry } from '../../execution/entryEvents.ts'
import { receiptOf } from '../../execution/receiptOf.ts'
import { failedSimulation } from '../../modules/query/queryError.ts'
import { TxMsgData } from '../../modules/tx/types.ts'
import { type Address, toChecksumAddress } from '../../primitives/address.ts'
import { bytesToHex, equalBytes } from '../../primitives/bytes.ts'
import { ZERO_HASH } from '../../primitives/hash.ts'
import { openCall } from '../eth/call.ts'
import { serverError } from '../jsonrpc/errors.ts'
import { byNumber } from '../params/blockSelector.ts'
import { findEvmRefusal } from '../submit/readEvmTransaction.ts'
import { MsgEthereumTxResponse, type WrappedTransaction } from './ethereumTx.ts'
import type { QueryContext } from './queryPort.ts'
import { toAbciEvent } from './txResponse.ts'

/**
 * Simulates a signed EVM transaction in the next block, or on an older state in that block again, for
 * cosmos.tx.v1beta1.Service/Simulate. As in cosmos/evm, nonce, funds and signature must be right. Code that fails does not fail the
 * request: `vmError` of the MsgEthereumTxResponse has the error. The gas is what eth_estimateGas sees this limit use.
 * @throws QueryError for a transaction that could not start; RpcError, ExecutionTimeout (reject)
 */
export async function simulateEthereumTx(
  { rpc, block, chain }: QueryContext,
  { transaction, from }: WrappedTransaction,
) {
  const sender = senderOf(transaction, rpc)
  if (!equalBytes(sender, from)) throw failedSimulation('signature verification failed: it is from another sender', 0n)
  const selector =
    block.height === chain.headHeight ? ({ kind: 'number', number: 'pending' } as const) : byNumber(block.height)
  const { precompileGasLimit, pause, ...environment } = openCall(rpc, selector, {})
  const outcome = await applyTransaction({
    ...environment,
    transaction,
    sender,
    precompileGas: createPrecompileGas(precompileGasLimit),
    yield: pause,
    gasAvailable: environment.block.gasLimit,
  })
  if (outcome.kind === 'skipped') throw failedSimulation(outcome.reason, 0n)
  const { gasUsed, maxGasUsed, logs, transfers } = outcome
  const { number, timestamp } = environment.block
  const hash = bytesToHex(transaction.hash)
  const response = {
    hash,
    logs: logs.map(({ address, topics, data }, index) => ({
      address: toChecksumAddress(address),
      topics: topics.map(bytesToHex),
      data,
      blockNumber: BigInt(number),
      txHash: hash,
      txIndex: 0n,
      // The block does not exist.
      blockHash: bytesToHex(ZERO_HASH),
      index: BigInt(index),
      removed: false,
      blockTimestamp: BigInt(timestamp),
    })),
    ret: outcome.output,
    vmError: outcome.failure ?? '',
    gasUsed,
    maxUsedGas: maxGasUsed,
    blockHash: ZERO_HASH,
    blockTimestamp: BigInt(timestamp),
  }
  const events = eventsOfEntry({
    kind: 'evm',
    index: 0,
    signed: { transaction, sender },
    receipt: receiptOf({ transaction }, outcome, { gasUsed, blobBaseFee: environment.block.blobBaseFee }),
    transfers,
    events: outcome.events,
  })
  const msgResponses = [
    { typeUrl: MsgEthereumTxResponse.typeUrl, value: Buffer.from(MsgEthereumTxResponse.encode(response)) },
  ]
  return {
    gasInfo: { gasWanted: transaction.gasLimit, gasUsed },
    result: {
      data: TxMsgData.encode({ data: [], msgResponses }),
      log: '',
      events: events.map(toAbciEvent),
      msgResponses,
    },
  }
}

/** @throws RpcError with geth's text */
function senderOf(transaction: Transaction, { decoder, limits }: QueryContext['rpc']): Address {
  const recovery = findEvmRefusal(transaction, limits) ?? decoder.recoverSender(transaction)
  if ('reason' in recovery) throw serverError(recovery.reason)
  return recovery.sender
}
