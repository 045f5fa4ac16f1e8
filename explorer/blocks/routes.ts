import { z } from 'zod'
import { listMovements } from '../accounts/queries.ts'
import { movement } from '../accounts/shapes.ts'
import type { Api } from '../api/api.ts'
import { numberPageOf, numberPageQuery, placePageQuery, problem, textPageOf } from '../api/shapes.ts'
import { listTransactions } from '../transactions/queries.ts'
import { transaction } from '../transactions/shapes.ts'
import { findBlock, listBlocks, viewBlock } from './queries.ts'
import { block } from './shapes.ts'

/** Blocks by height or hash of either header. */
export function addBlocks(app: Api['app'], { queries }: Pick<Api, 'queries'>): void {
  const tags = ['blocks']

  app.get(
    '/blocks',
    {
      schema: {
        tags,
        summary: 'Blocks, newest first',
        querystring: numberPageQuery,
        response: { 200: numberPageOf(block) },
      },
    },
    ({ query }) => listBlocks(queries, {}, query),
  )

  const params = z.object({
    id: z
      .string()
      .regex(/^([0-9]{1,15}|0x[0-9a-fA-F]{64})$/)
      .describe('height, or hash of either header'),
  })

  app.get(
    '/blocks/:id',
    { schema: { tags, summary: 'A block', params, response: { 200: block, 404: problem } } },
    async ({ params: { id } }, reply) => {
      const row = await findBlock(queries, id)
      return row === undefined ? reply.code(404).send({ error: 'no such block in the index' }) : viewBlock(row)
    },
  )

  app.get(
    '/blocks/:id/transactions',
    {
      schema: {
        tags,
        summary: 'Transactions of a block',
        params,
        querystring: numberPageQuery,
        response: { 200: numberPageOf(transaction), 404: problem },
      },
    },
    async ({ params: { id }, query }, reply) => {
      const row = await findBlock(queries, id)
      if (row === undefined) return reply.code(404).send({ error: 'no such block in the index' })
      return listTransactions(queries, { height: row.height }, query)
    },
  )

  app.get(
    '/blocks/:id/movements',
    {
      schema: {
        tags,
        summary: 'Coins that modules moved at the start and end of a block',
        params,
        querystring: placePageQuery,
        response: { 200: textPageOf(movement), 404: problem },
      },
    },
    async ({ params: { id }, query }, reply) => {
      const row = await findBlock(queries, id)
      if (row === undefined) return reply.code(404).send({ error: 'no such block in the index' })
      return listMovements(queries, { height: row.height }, query)
    },
  )
}
