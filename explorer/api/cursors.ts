import type { Kysely, Selectable, SelectQueryBuilder } from 'kysely'
import { hexToBytes } from '../../src/primitives/bytes.ts'
import type { TableName, Tables } from '../database/schema.ts'

/* Where a page of a list ends and the next one begins, for lists whose rows need more than one number to be told apart. */

/** Which part of a list. */
export interface Part {
  readonly limit: number
  /** `number.number` or `number.address` of the last row before this part */
  readonly before?: string | undefined
}

/** A part of a list, and where the next one begins. */
export interface Page<T> {
  readonly items: T[]
  readonly next: number | null
}

/**
 * The rows of one table that a page shows, with their limit. What is known of them in other tables is joined to these rows, as a query of
 * its own: PostgreSQL may otherwise read another table from its end, until it comes to the rows of a page that is far behind.
 */
export type PartOf<T extends TableName> = SelectQueryBuilder<Tables, T, Selectable<Tables[T]>>

/** Where a row is in the chain. */
export interface Placed {
  readonly position: number
  readonly ordinal: number
}

export type PlacedTable = { [T in TableName]: Selectable<Tables[T]> extends Placed ? T : never }[TableName]

/** The part of such a table, the newest first, with one row more than is shown where there are more. It may be narrowed further. */
export function newestPart<T extends PlacedTable>(
  queries: Kysely<Tables>,
  table: T,
  { limit, before }: Part,
): PartOf<T> {
  const [position, ordinal] = placeOf(before)
  // Kysely knows the columns of one table, not those that several have: `log` stands for all of them.
  const part: PartOf<'log'> = queries
    .selectFrom(table as 'log')
    .selectAll()
    .where(({ eb, refTuple, tuple }) => eb(refTuple('position', 'ordinal'), '<', tuple(position, ordinal)))
    .orderBy('position', 'desc')
    .orderBy('ordinal', 'desc')
    .limit(limit + 1)
  return part as unknown as PartOf<T>
}

export interface TextPage<T> {
  readonly items: T[]
  /** `before` of the next part; null: there is none */
  readonly next: string | null
}

/** Above every address. */
const AFTER_ADDRESSES = new Uint8Array(21).fill(0xff)

/** The number and the address of a `before`; without one, what is above all. */
export function splitCursor(before: string | undefined): readonly [bigint | undefined, Uint8Array] {
  if (before === undefined) return [undefined, AFTER_ADDRESSES]
  const [number, address] = before.split('.') as [string, string]
  const value = BigInt(number)
  // A larger number than any amount stands for the largest.
  const bounded = value < 2n ** 256n ? value : 2n ** 256n - 1n
  return [bounded, address.startsWith('0x') ? hexToBytes(address) : AFTER_ADDRESSES]
}

/** @param rows one more than `limit` when there is a next part */
export function pageOf<R, T>(
  rows: readonly R[],
  limit: number,
  view: (row: R) => T,
  cursorOf: (row: R) => string,
): TextPage<T> {
  return { items: rows.slice(0, limit).map(view), next: rows.length > limit ? cursorOf(rows[limit - 1]!) : null }
}

/** The place of a `before`; without one, what is behind all. */
export function placeOf(before: string | undefined): readonly [position: number, ordinal: number] {
  if (before === undefined) return [Number.MAX_SAFE_INTEGER, 0]
  // Neither database takes more for a number than there can be.
  const [position, ordinal] = before.split('.').map((text) => Math.min(Number(text), Number.MAX_SAFE_INTEGER))
  return [position!, ordinal!]
}

/** As {@link pageOf}, of rows that are known by their place in the chain. */
export function placePageOf<R extends Placed, T>(rows: readonly R[], limit: number, view: (row: R) => T): TextPage<T> {
  return pageOf(rows, limit, view, ({ position, ordinal }) => `${position}.${ordinal}`)
}

/** The rows of several lists in one, the newest first, each once. */
export function mergePlaced<R extends Placed>(lists: readonly (readonly R[])[]): R[] {
  const rows = new Map(lists.flat().map((row) => [`${row.position}.${row.ordinal}`, row]))
  return [...rows.values()].toSorted((a, b) => b.position - a.position || b.ordinal - a.ordinal)
}
