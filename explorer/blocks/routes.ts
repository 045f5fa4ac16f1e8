import { z } from 'zod'
import { hexToBytes } from '../../src/primitives/bytes.ts'
import type { Api } from '../api/api.ts'
import { block, movement, page, pageOf, problem, transaction } from '../api/shapes.ts'
import { viewBlock } from '../api/views.ts'
import { placePage } from '../contracts/shapes.ts'
import { tokenPageOf } from '../tokens/shapes.ts'
import { listMovements, listTransactions } from '../transactions/queries.ts'

/** Blocks by height or hash of either header. */
export function addBlocks(app: Api['app'], { queries }: Pick<Api, 'queries'>): void {
  const tags = ['blocks']

  app.get(
    '/blocks',
    { schema: { tags, summary: 'Blocks, newest first', querystring: page, response: { 200: pageOf(block) } } },
    async ({ query: { limit, before } }) => {
      let select = queries
        .selectFrom('block')
        .selectAll()
        .orderBy('height', 'desc')
        .limit(limit + 1)
      if (before !== undefined) select = select.where('height', '<', before)
      const rows = await select.execute()
      return { items: rows.slice(0, limit).map(viewBlock), next: rows.length > limit ? rows[limit - 1]!.height : null }
    },
  )

  const params = z.object({
    id: z
      .string()
      .regex(/^([0-9]{1,15}|0x[0-9a-fA-F]{64})$/)
      .describe('height, or hash of either header'),
  })

  const find = async (id: string) => {
    const select = queries.selectFrom('block').selectAll()
    if (!id.startsWith('0x')) return select.where('height', '=', Number(id)).executeTakeFirst()
    const hash = hexToBytes(id)
    return select
      .where((where) => where.or([where('hash', '=', hash), where('consensus_hash', '=', hash)]))
      .executeTakeFirst()
  }

  app.get(
    '/blocks/:id',
    { schema: { tags, summary: 'A block', params, response: { 200: block, 404: problem } } },
    async ({ params: { id } }, reply) => {
      const row = await find(id)
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
        querystring: page,
        response: { 200: pageOf(transaction), 404: problem },
      },
    },
    async ({ params: { id }, query }, reply) => {
      const row = await find(id)
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
        querystring: placePage,
        response: { 200: tokenPageOf(movement), 404: problem },
      },
    },
    async ({ params: { id }, query }, reply) => {
      const row = await find(id)
      if (row === undefined) return reply.code(404).send({ error: 'no such block in the index' })
      return listMovements(queries, { height: row.height }, query)
    },
  )
}
