import { decodeTransaction, type Transaction } from '../chain/transaction.ts'
import type { PooledTransaction } from '../mempool/types.ts'
import { type Address, toChecksumAddress } from '../primitives/address.ts'
import { bytesKey } from '../primitives/bytes.ts'
import { responseTooLarge } from './errors.ts'
import { toQuantity } from './format/json.ts'
import { formatPendingTransaction } from './format/transaction.ts'
import { defineMethod, RawJson, type RpcContext, type RpcMethod } from './method.ts'
import { readAddress } from './params/values.ts'

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

/** All transactions that could be in the next block, by sender and nonce (`eth_pendingTransactions` of Nethermind and cosmos/evm). */
export const pendingTransactions = defineMethod({
  name: 'eth_pendingTransactions',
  queue: 'heavy',
  run: async (context) => {
    const counts = await context.txs.status()
    if (counts.pending * SHORTEST_OBJECT > context.limits.responseBytes) throw responseTooLarge()
    const { pending } = await context.txs.content()
    return new RawJson(await writerFor(context, formatPendingTransaction).list(pending))
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

function writerFor({ limits, execution, monotonicMs }: RpcContext, write: WriteTransaction): PoolWriter {
  const pause = execution?.yieldUntil(monotonicMs() + limits.callTimeoutMs)
  return createPoolWriter({ write, maxBytes: limits.responseBytes, pause })
}

/** geth: TxPoolAPI.Inspect. */
function summarize({ to, value, gasLimit, maxFeePerGas }: Transaction): string {
  const target = to === undefined ? 'contract creation' : toChecksumAddress(to)
  return `${target}: ${value} wei + ${gasLimit} gas × ${maxFeePerGas} wei`
}

/** Writes the value of one transaction as JSON. */
type WriteTransaction = (transaction: Transaction, sender: Address) => unknown

interface PoolWriterOptions {
  readonly write: WriteTransaction
  /** a longer answer is refused with an RpcError */
  readonly maxBytes: number
  /** awaited between transactions, so that a long list does not block the thread */
  readonly pause: (() => Promise<void>) | undefined
}

/** Writes parts of one answer, whose size they share. */
interface PoolWriter {
  list(transactions: readonly PooledTransaction[]): Promise<string>
  /** JSON object of transactions of one sender by decimal nonce. */
  byNonce(transactions: readonly PooledTransaction[]): Promise<string>
  /** JSON object of {@link byNonce} by checksummed sender. */
  bySender(transactions: readonly PooledTransaction[]): Promise<string>
}

/** Quotes, colon and comma around a nonce. */
const PUNCTUATION = 6

function createPoolWriter({ write, maxBytes, pause }: PoolWriterOptions): PoolWriter {
  let bytes = 0
  const writeAll = async (
    transactions: readonly PooledTransaction[],
    toEntry: (transaction: Transaction, sender: Address) => string,
  ): Promise<string> => {
    const entries: string[] = []
    for (const { raw, sender } of transactions) {
      await pause?.()
      const entry = toEntry(decodeTransaction(raw), sender)
      bytes += entry.length + PUNCTUATION
      if (bytes > maxBytes) throw responseTooLarge()
      entries.push(entry)
    }
    return entries.join(',')
  }
  const byNonce = async (transactions: readonly PooledTransaction[]): Promise<string> => {
    const entries = await writeAll(
      transactions,
      (transaction, sender) => `"${transaction.nonce}":${JSON.stringify(write(transaction, sender))}`,
    )
    return `{${entries}}`
  }
  return {
    list: async (transactions) => {
      const entries = await writeAll(transactions, (transaction, sender) => JSON.stringify(write(transaction, sender)))
      return `[${entries}]`
    },
    byNonce,
    bySender: async (transactions) => {
      const senders = Map.groupBy(transactions, ({ sender }) => bytesKey(sender))
      const entries: string[] = []
      for (const own of senders.values()) {
        entries.push(`"${toChecksumAddress(own[0]!.sender)}":${await byNonce(own)}`)
      }
      return `{${entries.join(',')}}`
    },
  }
}
