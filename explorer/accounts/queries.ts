import type { Kysely, Selectable } from 'kysely'
import { toBech32, toChecksumAddress } from '../../src/primitives/address.ts'
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
import type { Account, Movement } from './shapes.ts'
import { MOVEMENT_KINDS } from './tables.ts'

/* Accounts and their coin movements. */

type Queries = Kysely<Tables>

/** Transactions of an account that are counted; an account with more shows none. */
const MAX_COUNTED = 10_000

/** An account. An unused address is an account, too. */
export async function findAccount(queries: Queries, address: Uint8Array): Promise<Account> {
  const counted = queries
    .selectFrom('account_tx')
    .select('position')
    .where('address', '=', address)
    .limit(MAX_COUNTED + 1)
    .as('own')
  const [balance, { count }, contract, log] = await Promise.all([
    queries.selectFrom('coin_balance').select('amount').where('address', '=', address).executeTakeFirst(),
    queries
      .selectFrom(counted)
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow(),
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
}

/** Movements of an account, or those by modules at the start and end of a block. */
export type MovementFilter = { readonly account: Uint8Array } | { readonly height: number }

/** Lists coin movements, the newest first. */
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
  // Two walks along two indexes, merged: an `or` of both columns would read either index in full.
  const found = await Promise.all(
    (['sender', 'recipient'] as const).map((side) => read(part.where(side, '=', filter.account))),
  )
  // A movement from an account to itself is in both.
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

type MovementRow = Selectable<Tables['coin_movement']> & { readonly hash: Uint8Array | null }

function viewMovement(row: MovementRow): Movement {
  return {
    height: heightOf(row.position),
    transaction: row.hash === null ? null : bytesToHex(row.hash),
    kind: KIND_NAMES[row.kind]!,
    from: row.sender === null ? null : toChecksumAddress(row.sender),
    to: row.recipient === null ? null : toChecksumAddress(row.recipient),
    amount: viewAmount(row.amount),
  }
}
