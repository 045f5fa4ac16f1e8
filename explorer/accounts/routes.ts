import { z } from 'zod'
import type { Api } from '../api/api.ts'
import { placePageQuery, textPageOf } from '../api/shapes.ts'
import { spelledAddress } from '../api/spelledAddress.ts'
import { findAccount, listMovements } from './queries.ts'
import { account, movement } from './shapes.ts'

/** Accounts. */
export function addAddresses(app: Api['app'], { queries }: Pick<Api, 'queries'>): void {
  const tags = ['addresses']
  const params = z.object({ address: spelledAddress.describe('0x… or coin1…') })

  app.get(
    '/addresses/:address',
    { schema: { tags, summary: 'An account', params, response: { 200: account } } },
    ({ params: { address } }) => findAccount(queries, address),
  )

  app.get(
    '/addresses/:address/movements',
    {
      schema: {
        tags,
        summary: 'Coin movements of an account',
        params,
        querystring: placePageQuery,
        response: { 200: textPageOf(movement) },
      },
    },
    ({ params: { address }, query }) => listMovements(queries, { account: address }, query),
  )
}
