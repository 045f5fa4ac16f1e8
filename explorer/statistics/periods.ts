import type { Selectable } from 'kysely'
import type { z } from 'zod'
import { viewTime } from '../api/views.ts'
import { bytesToAmount } from '../database/amount.ts'
import type { Tables } from '../database/schema.ts'
import type { period } from './shapes.ts'

type HourRow = Selectable<Tables['statistics_hour']>

export const HOUR_MS = 3_600_000
export const HOURS_A_DAY = 24

/** Hours by the unit of `size` hours that they are in, in the order of the rows. */
export function byUnit(rows: readonly HourRow[], size: number): readonly (readonly [number, readonly HourRow[]])[] {
  return [...Map.groupBy(rows, ({ hour }) => Math.floor(hour / size))]
}

/** The numbers of some hours together. */
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
