import type { Transaction } from '../../chain/transaction.ts'
import { toChecksumAddress } from '../../primitives/address.ts'
import { responseTooLarge } from '../errors.ts'
import { toQuantity } from '../format/json.ts'
import { formatPendingTransaction } from '../format/transaction.ts'
import { defineMethod, RawJson, type RpcContext, type RpcMethod } from '../method.ts'
import { readAddress } from '../params/values.ts'
import { createPoolWriter, type PoolWriter, type WriteTransaction } from './writePool.ts'

export const status = defineMethod({
  name: 'txpool_status',
  queue: 'socket',
  run: async ({ txs }) => {
    const { pending, queued } = await txs.status()
    return { pending: toQuantity(pending), queued: toQuantity(queued) }
  },
})

/** No object or summary of a transaction is shorter in JSON. */
const SHORTEST_OBJECT = 400
const SHORTEST_SUMMARY = 40

export const content = defineMethod({
  name: 'txpool_content',
  queue: 'heavy',
  run: (context) => wholePool(context, formatPendingTransaction, SHORTEST_OBJECT),
})

export const inspect = defineMethod({
  name: 'txpool_inspect',
  queue: 'heavy',
  run: (context) => wholePool(context, summarize, SHORTEST_SUMMARY),
})

export const contentFrom = defineMethod({
  name: 'txpool_contentFrom',
  queue: 'cheap',
  params: [readAddress],
  run: async (context, sender) => {
    const { pending, queued } = await context.txs.contentFrom(sender)
    const writer = writerFor(context, formatPendingTransaction)
    return new RawJson(`{"pending":${await writer.byNonce(pending)},"queued":${await writer.byNonce(queued)}}`)
  },
})

/** The `txpool` namespace. */
export const txpoolMethods: readonly RpcMethod[] = [status, content, contentFrom, inspect]

async function wholePool(context: RpcContext, write: WriteTransaction, shortest: number): Promise<RawJson> {
  const counts = await context.txs.status()
  // A pool that does not fit the answer is not copied from its thread at all.
  if ((counts.pending + counts.queued) * shortest > context.limits.responseBytes) throw responseTooLarge()
  const { pending, queued } = await context.txs.content()
  const writer = writerFor(context, write)
  return new RawJson(`{"pending":${await writer.bySender(pending)},"queued":${await writer.bySender(queued)}}`)
}

function writerFor({ limits, execution, now }: RpcContext, write: WriteTransaction): PoolWriter {
  const pause = execution?.yieldUntil(now() + limits.callTimeoutMs)
  return createPoolWriter({ write, maxBytes: limits.responseBytes, pause })
}

/** geth: TxPoolAPI.Inspect. */
function summarize({ to, value, gasLimit, maxFeePerGas }: Transaction): string {
  const target = to === undefined ? 'contract creation' : toChecksumAddress(to)
  return `${target}: ${value} wei + ${gasLimit} gas × ${maxFeePerGas} wei`
}
