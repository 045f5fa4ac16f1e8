import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openDatabase } from '../../../../explorer/database/open.ts'
import { postgresPrograms, startPostgres, type TestPostgres } from '../../../postgres/startPostgres.ts'

const OPEN = new URL('../../../../explorer/database/open.ts', import.meta.url).href

/** A process that takes the lock of the index at `place` as soon as it is free, says so, and keeps it until it is killed. */
function holder(place: string) {
  const child = spawn(
    process.execPath,
    [
      '--input-type=module',
      '-e',
      `import { openDatabase } from ${JSON.stringify(OPEN)}
       const database = await openDatabase(${JSON.stringify(place)})
       while ((await database.lock()) === undefined) await new Promise((resolve) => setTimeout(resolve, 50))
       console.log('held')
       setInterval(() => {}, 1000)`,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const exited = once(child, 'exit')
  return {
    held: once(child.stdout, 'data'),
    kill: async () => {
      child.kill('SIGKILL')
      await exited
    },
  }
}

const INGEST = { id: 1, chain_id: 'coin-1', evm_chain_id: 1, first_height: 1, height: 0, opening_height: 0 } as const

describe('an index in an SQLite file', () => {
  it('is refused to a second process that would write it, until the first has been killed', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'coind-index-'))
    const place = join(directory, 'index.sqlite')
    const first = holder(place)
    try {
      await first.held
      await expect(openDatabase(place)).rejects.toThrow(/^another explorer is writing to .*EXPLORER_DATABASE/)
      await first.kill()
      const second = await openDatabase(place)
      await expect(openDatabase(place)).rejects.toThrow('another explorer')
      await second.close()
      await (await openDatabase(place)).close()
    } finally {
      await first.kill()
      rmSync(directory, { recursive: true, force: true })
    }
  })
})

const programs = postgresPrograms()
if (programs === undefined)
  console.warn('PostgreSQL is not installed (apt-get install postgresql): its tests are skipped')

describe.skipIf(programs === undefined)('an index in PostgreSQL', () => {
  let server: TestPostgres
  beforeAll(async () => {
    server = await startPostgres(programs!)
  })
  afterAll(() => server?.stop())

  it('is written by one process at a time; another takes over when that is killed, or the database is', async () => {
    const database = await openDatabase(server.url)
    const first = holder(server.url)
    await first.held
    expect(await database.lock()).toBeUndefined()
    const second = holder(server.url)
    await first.kill()
    await second.held
    expect(await database.lock()).toBeUndefined()
    await second.kill()

    const taken = async () => {
      for (;;) {
        const lock = await database.lock().catch(() => undefined)
        if (lock !== undefined) return lock
      }
    }
    const lock = await taken()
    await lock.write((writer) => writer.insert('ingest', [INGEST]))
    server.crash()
    const next = await taken()
    // Who has lost the lock can store nothing, not even in a transaction that had begun: its connection is gone.
    await expect(
      lock.write(({ queries }) => queries.updateTable('ingest').set({ height: 7 }).execute()),
    ).rejects.toThrow()
    expect(lock.isLost()).toBe(true)
    expect(await next.queries.selectFrom('ingest').select('height').executeTakeFirst()).toEqual({ height: 0 })

    let isInside: () => void = () => undefined
    const inside = new Promise<void>((resolve) => {
      isInside = resolve
    })
    let goOn: () => void = () => undefined
    const writing = next.write(async ({ queries }) => {
      await queries.updateTable('ingest').set({ height: 7 }).execute()
      const paused = new Promise<void>((resolve) => {
        goOn = resolve
      })
      isInside()
      await paused
    })
    writing.catch(() => undefined)
    await inside
    server.crash()
    const last = await taken()
    goOn()
    await expect(writing).rejects.toThrow()
    expect(await last.queries.selectFrom('ingest').select('height').executeTakeFirst()).toEqual({ height: 0 })
    await Promise.all([lock.close(), next.close(), last.close()])
    await database.close()
  })
})
