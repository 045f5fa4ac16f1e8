import type { Kysely, Selectable } from 'kysely'
import { toChecksumAddress } from '../../src/primitives/address.ts'
import { bytesToHex } from '../../src/primitives/bytes.ts'
import {
  mergePlaced,
  newestRows,
  type PageRows,
  placePage,
  type TextPage,
  type TextPageRequest,
} from '../api/cursors.ts'
import { viewAmount } from '../api/views.ts'
import { beginPosition, endPosition, heightOf } from '../database/position.ts'
import type { Tables } from '../database/schema.ts'
import type { Movement } from './shapes.ts'
import { MOVEMENT_KINDS } from './tables.ts'

/* Coins that moved, from the newest movement to the oldest. */

type Queries = Kysely<Tables>

/** Movements of an account, or those by modules at the start and end of a block. */
export type MovementFilter = { readonly account: Uint8Array } | { readonly height: number }

/** Coins that moved, from the newest to the oldest. */
export async function listMovements(
  queries: Queries,
  filter: MovementFilter,
  shown: TextPageRequest,
): Promise<TextPage<ReturnType<typeof viewMovement>>> {
  const part = newestRows(queries, 'coin_movement', shown)
  const read = (own: PageRows<'coin_movement'>): Promise<MovementRow[]> =>
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
    return placePage(await read(part.where('position', 'in', places)), shown.limit, viewMovement)
  }
  // Two walks along two indexes, put together: an `or` of both columns would read all of either.
  const found = await Promise.all(
    (['sender', 'recipient'] as const).map((side) => read(part.where(side, '=', filter.account))),
  )
  // What an account gave itself is in both.
  return placePage(mergePlaced(found), shown.limit, viewMovement)
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

const KIND_NAMES = Object.fromEntries(Object.entries(MOVEMENT_KINDS).map(([name, kind]) => [kind, name])) as Readonly<
  Record<number, Movement['kind']>
>

export type MovementRow = Selectable<Tables['coin_movement']> & { readonly hash: Uint8Array | null }

export function viewMovement(row: MovementRow): Movement {
  return {
    height: heightOf(row.position),
    transaction: row.hash === null ? null : bytesToHex(row.hash),
    kind: KIND_NAMES[row.kind]!,
    from: row.sender === null ? null : toChecksumAddress(row.sender),
    to: row.recipient === null ? null : toChecksumAddress(row.recipient),
    amount: viewAmount(row.amount),
  }
}
