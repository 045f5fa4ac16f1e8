import { type Kysely, sql } from 'kysely'
import { bytesToHex } from '../../src/primitives/bytes.ts'
import { heightOf } from '../database/position.ts'
import type { Tables } from '../database/schema.ts'
import { FIRST_UNTRACED, TRACE_STATES } from './tables.ts'

/* Which part of the internal calls is not known: a list that may lack calls says so, instead of looking complete. */

type Queries = Kysely<Tables>
export type UntracedState = 'notKept' | 'refused' | 'unsupported'

/** A transaction whose calls are not known. */
export interface Untraced {
  readonly height: number
  /** hash, 0x… */
  readonly transaction: string
  readonly trace: UntracedState
}

const STATE_NAMES: Readonly<Record<number, UntracedState>> = {
  [TRACE_STATES.notKept]: 'notKept',
  [TRACE_STATES.refused]: 'refused',
  [TRACE_STATES.unsupported]: 'unsupported',
}

/**
 * The first or the newest transaction between two positions, both included, whose calls are not known. It is one step along an index.
 * @returns undefined when the calls of all of them are known
 */
export async function findUntraced(
  queries: Queries,
  { from, to }: { readonly from: number; readonly to: number },
  direction: 'asc' | 'desc',
): Promise<Untraced | undefined> {
  const row = await queries
    .selectFrom('tx_run')
    .select(['position', 'trace'])
    // A literal: the index has these rows alone.
    .where('trace', '>=', sql.lit(FIRST_UNTRACED))
    .where('position', '>=', from)
    .where('position', '<=', to)
    .orderBy('position', direction)
    .limit(1)
    .executeTakeFirst()
  if (row === undefined) return undefined
  const { hash } = await queries
    .selectFrom('tx')
    .select('hash')
    .where('position', '=', row.position)
    .executeTakeFirstOrThrow()
  return { height: heightOf(row.position), transaction: bytesToHex(hash), trace: STATE_NAMES[row.trace!]! }
}

/** The first block of the index; 0 when the index has all of the chain, or no block yet. */
export async function firstIndexedHeight(queries: Queries): Promise<number> {
  const row = await queries.selectFrom('ingest').select('first_height').executeTakeFirst()
  // Block 0 is the genesis, which has no transactions.
  return row === undefined || row.first_height <= 1 ? 0 : row.first_height
}
