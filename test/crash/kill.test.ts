import { expect, it } from 'vitest'
import { killNode } from './killNode.ts'

it('loses nothing that a client was shown, however often it is killed', { timeout: 600_000 }, async () => {
  const report = await killNode({
    kills: 14,
    seed: 8,
    environment: { PRUNING: '40', RPC_THREADS: '1', VIEW_THREADS: '1' },
    atLeast: { blocks: 20, receipts: 50, natives: 10 },
  })
  expect(report.problems).toEqual([])
  // Some kills hit a node that was still starting.
  const startKills = report.restarts.filter(({ phase }) => phase === 'start')
  expect(startKills).not.toEqual([])
  expect(report.restarts).toHaveLength(14 - startKills.length)
  expect(report.signedMessages).toBeGreaterThanOrEqual(3 * report.blocks)
})
