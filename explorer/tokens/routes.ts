import { z } from 'zod'
import type { Api } from '../api/api.ts'
import { problem, textPageOf, textPageQuery } from '../api/shapes.ts'
import { spelledAddress } from '../api/spelledAddress.ts'
import { findToken, listHolders, listHoldings, listTokens, listTokenTransfers } from './queries.ts'
import { token, tokenHolder, tokenHolding, tokenTransfer } from './shapes.ts'

/** Tokens, their transfers and holders. */
export function addTokens(app: Api['app'], { queries }: Pick<Api, 'queries'>): void {
  const tags = ['tokens']
  const params = z.object({ address: spelledAddress.describe('0x… or coin1…') })

  app.get(
    '/tokens',
    {
      schema: {
        tags,
        summary: 'Tokens, by number of holders, highest first',
        querystring: textPageQuery,
        response: { 200: textPageOf(token) },
      },
    },
    ({ query }) => listTokens(queries, query),
  )

  app.get(
    '/tokens/:address',
    { schema: { tags, summary: 'A token', params, response: { 200: token, 404: problem } } },
    async ({ params: { address } }, reply) =>
      (await findToken(queries, address)) ?? reply.code(404).send({ error: 'no such token in the index' }),
  )

  app.get(
    '/tokens/:address/transfers',
    {
      schema: {
        tags,
        summary: 'Transfers of a token, newest first',
        params,
        querystring: textPageQuery,
        response: { 200: textPageOf(tokenTransfer) },
      },
    },
    ({ params: { address }, query }) => listTokenTransfers(queries, { token: address }, query),
  )

  app.get(
    '/tokens/:address/holders',
    {
      schema: {
        tags,
        summary: 'Holders of a token, by balance, highest first',
        params,
        querystring: textPageQuery,
        response: { 200: textPageOf(tokenHolder) },
      },
    },
    ({ params: { address }, query }) => listHolders(queries, address, query),
  )

  app.get(
    '/addresses/:address/tokens',
    {
      schema: {
        tags,
        summary: 'Token balances of an account',
        params,
        querystring: textPageQuery,
        response: { 200: textPageOf(tokenHolding) },
      },
    },
    ({ params: { address }, query }) => listHoldings(queries, address, query),
  )

  app.get(
    '/addresses/:address/token-transfers',
    {
      schema: {
        tags,
        summary: 'Token transfers of an account',
        params,
        querystring: textPageQuery,
        response: { 200: textPageOf(tokenTransfer) },
      },
    },
    ({ params: { address }, query }) => listTokenTransfers(queries, { account: address }, query),
  )
}
