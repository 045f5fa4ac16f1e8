import fc from 'fast-check'
import { expect, it } from 'vitest'
import { bytesToAmount } from '../../../../explorer/database/amount.ts'
import { migrate } from '../../../../explorer/database/migrate.ts'
import { beginPosition } from '../../../../explorer/database/position.ts'
import { openSqlite } from '../../../../explorer/database/sqlite.ts'
import { addStatistics } from '../../../../explorer/statistics/ingest.ts'

const HOUR_MS = 3_600_000

it('adds up to the same numbers in whatever batches the blocks come', async () => {
  const blocks = fc.array(
    fc.record({
      time: fc.integer({ min: 0, max: 5 * HOUR_MS }),
      evm: fc.nat(9),
      native: fc.nat(9),
      failed: fc.nat(9),
      gasUsed: fc.nat(1e9),
      fees: fc.bigInt({ min: 0n, max: 10n ** 30n }),
      moved: fc.bigInt({ min: 0n, max: 10n ** 30n }),
      accounts: fc.nat(3),
    }),
    { minLength: 1, maxLength: 20 },
  )
  await fc.assert(
    fc.asyncProperty(blocks, fc.integer({ min: 1, max: 20 }), async (all, batch) => {
      const database = openSqlite(':memory:')
      await migrate(database)
      for (let at = 0; at < all.length; at += batch) {
        const part = all.slice(at, at + batch).map((totals, index) => ({ height: 1 + at + index, totals }))
        const firsts = part.flatMap(({ height, totals }) => Array(totals.accounts).fill(beginPosition(height)))
        await database.write((writer) => addStatistics(writer, part, firsts))
      }
      const rows = await database.queries.selectFrom('statistics_hour').selectAll().orderBy('hour').execute()
      await database.close()
      const expected = [...Map.groupBy(all, ({ time }) => Math.floor(time / HOUR_MS))].toSorted(([a], [b]) => a - b)
      expect(
        rows.map(({ fees, moved, ...row }) => ({ ...row, fees: bytesToAmount(fees), moved: bytesToAmount(moved) })),
      ).toEqual(
        expected.map(([hour, own]) => ({
          hour,
          blocks: own.length,
          evm_count: own.reduce((sum, { evm }) => sum + evm, 0),
          native_count: own.reduce((sum, { native }) => sum + native, 0),
          failed_count: own.reduce((sum, { failed }) => sum + failed, 0),
          gas_used: own.reduce((sum, { gasUsed }) => sum + gasUsed, 0),
          fees: own.reduce((sum, { fees }) => sum + fees, 0n),
          moved: own.reduce((sum, { moved }) => sum + moved, 0n),
          new_accounts: own.reduce((sum, { accounts }) => sum + accounts, 0),
        })),
      )
    }),
    { numRuns: 30 },
  )
})
