import { decodeTransaction, type Transaction } from '../../chain/block/transaction.ts'
import type { ContentLease, ContentRefusal, ContentScope, ContentSize, PooledTransaction } from '../../mempool/types.ts'
import { type Address, toChecksumAddress } from '../../primitives/address.ts'
import { equalBytes, toQuantity } from '../../primitives/bytes.ts'
import { formatPendingTransaction } from '../format/transaction.ts'
import { RPC_CODES, RpcError, responseTooLarge } from '../jsonrpc/errors.ts'
import { defineMethod, RawJson, type RpcContext, type RpcMethod } from '../jsonrpc/method.ts'
import { readAddress } from '../params/values.ts'

export const status = defineMethod({
  name: 'txpool_status',
  runs: 'socket',
  run: async ({ txs }) => {
    const { pending, queued } = await txs.status()
    return { pending: toQuantity(pending), queued: toQuantity(queued) }
  },
})

/** Minimum length of a transaction's object or summary in JSON. */
const SHORTEST_OBJECT = 400
const SHORTEST_SUMMARY = 40
/** An object has two hexadecimal digits for each byte of a transaction. */
const DIGITS_PER_BYTE = 2

export const content = defineMethod({
  name: 'txpool_content',
  runs: 'heavy',
  run: (context) => readContent(context, 'all', objectsIn(context), (pool) => contentJson(context, pool)),
})

export const inspect = defineMethod({
  name: 'txpool_inspect',
  runs: 'heavy',
  run: (context) => {
    const most = { transactions: context.limits.responseBytes / SHORTEST_SUMMARY, bytes: Number.POSITIVE_INFINITY }
    return readContent(context, 'all', most, (pool) => contentJson(context, pool, summarize))
  },
})

export const contentFrom = defineMethod({
  name: 'txpool_contentFrom',
  runs: 'heavy',
  params: [readAddress],
  run: (context, sender) =>
    readContent(context, sender, objectsIn(context), async ({ pending, queued }) => {
      const writer = writerFor(context, formatPendingTransaction)
      return `{"pending":${await writer.byNonce(pending)},"queued":${await writer.byNonce(queued)}}`
    }),
})

/**
 * All transactions that could be in the next block, by sender and nonce (`eth_pendingTransactions`
 * of Nethermind and cosmos/evm).
 */
export const pendingTransactions = defineMethod({
  name: 'eth_pendingTransactions',
  runs: 'heavy',
  run: (context) =>
    readContent(context, 'pending', objectsIn(context), ({ pending }) =>
      writerFor(context, formatPendingTransaction).list(pending),
    ),
})

/** The `txpool` namespace. */
export const txpoolMethods: readonly RpcMethod[] = [status, content, contentFrom, inspect]

/** Returns how much content an answer has room for. */
function objectsIn({ limits }: RpcContext): ContentSize {
  return { transactions: limits.responseBytes / SHORTEST_OBJECT, bytes: limits.responseBytes / DIGITS_PER_BYTE }
}

/**
 * Writes an answer from a copy of the pool's content.
 * @throws RpcError (rejects), before anything is copied, when the answer would be too long
 */
async function readContent(
  { txs }: RpcContext,
  of: ContentScope,
  most: ContentSize,
  write: (pool: ContentLease) => Promise<string>,
): Promise<RawJson> {
  const found = await txs.content({ of, most })
  if ('refused' in found) throw poolRefusal(found)
  try {
    return new RawJson(await write(found))
  } finally {
    found.release()
  }
}

/** Returns the error for a client whose request would have copied too much. */
export function poolRefusal({ refused, size: { transactions, bytes } }: ContentRefusal): RpcError {
  if (refused === 'busy')
    return new RpcError(RPC_CODES.limitExceeded, 'too many requests read the pool, try again later')
  return new RpcError(
    RPC_CODES.responseTooLarge,
    `response too large: ${transactions} transactions of ${bytes} bytes in all; ask for the transactions of one sender (txpool_contentFrom) or for single ones (eth_getTransactionByHash)`,
  )
}

async function contentJson(
  context: RpcContext,
  { pending, queued }: ContentLease,
  write: WriteTransaction = formatPendingTransaction,
): Promise<string> {
  const writer = writerFor(context, write)
  return `{"pending":${await writer.bySender(pending)},"queued":${await writer.bySender(queued)}}`
}

function writerFor({ limits, execution, monotonicMs }: RpcContext, write: WriteTransaction): PoolWriter {
  const pause = execution?.yieldUntil(monotonicMs() + limits.callTimeoutMs)
  return createPoolWriter({ write, maxBytes: limits.responseBytes, pause })
}

/** Summarizes a transaction (geth: TxPoolAPI.Inspect). */
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
  list(transactions: Iterable<PooledTransaction>): Promise<string>
  /** Writes the JSON object of one sender's transactions by decimal nonce. */
  byNonce(transactions: Iterable<PooledTransaction>): Promise<string>
  /**
   * Writes the JSON object of {@link byNonce} by checksummed sender. A sender's transactions follow
   * one another.
   */
  bySender(transactions: Iterable<PooledTransaction>): Promise<string>
}

function createPoolWriter({ write, maxBytes, pause }: PoolWriterOptions): PoolWriter {
  let bytes = 0
  /** Writes the texts of all transactions, one after the other. */
  const writeAll = async (
    transactions: Iterable<PooledTransaction>,
    toText: (transaction: Transaction, sender: Address, isFirst: boolean) => string,
  ): Promise<string> => {
    const texts: string[] = []
    for (const { raw, sender } of transactions) {
      await pause?.()
      const text = toText(decodeTransaction(raw), sender, texts.length === 0)
      bytes += text.length
      if (bytes > maxBytes) throw responseTooLarge()
      texts.push(text)
    }
    return texts.join('')
  }
  const entry = (transaction: Transaction, sender: Address): string =>
    `"${transaction.nonce}":${JSON.stringify(write(transaction, sender))}`
  return {
    list: async (transactions) => {
      const items = await writeAll(
        transactions,
        (transaction, sender, isFirst) => `${isFirst ? '' : ','}${JSON.stringify(write(transaction, sender))}`,
      )
      return `[${items}]`
    },
    byNonce: async (transactions) => {
      const entries = await writeAll(
        transactions,
        (transaction, sender, isFirst) => `${isFirst ? '' : ','}${entry(transaction, sender)}`,
      )
      return `{${entries}}`
    },
    bySender: async (transactions) => {
      let last: Address | undefined
      const entries = await writeAll(transactions, (transaction, sender) => {
        if (last !== undefined && equalBytes(last, sender)) return `,${entry(transaction, sender)}`
        const end = last === undefined ? '' : '},'
        last = sender
        return `${end}"${toChecksumAddress(sender)}":{${entry(transaction, sender)}`
      })
      return last === undefined ? '{}' : `{${entries}}}`
    },
  }
}
