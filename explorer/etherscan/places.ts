import type { Kysely } from 'kysely'
import type { PageRows, PlacedTable } from '../api/cursors.ts'
import { beginPosition, endPosition } from '../database/position.ts'
import type { Tables } from '../database/schema.ts'
import type { HeightRange, ListPart } from './parameters.ts'
import type { Bounds } from './walk.ts'

/* Parts of queries along positions. */

/** All places of these blocks. */
export function boundsOf({ from, to }: HeightRange): Bounds {
  return {
    after: { position: beginPosition(from) - 1, ordinal: Number.MAX_SAFE_INTEGER },
    before: { position: endPosition(to) + 1, ordinal: -1 },
  }
}

/** Selects rows between two places, in their order. An index that ends with position and ordinal finds both. It may be narrowed further. */
export function partBetween<T extends PlacedTable>(
  queries: Kysely<Tables>,
  table: T,
  { after, before }: Bounds,
  limit: number,
  direction: ListPart['direction'],
): PageRows<T> {
  // Kysely knows the columns of one table, not those that several have: `log` stands for all of them.
  const part: PageRows<'log'> = queries
    .selectFrom(table as 'log')
    .selectAll()
    .where(({ eb, refTuple, tuple }) => eb(refTuple('position', 'ordinal'), '>', tuple(after.position, after.ordinal)))
    .where(({ eb, refTuple, tuple }) =>
      eb(refTuple('position', 'ordinal'), '<', tuple(before.position, before.ordinal)),
    )
    .orderBy('position', direction)
    .orderBy('ordinal', direction)
    .limit(limit)
  return part as unknown as PageRows<T>
}

/** Height of the index; -1 before there is a block. */
export async function newestHeight(queries: Kysely<Tables>): Promise<number> {
  const row = await queries.selectFrom('ingest').select('height').executeTakeFirst()
  return row?.height ?? -1
}
