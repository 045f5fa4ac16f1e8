import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isDatabaseAway } from '../../../../explorer/database/databaseAway.ts'
import type { IndexDatabase } from '../../../../explorer/database/indexDatabase.ts'
import { openDatabase } from '../../../../explorer/database/open.ts'

let directory: string
let database: IndexDatabase
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-full-disk-'))
  database = await openDatabase(join(directory, 'index.sqlite'))
})
afterAll(async () => {
  await database.close()
  rmSync(directory, { recursive: true })
})

describe('an SQLite index that cannot grow', () => {
  it('fails as one that is away, writes nothing of the batch, and goes on when there is room', async () => {
    const lock = (await database.lock())!
    const write = (from: number, count: number): Promise<void> =>
      lock.write(async (writer) => {
        const rows = Array.from({ length: count }, (_, index) => [from + index, new Uint8Array(20), 0] as const)
        for (const [number] of rows) {
          await writer.insert('coin_balance', [
            { address: Buffer.from(String(number).padStart(20)), amount: new Uint8Array(500), position: number },
          ])
        }
      })
    const setPages = (pages: number) => sql.raw(`pragma max_page_count = ${pages}`).execute(lock.queries)
    await write(0, 10)
    await setPages(1)
    const failure = await write(10, 100_000).then(
      () => undefined,
      (error: unknown) => error,
    )
    expect(isDatabaseAway(failure)).toBe(true)
    await setPages(1_000_000)
    await write(10, 5)
    const { count } = await lock.queries
      .selectFrom('coin_balance')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow()
    expect(Number(count)).toBe(15)
    await lock.close()
  })
})
