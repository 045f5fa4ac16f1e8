import type { Kysely, Selectable } from 'kysely'
import { toChecksumAddress } from '../../src/primitives/address.ts'
import { bytesToHex } from '../../src/primitives/bytes.ts'
import { cursorPage, type NumberPage, type NumberPageRequest } from '../api/cursors.ts'
import { viewAmount, viewTime } from '../api/views.ts'
import { beginPosition, endPosition, heightOf, transactionIndexOf } from '../database/position.ts'
import type { Tables } from '../database/schema.ts'
import type { Transaction } from './shapes.ts'
import { TX_KINDS } from './tables.ts'

type Queries = Kysely<Tables>

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
  { limit, before }: NumberPageRequest,
): Promise<NumberPage<ReturnType<typeof viewTransaction>>> {
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
  const { items, next } = cursorPage(
    rows,
    limit,
    (row) => row,
    ({ position }) => position,
  )
  return { items: (await withTimes(queries, items)).map(viewTransaction), next }
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

export type TransactionRow = Omit<Selectable<Tables['tx']>, 'detail'> & { readonly time: number }

export function viewTransaction(row: TransactionRow): Transaction {
  return {
    hash: bytesToHex(row.hash),
    kind: row.kind === TX_KINDS.evm ? 'evm' : 'native',
    height: heightOf(row.position),
    index: transactionIndexOf(row.position)!,
    time: viewTime(row.time),
    isSuccessful: row.is_ok === 1,
    from: toChecksumAddress(row.sender),
    to: row.recipient === null ? null : toChecksumAddress(row.recipient),
    value: viewAmount(row.value),
    fee: viewAmount(row.fee),
    gasUsed: row.gas_used,
    gasLimit: row.gas_limit,
    nonce: row.nonce,
    method: row.method,
  }
}
