import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { listMovements, type MovementFilter } from '../../../../explorer/accounts/queries.ts'
import { amountToBytes, bytesToAmount } from '../../../../explorer/database/amount.ts'
import type { Row } from '../../../../explorer/database/indexDatabase.ts'
import { migrate } from '../../../../explorer/database/migrate.ts'
import { beginPosition, endPosition, transactionPosition } from '../../../../explorer/database/position.ts'
import { openSqlite } from '../../../../explorer/database/sqlite.ts'
import { hexToBytes } from '../../../../src/primitives/bytes.ts'
import { runs } from '../../../propertyRuns.ts'

const people = [1, 2, 3].map((number) => hexToBytes(`0x${String(number).repeat(40)}`))
const side = fc.option(fc.integer({ min: 0, max: 2 }))
/** A few blocks, each with coins that move at its begin, in a transaction and at its end, many at one place. */
const blocks = fc.array(
  fc.array(fc.record({ place: fc.integer({ min: 0, max: 2 }), from: side, to: side }), { maxLength: 12 }),
  { maxLength: 6 },
)

describe('listMovements', () => {
  it('gives all movements of an account or a block once, the newest first, however long the pages are', async () => {
    await fc.assert(
      fc.asyncProperty(blocks, fc.constantFrom(1, 2, 7), async (chain, limit) => {
        const database = openSqlite(':memory:')
        await migrate(database)
        let amount = 0n
        const rows = chain.flatMap((moved, index): Row<'coin_movement'>[] => {
          const height = index + 1
          const places = [beginPosition(height), transactionPosition(height, 0), endPosition(height)]
          return moved
            .toSorted((a, b) => a.place - b.place)
            .map(({ place, from, to }, ordinal) => ({
              position: places[place]!,
              ordinal,
              sender: from === null ? null : people[from]!,
              recipient: to === null ? null : people[to]!,
              amount: amountToBytes(++amount),
              kind: 0,
            }))
        })
        await database.write(({ insert }) => insert('coin_movement', rows))
        const check = async (filter: MovementFilter, fits: (row: Row<'coin_movement'>) => boolean): Promise<void> => {
          const seen: string[] = []
          let before: string | undefined
          do {
            const page = await listMovements(database.queries, filter, { limit, before })
            seen.push(...page.items.map((item) => item.amount))
            before = page.next ?? undefined
          } while (before !== undefined)
          const wanted = rows.filter(fits).toReversed()
          expect(seen).toEqual(wanted.map((row) => String(bytesToAmount(row.amount))))
        }
        for (const account of people)
          await check({ account }, (row) => row.sender === account || row.recipient === account)
        for (let height = 1; height <= chain.length; height++) {
          await check(
            { height },
            (row) => row.position === beginPosition(height) || row.position === endPosition(height),
          )
        }
        await database.close()
      }),
      { numRuns: runs(50) },
    )
  })
})
