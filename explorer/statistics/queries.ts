import type { Kysely, Selectable } from 'kysely'
import type { z } from 'zod'
import { cursorPage, type NumberPage, type NumberPageRequest } from '../api/cursors.ts'
import { viewTime } from '../api/views.ts'
import { bytesToAmount } from '../database/amount.ts'
import type { Tables } from '../database/schema.ts'
import type { period } from './shapes.ts'

type HourRow = Selectable<Tables['statistics_hour']>

export const HOUR_MS = 3_600_000
export const HOURS_A_DAY = 24

/** Hours in a unit. */
const UNITS = { hour: 1, day: HOURS_A_DAY } as const

/** Lists the periods of a unit that have blocks, the newest first. */
export async function listPeriods(
  queries: Kysely<Tables>,
  unit: keyof typeof UNITS,
  { limit, before }: NumberPageRequest,
): Promise<NumberPage<z.infer<typeof period>>> {
  const size = UNITS[unit]
  let select = queries
    .selectFrom('statistics_hour')
    .selectAll()
    .orderBy('hour', 'desc')
    // The oldest unit of this page may have all its hours, and one more row says whether there is a next page.
    .limit(limit * size + 1)
  if (before !== undefined) select = select.where('hour', '<', before * size)
  const view = ([number, own]: readonly [number, readonly HourRow[]]) => sumHours(number * size * HOUR_MS, own)
  return cursorPage(byUnit(await select.execute(), size), limit, view, ([number]) => number)
}

/** Groups hours into units of `size` hours, in the order of the rows. */
export function byUnit(rows: readonly HourRow[], size: number): readonly (readonly [number, readonly HourRow[]])[] {
  return [...Map.groupBy(rows, ({ hour }) => Math.floor(hour / size))]
}

/** Sums the numbers of these hours. */
export function sumHours(startMs: number, rows: readonly HourRow[]): z.infer<typeof period> {
  const sum = (of: (row: HourRow) => number): number => rows.reduce((total, row) => total + of(row), 0)
  const amount = (of: (row: HourRow) => Uint8Array): string =>
    rows.reduce((total, row) => total + bytesToAmount(of(row)), 0n).toString()
  return {
    start: viewTime(startMs),
    blocks: sum((row) => row.blocks),
    evmTransactions: sum((row) => row.evm_count),
    nativeTransactions: sum((row) => row.native_count),
    failed: sum((row) => row.failed_count),
    gasUsed: sum((row) => row.gas_used),
    fees: amount((row) => row.fees),
    moved: amount((row) => row.moved),
    newAccounts: sum((row) => row.new_accounts),
  }
}
