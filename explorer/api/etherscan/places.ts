import type { Expression, ExpressionBuilder, Kysely, SqlBool, StringReference } from 'kysely'
import { beginPosition, endPosition } from '../../database/position.ts'
import type { Tables } from '../../database/schema.ts'
import type { HeightRange } from './parameters.ts'
import type { Bounds } from './walk.ts'

/* Parts of queries along positions. */

/** All places of these blocks. */
export function boundsOf({ from, to }: HeightRange): Bounds {
  return {
    after: { position: beginPosition(from) - 1, ordinal: Number.MAX_SAFE_INTEGER },
    before: { position: endPosition(to) + 1, ordinal: -1 },
  }
}

/** Rows between two places, by the columns of position and ordinal: an index that goes on with them finds both ends. */
export function between<DB, TB extends keyof DB>(
  where: ExpressionBuilder<DB, TB>,
  [position, ordinal]: readonly [StringReference<DB, TB>, StringReference<DB, TB>],
  { after, before }: Bounds,
): Expression<SqlBool> {
  const place = where.refTuple(position, ordinal)
  // biome-ignore lint/suspicious/noExplicitAny: kysely knows the types of the two columns only where they are written out
  const tupleOf = (at: Bounds['after']): any => where.tuple(at.position, at.ordinal)
  return where.and([where(place, '>', tupleOf(after)), where(place, '<', tupleOf(before))])
}

/** Height of the index; -1 before there is a block. */
export async function newestHeight(queries: Kysely<Tables>): Promise<number> {
  const row = await queries.selectFrom('ingest').select('height').executeTakeFirst()
  return row?.height ?? -1
}
