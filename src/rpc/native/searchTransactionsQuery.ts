import { PageRequest, PageResponse } from '../../modules/pagination.ts'
import { Tx } from '../../modules/tx/txTypes.ts'
import { enumeration, message, repeated, string, uint64 } from '../../primitives/protoSchema.ts'
import { EventQueryError, parseEventQuery } from '../events/eventQuery.ts'
import { findTransactions } from '../events/findTransactions.ts'
import { SearchError } from '../events/search.ts'
import { pauseUntilDeadline } from './deadline.ts'
import { TxResponse } from './messages/txMessages.ts'
import { defineQuery, type NativeQuery, type QueryContext } from './query.ts'
import { GRPC_CODES, invalidArgument, QueryError } from './queryError.ts'
import { showTransaction } from './txResponse.ts'

const ORDER_BY = { ORDER_BY_UNSPECIFIED: 0, ORDER_BY_ASC: 1, ORDER_BY_DESC: 2 } as const
/** As CometBFT's tx_search. */
const MAX_LIMIT = 100n

/**
 * Transactions by their events (x/auth/tx/service.go, GetTxsEvent): by `query`, or by `events` of older clients, which all have to
 * be met.
 */
export const searchTransactionsQuery: NativeQuery = defineQuery({
  service: 'cosmos.tx.v1beta1.Service',
  name: 'GetTxsEvent',
  get: ['/cosmos/tx/v1beta1/txs'],
  queue: 'heavy',
  request: {
    events: repeated(string(1)),
    pagination: message(2, PageRequest),
    orderBy: enumeration(3, ORDER_BY),
    page: uint64(4),
    limit: uint64(5),
    query: string(6),
  },
  response: {
    txs: repeated(message(1, Tx)),
    txResponses: repeated(message(2, TxResponse)),
    pagination: message(3, PageResponse),
    total: uint64(4),
  },
  run: async (context, { events, query, orderBy, ...paging }) => {
    const text = query === '' ? events.join(' AND ') : query
    if (text === '') throw invalidArgument('query cannot be empty')
    const { page, limit } = readPage(paging)
    const found = await search(context, text)
    const ordered = orderBy === ORDER_BY.ORDER_BY_DESC ? found.toReversed() : found
    const start = (page - 1n) * limit
    const onPage = start < ordered.length ? ordered.slice(Number(start), Number(start + limit)) : []
    const shown = onPage.flatMap((place) => showTransaction(context.chain, place) ?? [])
    return {
      txs: shown.map(({ tx }) => tx),
      txResponses: shown.map(({ response }) => response),
      pagination: undefined,
      total: BigInt(found.length),
    }
  },
})

async function search({ chain, rpc }: QueryContext, text: string) {
  try {
    return await findTransactions(chain, parseEventQuery(text), { pause: pauseUntilDeadline(rpc) })
  } catch (error) {
    if (error instanceof EventQueryError) throw invalidArgument(error.message)
    if (error instanceof SearchError) throw new QueryError(GRPC_CODES.resourceExhausted, error.message)
    throw error
  }
}

/** Older clients have the page in `pagination`. */
function readPage(asked: {
  readonly page: bigint
  readonly limit: bigint
  readonly pagination: PageRequest | undefined
}): { readonly page: bigint; readonly limit: bigint } {
  const { offset = 0n, limit: oldLimit = 0n } = asked.pagination ?? {}
  const wanted = asked.limit === 0n ? oldLimit : asked.limit
  const limit = wanted === 0n || wanted > MAX_LIMIT ? MAX_LIMIT : wanted
  const page = asked.page === 0n ? offset / limit + 1n : asked.page
  return { page, limit }
}
