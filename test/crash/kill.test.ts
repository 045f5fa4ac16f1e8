import { expect, it } from 'vitest'
import { runs } from '../propertyRuns.ts'
import { killNode } from './killNode.ts'

/** Including the one that hits a start, the third; `npm run test:crash` kills as often as one likes. */
const KILLS = runs(4)

it('loses nothing that a client was shown, however often it is killed', { timeout: 600_000 }, async () => {
  const report = await killNode({
    kills: KILLS,
    seed: 8,
    environment: { PRUNING: '40', RPC_THREADS: '1', VIEW_THREADS: '1' },
    atLeast: { blocks: 20, receipts: 50, natives: 10 },
  })
  expect(report.problems).toEqual([])
  // Some kills hit a node that was still starting.
  const startKills = report.restarts.filter(({ phase }) => phase === 'start')
  expect(startKills).not.toEqual([])
  expect(report.restarts).toHaveLength(KILLS - startKills.length)
  expect(report.signedMessages).toBeGreaterThanOrEqual(3 * report.blocks)
})
