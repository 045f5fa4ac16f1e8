import { randomBytes } from 'node:crypto'
import {
  appendFileSync,
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { WriteBatch } from '../../../src/storage/batch.ts'
import { damagedContents, damagedFile } from '../../../src/storage/damage.ts'
import { Database } from '../../../src/storage/database.ts'
import {
  findDamagedFiles,
  nameDamagedFile,
  scrubTables,
  tableBytes,
  verifyFiles,
} from '../../../src/storage/verifyFiles.ts'

const LOG_BLOCK = 32_768

let directory: string
/** tables, and a log with batches of 20 to 60,000 bytes, as a killed process leaves them */
let whole: string
let copies = 0

/** Writes batches that each replace one entry, and returns the number of the last one. */
async function write(database: Database, from: number, count: number, valueBytes: (i: number) => number) {
  for (let i = from; i < from + count; i++) {
    const batch = new WriteBatch()
    batch.put(Uint8Array.of(1, i >> 8, i), randomBytes(valueBytes(i)))
    await database.write(batch, { sync: false })
  }
}

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-verify-'))
  const location = join(directory, 'db')
  const options = { writeBufferBytes: 64 << 10 }
  const first = await Database.open(location, options)
  await write(first, 0, 2_000, () => 200)
  await first.close()
  const second = await Database.open(location)
  await write(second, 2_000, 60, (i) => (i % 7 === 0 ? 60_000 : 20))
  whole = join(directory, 'killed')
  cpSync(location, whole, { recursive: true })
  await second.close()
})
afterAll(() => rmSync(directory, { recursive: true }))

