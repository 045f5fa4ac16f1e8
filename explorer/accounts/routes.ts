import { z } from 'zod'
import { toBech32, toChecksumAddress } from '../../src/primitives/address.ts'
import type { Api } from '../api/api.ts'
import { placePageQuery, textPageOf } from '../api/shapes.ts'
import { spelledAddress } from '../api/spelledAddress.ts'
import { viewAmount } from '../api/views.ts'
import { listMovements } from './queries.ts'
import { account, movement } from './shapes.ts'

/** Transactions of an account that are counted; an account with more shows none. */
const MAX_COUNTED = 10_000

/** Accounts. An unused address is an account, too. */
export function addAddresses(app: Api['app'], { queries }: Pick<Api, 'queries'>): void {
  const tags = ['addresses']
  const params = z.object({ address: spelledAddress.describe('0x… or coin1…') })

  app.get(
    '/addresses/:address',
    { schema: { tags, summary: 'An account', params, response: { 200: account } } },
    async ({ params: { address } }) => {
      const balance = await queries
        .selectFrom('coin_balance')
        .select('amount')
        .where('address', '=', address)
        .executeTakeFirst()
      const { count } = await queries
        .selectFrom(
          queries
            .selectFrom('account_tx')
            .select('position')
            .where('address', '=', address)
            .limit(MAX_COUNTED + 1)
            .as('own'),
        )
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .executeTakeFirstOrThrow()
      const [contract, log] = await Promise.all([
        queries.selectFrom('contract').select('position').where('address', '=', address).executeTakeFirst(),
        queries.selectFrom('log').select('position').where('address', '=', address).limit(1).executeTakeFirst(),
      ])
      return {
        address: toChecksumAddress(address),
        bech32: toBech32(address),
        balance: balance === undefined ? '0' : viewAmount(balance.amount),
        transactions: Number(count) > MAX_COUNTED ? null : Number(count),
        isContract: contract !== undefined || log !== undefined,
      }
    },
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
