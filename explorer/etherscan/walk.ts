import { setImmediate } from 'node:timers/promises'
import type { Placed } from '../api/cursors.ts'
import { tooMuch } from './action.ts'
import type { ListPart } from './parameters.ts'

/** Rows that are read for one page, also those that the filter leaves out. */
export const MAX_READ = 50_000
const READ_AT_ONCE = 1_000

/** Places that a walk is between, both excluded. */
export interface Bounds {
  readonly after: Placed
  readonly before: Placed
}

/** Below 0: `a` is before `b`. */
export function comparePlaces(a: Placed, b: Placed): number {
  return a.position - b.position || a.ordinal - b.ordinal
}

/** Reads at most `limit` rows of a list between two places, in the order of `direction`, fewer at its end: one walk along an index. */
export type ReadPart<R> = (bounds: Bounds, limit: number, direction: ListPart['direction']) => Promise<readonly R[]>

/**
 * A page of a list whose rows are read along an index and then filtered. Many rows that do not fit end the walk with an error, so that
 * no request reads a whole table.
 * @param heights both included
 * @throws RequestError when {@link MAX_READ} rows do not fill the page
 */
export async function walk<R extends Placed>(
  read: ReadPart<R>,
  bounds: Bounds,
  { skip, count, direction }: ListPart,
  fits: (row: R) => boolean = () => true,
): Promise<R[]> {
  const wanted = skip + count
  const found: R[] = []
  let left = MAX_READ
  let open = bounds
  while (found.length < wanted) {
    if (left === 0) throw tooMuch()
    const limit = Math.min(left, READ_AT_ONCE, Math.max(100, wanted - found.length))
    const rows = await read(open, limit, direction)
    for (const row of rows) if (fits(row)) found.push(row)
    if (rows.length < limit) break
    left -= rows.length
    const { position, ordinal } = rows.at(-1)!
    const last = { position, ordinal }
    open = direction === 'asc' ? { ...open, after: last } : { ...open, before: last }
    // SQLite's queries block this thread: other requests are served between the parts.
    await setImmediate()
  }
  return found.slice(skip, wanted)
}

/** The rows of several walks in one order, each once. */
export function merge<R extends Placed>(lists: readonly (readonly R[])[], { skip, count, direction }: ListPart): R[] {
  const rows = new Map(lists.flat().map((row) => [`${row.position}.${row.ordinal}`, row]))
  const sign = direction === 'asc' ? 1 : -1
  return [...rows.values()].toSorted((a, b) => sign * comparePlaces(a, b)).slice(skip, skip + count)
}