describe('verifyFiles', () => {
  let location: string
  beforeEach(() => {
    location = join(directory, `copy-${++copies}`)
    cpSync(whole, location, { recursive: true })
  })

  const named = (pattern: RegExp) => readdirSync(location).find((name) => pattern.test(name))!
  const flip = (name: string, offset: number, bit = 1): void => {
    const path = join(location, name)
    const bytes = readFileSync(path)
    bytes[offset < 0 ? bytes.length + offset : offset]! ^= bit
    writeFileSync(path, bytes)
  }
  const expectDamage = (name: string, what: RegExp): void => {
    let error: unknown
    try {
      verifyFiles(location)
    } catch (thrown) {
      error = thrown
    }
    expect(error).toMatchObject({ name: 'DatabaseError', code: 'corrupt' })
    expect((error as Error).message).toContain(join(location, name))
    expect((error as Error).message).toMatch(what)
    expect((error as Error).message).toMatch(/coind repair.*sign twice/)
  }

  it('passes a database that was closed, one that was killed, and a directory without one', async () => {
    verifyFiles(whole)
    verifyFiles(join(directory, 'db'))
    verifyFiles(join(directory, 'none'))
    const fresh = join(directory, 'fresh')
    await (await Database.open(fresh)).close()
    verifyFiles(fresh)
    expect(readdirSync(whole).filter((name) => name.endsWith('.ldb')).length).toBeGreaterThan(1)
  })

  it('names every damaged file, without a list of tables too', () => {
    const damages = (): string[] =>
      [...findDamagedFiles(location)].filter((found) => typeof found !== 'number').map(({ message }) => message)
    expect(damages()).toEqual([])
    const tables = readdirSync(location).filter((name) => name.endsWith('.ldb'))
    flip(tables[0]!, 10)
    rmSync(join(location, tables[1]!))
    flip(named(/\.log$/), 10)
    const missing = expect.stringContaining(`${join(location, tables[1]!)} is damaged (it is missing)`)
    const flippedBit = expect.stringContaining(`${join(location, tables[0]!)} at byte 0 is damaged`)
    expect(damages()).toHaveLength(3)
    expect(damages()).toEqual(expect.arrayContaining([missing, flippedBit]))
    rmSync(join(location, 'CURRENT'))
    expect(damages()).toEqual([expect.stringContaining(`${join(location, 'CURRENT')} is damaged`), flippedBit])
  })

  it('finds a changed bit anywhere in a table', () => {
    const table = named(/\.ldb$/)
    const { size } = statSync(join(location, table))
    // The end of a footer before its magic number is padding.
    const places = [
      0,
      1,
      size - 1,
      size - 8,
      size - 48,
      size - 60,
      ...Array.from({ length: 60 }, (_, i) => Math.floor((i * (size - 50)) / 60)),
    ]
    for (const place of places) {
      flip(table, place)
      expectDamage(table, /at byte \d+ is damaged/)
      flip(table, place)
    }
    verifyFiles(location)
  })

  it('finds tables that are cut off, grown or lost', () => {
    const table = named(/\.ldb$/)
    const path = join(location, table)
    const bytes = readFileSync(path)
    truncateSync(path, bytes.length - 1)
    expectDamage(table, /has \d+ bytes instead of \d+/)
    writeFileSync(path, bytes)
    appendFileSync(path, 'x')
    expectDamage(table, /has \d+ bytes instead of \d+/)
    rmSync(path)
    expectDamage(table, /it is missing/)
  })

  it('reads the newest tables first and no more than it may', () => {
    const tables = readdirSync(location)
      .filter((name) => name.endsWith('.ldb'))
      .sort()
    flip(tables.at(0)!, 0)
    verifyFiles(location, 1)
    flip(tables.at(-1)!, 0)
    expect(() => verifyFiles(location, 1)).toThrow(tables.at(-1)!)
  })

  it('finds a MANIFEST or CURRENT that is damaged or lost', () => {
    const manifest = named(/^MANIFEST/)
    flip(manifest, 20)
    expectDamage(manifest, /at byte 0 is damaged/)
    flip(manifest, 20)
    rmSync(join(location, manifest))
    expectDamage(manifest, /CURRENT names it/)
    rmSync(join(location, 'CURRENT'))
    expectDamage('CURRENT', /it is missing/)
    writeFileSync(join(location, 'CURRENT'), '\0'.repeat(16))
    expectDamage('CURRENT', /does not name a MANIFEST/)
  })

  it('finds that a MANIFEST lost its end when tables or a log are gone that it still needs', () => {
    const manifest = named(/^MANIFEST/)
    const { size } = statSync(join(location, manifest))
    let refused = 0
    for (let cut = size - 1; cut >= 0; cut--) {
      truncateSync(join(location, manifest), cut)
      try {
        verifyFiles(location)
      } catch (error) {
        expect(error).toMatchObject({ name: 'DatabaseError', code: 'corrupt' })
        refused++
      }
    }
    expect(refused).toBe(size)
  })

  it('passes a log whose end is torn, and finds writes that are missing within it', () => {
    const log = named(/\.log$/)
    const path = join(location, log)
    const bytes = readFileSync(path)
    for (const cut of [0, 1, 7, 100, LOG_BLOCK, LOG_BLOCK + 3, bytes.length - 1]) {
      writeFileSync(path, bytes.subarray(0, cut))
      verifyFiles(location)
      writeFileSync(path, Buffer.concat([bytes.subarray(0, cut), Buffer.alloc(5_000)]))
      verifyFiles(location)
    }
    writeFileSync(path, bytes)
    flip(log, 100)
    expectDamage(log, /at byte \d+ is damaged \(writes are missing there\)/)
    writeFileSync(path, Buffer.concat([bytes.subarray(0, LOG_BLOCK), bytes.subarray(2 * LOG_BLOCK)]))
    expectDamage(log, /writes are missing there/)
    flip(log, 4)
    rmSync(path)
    expectDamage(log, /it is missing/)
  })

  it('finds that the older of two logs lost its end', () => {
    const log = named(/\.log$/)
    const bytes = readFileSync(join(location, log))
    const cut = LOG_BLOCK * 3
    writeFileSync(join(location, log), bytes.subarray(0, cut))
    writeFileSync(join(location, '999999.log'), bytes.subarray(cut))
    expectDamage('', /\.log at byte \d+ is damaged \(writes are missing there\)/)
  })

  it('names the table in which a read has met damage', () => {
    const table = named(/\.ldb$/)
    const damage = damagedContents('a code is missing')
    const failure = new Error('the executor thread failed', { cause: damage })
    expect(nameDamagedFile(failure, location)).toBe(failure)
    flip(table, 5)
    expect(nameDamagedFile(failure, location)).toMatchObject({
      name: 'DatabaseError',
      message: expect.stringContaining(join(location, table)),
      cause: failure,
    })
    for (const other of [new Error('other'), damagedFile(join(location, table), 0, 'known')]) {
      expect(nameDamagedFile(other, location)).toBe(other)
    }
  })

  it('scrubs tables in steps of at most about 256 KiB, and passes over those that were merged meanwhile', async () => {
    const steps = [...scrubTables(location)]
    expect(Math.max(...steps)).toBeLessThanOrEqual(256 << 10)
    expect(steps.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThan(tableBytes(location))

    const scrubbing = scrubTables(location)
    scrubbing.next()
    const database = await Database.open(location)
    await database.compact(Uint8Array.of(0), Uint8Array.of(255))
    await database.close()
    expect([...scrubbing].length).toBeLessThan(steps.length)

    const table = named(/\.ldb$/)
    renameSync(join(location, table), join(location, 'away'))
    expect(() => [...scrubTables(location)]).toThrow(/it is missing/)
  })
})
