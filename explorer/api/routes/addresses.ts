import { z } from 'zod'
import { toBech32, toChecksumAddress } from '../../../src/primitives/address.ts'
import type { Api } from '../api.ts'
import { listTransactions } from '../queries.ts'
import { account, movement, page, pageOf, transaction } from '../shapes.ts'
import { spelledAddress } from '../spelledAddress.ts'
import { viewAmount, viewMovement } from '../views.ts'

/** Transactions of an account that are counted; an account with more shows none. */
const MAX_COUNTED = 10_000

/** Accounts: an address that nobody has used yet is one too. */
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
    '/addresses/:address/transactions',
    {
      schema: {
        tags,
        summary: 'Transactions that concern an account',
        params,
        querystring: page,
        response: { 200: pageOf(transaction) },
      },
    },
    ({ params: { address }, query }) => listTransactions(queries, { address }, query),
  )

  app.get(
    '/addresses/:address/movements',
    {
      schema: {
        tags,
        summary: 'Coins that an account gave or got',
        params,
        querystring: page,
        response: { 200: pageOf(movement) },
      },
    },
    async ({ params: { address }, query: { limit, before } }) => {
      // Two walks along two indexes, put together: an `or` of both columns would read all of either.
      const [given, got] = await Promise.all(
        (['sender', 'recipient'] as const).map((side) => {
          const select = queries.selectFrom('coin_movement').selectAll().where(side, '=', address)
          return (before === undefined ? select : select.where('position', '<', before))
            .orderBy('position', 'desc')
            .limit(limit + 1)
            .execute()
        }),
      )
      const rows = [
        ...given!,
        ...got!.filter(({ sender }) => sender === null || !Buffer.from(sender).equals(address)),
      ].toSorted((a, b) => b.position - a.position || a.ordinal - b.ordinal)
      // A page ends with a position, never within one.
      const last = rows[Math.min(limit, rows.length) - 1]?.position ?? 0
      const taken = rows.filter(({ position }) => position >= last)
      const hashes = new Map(
        taken.length === 0
          ? []
          : (
              await queries
                .selectFrom('tx')
                .select(['position', 'hash'])
                .where(
                  'position',
                  'in',
                  taken.map(({ position }) => position),
                )
                .execute()
            ).map(({ position, hash }): [number, Uint8Array] => [position, hash]),
      )
      return {
        items: taken.map((row) => viewMovement({ ...row, hash: hashes.get(row.position) ?? null })),
        next: rows.length > limit ? last : null,
      }
    },
  )
}
