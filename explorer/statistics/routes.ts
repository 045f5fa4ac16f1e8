import { z } from 'zod'
import type { Api } from '../api/api.ts'
import { byUnit, HOUR_MS, HOURS_A_DAY, sumHours } from './periods.ts'
import { period } from './shapes.ts'

/** Hours in a unit. */
const UNITS = { hour: 1, day: HOURS_A_DAY } as const

/** Numbers of the chain by hour and day of UTC. */
export function addStatistics(app: Api['app'], { queries }: Pick<Api, 'queries'>): void {
  app.get(
    '/statistics',
    {
      schema: {
        tags: ['network'],
        summary: 'Statistics of the chain per hour or day (UTC), newest first; the first period is still running',
        querystring: z.object({
          unit: z.enum(['hour', 'day']).default('hour'),
          limit: z.coerce
            .number()
            .int()
            .min(1)
            .max(100)
            .default(48)
            .describe('periods per page; a period without blocks is left out'),
          before: z.coerce.number().int().min(0).max(1e9).optional().describe('`next` of the previous page'),
        }),
        response: {
          200: z.object({
            items: z.array(period),
            next: z.int().nullable().describe('`before` of the next page; null: this is the last page'),
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
      const units = byUnit(rows, size)
      const shown = units.slice(0, limit)
      return {
        items: shown.map(([number, own]) => sumHours(number * size * HOUR_MS, own)),
        next: units.length > limit ? shown.at(-1)![0] : null,
      }
    },
  )
}
