import type { Kysely } from 'kysely'
import { mergePlaced, newestPart, type Part, type PartOf, placePageOf, type TextPage } from '../api/cursors.ts'
import { type MovementRow, type TransactionRow, viewMovement, viewTransaction } from '../api/views.ts'
import { beginPosition, endPosition, heightOf } from '../database/position.ts'
import type { Tables } from '../database/schema.ts'

/* Lists that several pages need, from the newest to the oldest. Each is one walk along an index, however long the list is. */

type Queries = Kysely<Tables>

/** A part of a list, and where the next one begins. */
export interface Page<T> {
  readonly items: T[]
  readonly next: number | null
}

const TX_COLUMNS = [
  'position',
  'hash',
  'kind',
  'is_ok',
  'sender',
  'recipient',
  'value',
  'fee',
  'gas_used',
  'gas_limit',
  'nonce',
  'method',
] as const

/** Which transactions: of all blocks, of one block, or of one account. */
export interface TransactionFilter {
  readonly height?: number
  readonly address?: Uint8Array
}

export async function listTransactions(
  queries: Queries,
  filter: TransactionFilter,
  { limit, before }: { readonly limit: number; readonly before?: number | undefined },
): Promise<Page<ReturnType<typeof viewTransaction>>> {
  const { height, address } = filter
  const end = before ?? (height === undefined ? Number.MAX_SAFE_INTEGER : endPosition(height))
  const start = height === undefined ? 0 : beginPosition(height)
  const positions =
    address === undefined
      ? undefined
      : await queries
          .selectFrom('account_tx')
          .select('position')
          .where('address', '=', address)
          .where('position', '<', end)
          .orderBy('position', 'desc')
          .limit(limit + 1)
          .execute()
  let select = queries.selectFrom('tx').select(TX_COLUMNS)
  if (positions === undefined) select = select.where('position', '<', end).where('position', '>=', start)
  else if (positions.length === 0) return { items: [], next: null }
  else
    select = select.where(
      'position',
      'in',
      positions.map(({ position }) => position),
    )
  const rows = await select
    .orderBy('position', 'desc')
    .limit(limit + 1)
    .execute()
  const items = await withTimes(queries, rows.slice(0, limit))
  return { items: items.map(viewTransaction), next: rows.length > limit ? rows[limit - 1]!.position : null }
}

/** Adds the times of their blocks. */
async function withTimes<T extends { readonly position: number }>(
  queries: Queries,
  rows: readonly T[],
): Promise<(T & { readonly time: number })[]> {
  const heights = [...new Set(rows.map(({ position }) => heightOf(position)))]
  if (heights.length === 0) return []
  const blocks = await queries.selectFrom('block').select(['height', 'time']).where('height', 'in', heights).execute()
  const times = new Map(blocks.map(({ height, time }) => [height, time]))
  return rows.map((row) => ({ ...row, time: times.get(heightOf(row.position))! }))
}

export async function findTransaction(
  queries: Queries,
  hash: Uint8Array,
): Promise<(TransactionRow & { readonly detail: string }) | undefined> {
  const row = await queries.selectFrom('tx').selectAll().where('hash', '=', hash).executeTakeFirst()
  return row === undefined ? undefined : (await withTimes(queries, [row]))[0]
}

/** Whose coins: of an account, or those that modules moved at the begin and the end of a block. */
export type MovementFilter = { readonly account: Uint8Array } | { readonly height: number }

/** Coins that moved, from the newest to the oldest. */
export async function listMovements(
  queries: Queries,
  filter: MovementFilter,
  shown: Part,
): Promise<TextPage<ReturnType<typeof viewMovement>>> {
  const part = newestPart(queries, 'coin_movement', shown)
  const read = (own: PartOf<'coin_movement'>): Promise<MovementRow[]> =>
    queries
      .selectFrom(own.as('coin_movement'))
      .leftJoin('tx', 'tx.position', 'coin_movement.position')
      .selectAll('coin_movement')
      .select('tx.hash')
      .orderBy('coin_movement.position', 'desc')
      .orderBy('ordinal', 'desc')
      .execute()
  if ('height' in filter) {
    const places = [beginPosition(filter.height), endPosition(filter.height)]
    return placePageOf(await read(part.where('position', 'in', places)), shown.limit, viewMovement)
  }
  // Two walks along two indexes, put together: an `or` of both columns would read all of either.
  const found = await Promise.all(
    (['sender', 'recipient'] as const).map((side) => read(part.where(side, '=', filter.account))),
  )
  // What an account gave itself is in both.
  return placePageOf(mergePlaced(found), shown.limit, viewMovement)
}

/** Coins that the transaction at this position moved, in their order. */
export async function movementsAt(queries: Queries, position: number): Promise<ReturnType<typeof viewMovement>[]> {
  const rows: MovementRow[] = await queries
    .selectFrom('coin_movement')
    .leftJoin('tx', 'tx.position', 'coin_movement.position')
    .selectAll('coin_movement')
    .select('tx.hash')
    .where('coin_movement.position', '=', position)
    .orderBy('ordinal')
    .execute()
  return rows.map(viewMovement)
}
