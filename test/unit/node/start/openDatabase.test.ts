import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { dataPaths } from '../../../../src/datadir/dataDirectory.ts'
import { openDatabase } from '../../../../src/node/start/openHome.ts'
import { WriteBatch } from '../../../../src/storage/batch.ts'
import { Database } from '../../../../src/storage/database.ts'

describe('the start after a process that did not stop', () => {
  const paths = dataPaths(mkdtempSync(join(tmpdir(), 'coind-left-')))
  const lock = { release: async () => undefined, wasLeft: true }
  const logger = { info: () => undefined }
  beforeEach(async () => {
    const database = await Database.open(paths.db)
    const batch = new WriteBatch()
    for (let i = 0; i < 200; i++) batch.put(Uint8Array.of(0xf0, i), new Uint8Array(5_000).fill(i))
    await database.write(batch, { sync: true })
    await database.compact(Uint8Array.of(0), Uint8Array.of(0xff))
    await database.close()
  })
  afterEach(() => rmSync(paths.homedir, { recursive: true }))

  it('checks the tables, also more of them than every start, and can be ended meanwhile', async () => {
    const stop = AbortSignal.abort(new Error('stopped'))
    await (await openDatabase({ paths, lock: { ...lock, wasLeft: false } }, logger, stop)).close()
    await (await openDatabase({ paths, lock }, logger, undefined)).close()
    await expect(openDatabase({ paths, lock }, logger, stop)).rejects.toThrow('stopped')

    const table = readdirSync(paths.db).find((name) => name.endsWith('.ldb'))!
    const bytes = readFileSync(join(paths.db, table))
    bytes[100]! ^= 1
    writeFileSync(join(paths.db, table), bytes)
    await expect(openDatabase({ paths, lock }, logger, undefined)).rejects.toThrow(`${table} at byte 0 is damaged`)
  })
})
