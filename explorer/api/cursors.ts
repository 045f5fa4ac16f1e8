import type { Kysely, Selectable, SelectQueryBuilder } from 'kysely'
import { hexToBytes } from '../../src/primitives/bytes.ts'
import type { TableName, Tables } from '../database/schema.ts'

/*
 * A cursor says where a page of a list ends and the next one starts: `next` of a page, which a client sends as `before`. There are two:
 * a number (a height, a position, an ID), where one number identifies a row; and a text of two parts, `position.ordinal` or
 * `number.address`, for the other lists.
 */

/** The page of a list with text cursors that a client asks for. */
export interface TextPageRequest {
  readonly limit: number
  /** `number.number` or `number.address` of the last row before this page */
  readonly before?: string | undefined
}

/** The page of a list with number cursors that a client asks for. */
export interface NumberPageRequest {
  readonly limit: number
  /** the number of the last row before this page */
  readonly before?: number | undefined
}

/** A page of a list with number cursors. */
export interface NumberPage<T> {
  readonly items: T[]
  /** `before` of the next page; null: this is the last page */
  readonly next: number | null
}

/**
 * The rows of one table that a page shows, with their limit. What is known of them in other tables is joined to these rows, as a query of
 * its own: PostgreSQL may otherwise read another table from its end, until it comes to the rows of a page that is far behind.
 */
export type PageRows<T extends TableName> = SelectQueryBuilder<Tables, T, Selectable<Tables[T]>>

/** Where a row is in the chain. */
export interface Placed {
  readonly position: number
  readonly ordinal: number
}

export type PlacedTable = { [T in TableName]: Selectable<Tables[T]> extends Placed ? T : never }[TableName]

/** Selects the rows of a page, the newest first, and one more where there are more. The query may be narrowed further. */
export function newestRows<T extends PlacedTable>(
  queries: Kysely<Tables>,
  table: T,
  { limit, before }: TextPageRequest,
): PageRows<T> {
  const [position, ordinal] = readPlaceCursor(before)
  // Kysely knows the columns of one table, not those that several have: `log` stands for all of them.
  const part: PageRows<'log'> = queries
    .selectFrom(table as 'log')
    .selectAll()
    .where(({ eb, refTuple, tuple }) => eb(refTuple('position', 'ordinal'), '<', tuple(position, ordinal)))
    .orderBy('position', 'desc')
    .orderBy('ordinal', 'desc')
    .limit(limit + 1)
  return part as unknown as PageRows<T>
}

/** A page of a list with text cursors. */
export interface TextPage<T> {
  readonly items: T[]
  /** `before` of the next page; null: this is the last page */
  readonly next: string | null
}

/** Above every address. */
const AFTER_ADDRESSES = new Uint8Array(21).fill(0xff)

/** Reads `number.address`; without a cursor, both are above those of all rows. */
export function readAddressCursor(before: string | undefined): readonly [bigint | undefined, Uint8Array] {
  if (before === undefined) return [undefined, AFTER_ADDRESSES]
  const [number, address] = before.split('.') as [string, string]
  const value = BigInt(number)
  // A larger number than any amount stands for the largest.
  const bounded = value < 2n ** 256n ? value : 2n ** 256n - 1n
  return [bounded, address.startsWith('0x') ? hexToBytes(address) : AFTER_ADDRESSES]
}

/**
 * Makes a page of a list with cursors of either kind.
 * @param rows one more than `limit` when there is a next page
 * @param cursorOf the cursor of the page after this row
 */
export function cursorPage<R, T, C extends number | string>(
  rows: readonly R[],
  limit: number,
  view: (row: R) => T,
  cursorOf: (row: R) => C,
): { readonly items: T[]; readonly next: C | null } {
  return { items: rows.slice(0, limit).map(view), next: rows.length > limit ? cursorOf(rows[limit - 1]!) : null }
}

/** Reads `position.ordinal`; without a cursor, the place is behind those of all rows. */
export function readPlaceCursor(before: string | undefined): readonly [position: number, ordinal: number] {
  if (before === undefined) return [Number.MAX_SAFE_INTEGER, 0]
  // Neither database takes a larger number.
  const [position, ordinal] = before.split('.').map((text) => Math.min(Number(text), Number.MAX_SAFE_INTEGER))
  return [position!, ordinal!]
}

/** As {@link cursorPage}, for rows that are identified by their place in the chain. */
export function placePage<R extends Placed, T>(rows: readonly R[], limit: number, view: (row: R) => T): TextPage<T> {
  return cursorPage(rows, limit, view, ({ position, ordinal }) => `${position}.${ordinal}`)
}

/** Merges the rows of several lists, the newest first, each once. */
export function mergePlaced<R extends Placed>(lists: readonly (readonly R[])[]): R[] {
  const rows = new Map(lists.flat().map((row) => [`${row.position}.${row.ordinal}`, row]))
  return [...rows.values()].toSorted((a, b) => b.position - a.position || b.ordinal - a.ordinal)
}
