import { z } from 'zod'
import type { Api } from '../api/api.ts'
import { numberPageOf } from '../api/shapes.ts'
import { listPeriods } from './queries.ts'
import { period } from './shapes.ts'

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
        response: { 200: numberPageOf(period) },
      },
    },
    ({ query: { unit, ...page } }) => listPeriods(queries, unit, page),
  )
}
