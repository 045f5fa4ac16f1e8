import type { Selectable } from 'kysely'
import { z } from 'zod'
import { bytesToAmount } from '../../database/amount.ts'
import type { Tables } from '../../database/schema.ts'
import type { Api } from '../api.ts'
import { period } from '../shapes.ts'
import { viewTime } from '../views.ts'

const HOUR_MS = 3_600_000
/** Hours in a unit. */
const UNITS = { hour: 1, day: 24 } as const

/** Numbers of the chain by hour and day of UTC. */
export function addStatistics(app: Api['app'], { queries }: Pick<Api, 'queries'>): void {
  app.get(
    '/statistics',
    {
      schema: {
        tags: ['network'],
        summary: 'Numbers of the chain by hour or day of UTC, the newest first; the first one is not over yet',
        querystring: z.object({
          unit: z.enum(['hour', 'day']).default('hour'),
          limit: z.coerce.number().int().min(1).max(100).default(48).describe('how many; one without blocks has none'),
          before: z.coerce.number().int().min(0).max(1e9).optional().describe('`next` of the page before this one'),
        }),
        response: {
          200: z.object({
            items: z.array(period),
            next: z.int().nullable().describe('`before` of the next page; null: there is none'),
          }),
        },
      },
    },
    async ({ query: { unit, limit, before } }) => {
      const size = UNITS[unit]
      let select = queries
        .selectFrom('statistics_hour')
        .selectAll()
        .orderBy('hour', 'desc')
        // The oldest unit of this page may have all its hours, and one more row says whether there is a next page.
        .limit(limit * size + 1)
      if (before !== undefined) select = select.where('hour', '<', before * size)
      const rows = await select.execute()
      const units = [...Map.groupBy(rows, ({ hour }) => Math.floor(hour / size))]
      const shown = units.slice(0, limit)
      return {
        items: shown.map(([number, own]) => sumOf(number * size * HOUR_MS, own)),
        next: units.length > limit ? shown.at(-1)![0] : null,
      }
    },
  )
}

function sumOf(startMs: number, rows: readonly Selectable<Tables['statistics_hour']>[]): z.infer<typeof period> {
  type Row = (typeof rows)[number]
  const sum = (of: (row: Row) => number): number => rows.reduce((total, row) => total + of(row), 0)
  const amount = (of: (row: Row) => Uint8Array): string =>
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
