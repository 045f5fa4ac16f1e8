import { expect, it } from 'vitest'
import { killNode } from './killNode.ts'

it('loses nothing that a client was shown, however often it is killed', { timeout: 600_000 }, async () => {
  const report = await killNode({
    kills: 14,
    seed: 1,
    environment: { PRUNING: '40', RPC_THREADS: '1', VIEW_THREADS: '1' },
  })
  expect(report.problems).toEqual([])
  expect(report.restarts.length).toBeGreaterThan(10)
  expect(report.blocks).toBeGreaterThan(20)
  expect(report.receipts).toBeGreaterThan(50)
  expect(report.natives).toBeGreaterThan(10)
  expect(report.signedMessages).toBeGreaterThanOrEqual(3 * report.blocks)
})
