import { z } from 'zod'
import { hexToBytes } from '../../src/primitives/bytes.ts'
import { movementsAt } from '../accounts/queries.ts'
import type { Api } from '../api/api.ts'
import { numberPageOf, numberPageQuery, problem } from '../api/shapes.ts'
import { spelledAddress } from '../api/spelledAddress.ts'
import { runOf } from '../contracts/queries.ts'
import { listTokenTransfers } from '../tokens/queries.ts'
import { findTransaction, listTransactions, viewTransaction } from './queries.ts'
import { transaction, transactionDetail } from './shapes.ts'

/** Transfers of tokens that a transaction is shown with. */
const MAX_TRANSFERS = 100

/** Transactions of both kinds. */
export function addTransactions(app: Api['app'], { queries }: Pick<Api, 'queries'>): void {
  const tags = ['transactions']

  app.get(
    '/transactions',
    {
      schema: {
        tags,
        summary: 'Transactions, newest first',
        querystring: numberPageQuery,
        response: { 200: numberPageOf(transaction) },
      },
    },
    ({ query }) => listTransactions(queries, {}, query),
  )

  app.get(
    '/transactions/:hash',
    {
      schema: {
        tags,
        summary: 'A transaction with its details, coin movements and token transfers',
        params: z.object({ hash: z.string().regex(/^(0x)?[0-9a-fA-F]{64}$/) }),
        response: { 200: transactionDetail, 404: problem },
      },
    },
    async ({ params: { hash } }, reply) => {
      const row = await findTransaction(queries, hexToBytes(hash.startsWith('0x') ? hash : `0x${hash}`))
      if (row === undefined) return reply.code(404).send({ error: 'no such transaction in the index' })
      const detail = JSON.parse(row.detail) as Record<string, unknown>
      const [movements, transfers, run] = await Promise.all([
        movementsAt(queries, row.position),
        listTokenTransfers(queries, { position: row.position }, { limit: MAX_TRANSFERS }),
        runOf(queries, row.position),
      ])
      return {
        ...viewTransaction(row),
        detail,
        movements,
        tokenTransfers: transfers.items.toReversed(),
        hasMoreTokenTransfers: transfers.next !== null,
        ...run,
      }
    },
  )

  app.get(
    '/addresses/:address/transactions',
    {
      schema: {
        tags: ['addresses'],
        summary: 'Transactions of an account',
        params: z.object({ address: spelledAddress.describe('0x… or coin1…') }),
        querystring: numberPageQuery,
        response: { 200: numberPageOf(transaction) },
      },
    },
    ({ params: { address }, query }) => listTransactions(queries, { address }, query),
  )
}
