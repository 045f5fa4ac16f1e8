import { existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ClassicLevel } from 'classic-level'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type ConversionOptions, openConverted } from '../../../src/app/convertDatabase.ts'
import { dataPaths } from '../../../src/app/dataDirectory.ts'
import { bytesToHex } from '../../../src/primitives/bytes.ts'
import { WriteBatch } from '../../../src/storage/batch.ts'
import { Column, columnKey } from '../../../src/storage/columns.ts'
import { Database } from '../../../src/storage/database.ts'
import { EXTENDED_FORMATS, FORMAT, FORMAT_KEY } from '../../../src/storage/format.ts'
import { readFixture, unpackFixture } from '../../formats/fixture.ts'

/** So that the fixture takes several. */
const BATCH_BYTES = 8_000
const HEAD_KEY = columnKey(Column.chainMeta, new TextEncoder().encode('head'))
const FORMAT_NAME = bytesToHex(FORMAT_KEY)

const fixture = readFixture(2)
let homedir: string
let paths: ReturnType<typeof dataPaths>
/** of each batch, the entries that the conversion had written */
let progress: number[]

beforeEach(() => {
  homedir = mkdtempSync(join(tmpdir(), 'coind-convert-'))
  paths = dataPaths(homedir)
  unpackFixture(fixture, homedir)
  progress = []
})
afterEach(() => rmSync(homedir, { recursive: true }))

const record: ConversionOptions['onProgress'] = ({ step, entries }) => {
  if (step === 'converting') progress.push(entries)
}
const open = (options: Partial<ConversionOptions> = {}): Promise<Database> =>
  openConverted(paths, { onProgress: record, batchBytes: BATCH_BYTES, ...options })

/** Converts until `batches` are written, as a stop signal ends it. */
async function convertPartly(batches: number): Promise<void> {
  const stop = new AbortController()
  const onProgress: ConversionOptions['onProgress'] = (made) => {
    record(made)
    if (progress.length === batches) stop.abort('stopped')
  }
  await expect(open({ onProgress, signal: stop.signal })).rejects.toBe('stopped')
}

async function withStored<T>(run: (level: ClassicLevel<Uint8Array, Uint8Array>) => Promise<T>): Promise<T> {
  const level = new ClassicLevel<Uint8Array, Uint8Array>(paths.db, { keyEncoding: 'view', valueEncoding: 'view' })
  await level.open()
  try {
    return await run(level)
  } finally {
    await level.close()
  }
}

/** What the former version reads. */
const formerEntries = () =>
  withStored(async (level) => {
    const entries = new Map<string, string>()
    for await (const [key, value] of level.iterator()) entries.set(bytesToHex(key), bytesToHex(value))
    return entries
  })

/** Everything but the number of the format must be as it was, and nothing else may be left in the directory. */
async function expectConverted(database: Database, former: ReadonlyMap<string, string>): Promise<void> {
  const entries = new Map<string, string>()
  for await (const [key, value] of database.entries({ start: new Uint8Array(), end: undefined })) {
    entries.set(bytesToHex(key), bytesToHex(value))
  }
  await database.close()
  expect(entries).toEqual(new Map([...former, [FORMAT_NAME, bytesToHex(Uint8Array.of(FORMAT))]]))
  expect(readdirSync(homedir).toSorted()).toEqual(['config', 'db', 'wal'])
}

it.each(EXTENDED_FORMATS)(
  'a database in format %d, to which this one adds, only gets another number',
  async (format) => {
    rmSync(homedir, { recursive: true })
    unpackFixture(readFixture(format), homedir)
    const before = await Database.open(paths.db, { readOnly: true })
    const entries = new Map<string, string>()
    for await (const [key, value] of before.entries({ start: new Uint8Array(), end: undefined })) {
      entries.set(bytesToHex(key), bytesToHex(value))
    }
    await before.close()
    expect(entries.get(FORMAT_NAME)).toBe(bytesToHex(Uint8Array.of(format)))
    await expectConverted(await open(), entries)
    expect(progress).toEqual([])
  },
)

describe('a database in the former format', () => {
  it('keeps every entry, and is converted once', async () => {
    const former = await formerEntries()
    await expectConverted(await open(), former)
    expect(progress.length).toBeGreaterThan(5)
    expect(progress.at(-1)).toBe(former.size)
    progress = []
    await expectConverted(await open(), former)
    expect(progress).toEqual([])
  })

  it.each([1, 2, 4])('goes on after %d batches when it was stopped there', async (batches) => {
    const former = await formerEntries()
    await convertPartly(batches)
    expect(await formerEntries()).toEqual(former)
    const done = progress.at(-1)!
    progress = []
    const database = await open()
    expect(progress.at(-1)).toBe(former.size - done)
    await expectConverted(database, former)
  })

  it('is converted from the start when it has got another head meanwhile', async () => {
    await convertPartly(3)
    await withStored(async (level) => {
      await level.put(columnKey(Column.account, new Uint8Array(20)), Uint8Array.of(1, 2, 3))
      await level.put(HEAD_KEY, Uint8Array.of(4))
    })
    const former = await formerEntries()
    await expectConverted(await open(), former)
  })

  it('is converted from the start when what was converted is damaged', async () => {
    await convertPartly(3)
    writeFileSync(join(paths.convertingDb, 'CURRENT'), 'MANIFEST-000099\n')
    const former = await formerEntries()
    await expectConverted(await open(), former)
  })

  it('is left alone when there is too little room', async () => {
    const files = () => readdirSync(paths.db).map((name) => [name, readFileSync(join(paths.db, name)).length])
    await (await Database.open(paths.db).catch(() => undefined))?.close()
    const former = await formerEntries()
    const bytes = files().reduce((sum, [, length]) => sum + (length as number), 0)
    const message = new RegExp(`${paths.db} is in format 2 .* needs 1 MB, and there are 1. Make room and start again`)
    await expect(open({ freeBytes: async () => bytes })).rejects.toMatchObject({
      code: 'io',
      message: expect.stringMatching(message),
    })
    expect(existsSync(paths.convertingDb)).toBe(false)
    expect(await formerEntries()).toEqual(former)
    await expectConverted(await open({ freeBytes: async () => 10 * bytes }), former)
  })

  it('that came back from a backup is converted, whatever an earlier conversion left', async () => {
    const former = await formerEntries()
    await convertPartly(2)
    unpackFixture({ ...fixture, files: { 'db.replaced/000001.log': '' } }, homedir)
    await expectConverted(await open(), former)
  })

  it.each(['before another conversion', 'during another conversion'])(
    'that is moved away begins anew, when the deletion of an old one was interrupted %s',
    async (when) => {
      unpackFixture({ ...fixture, files: { 'db.replaced/000001.log': '' } }, homedir)
      if (when === 'during another conversion') await convertPartly(3)
      renameSync(paths.db, join(homedir, 'moved'))
      const database = await open()
      const entries: unknown[] = []
      for await (const [key] of database.entries({ start: new Uint8Array(), end: undefined })) entries.push(key)
      await database.close()
      expect(entries).toEqual([])
    },
  )

  it('is neither opened nor cleared away where a conversion is not complete', async () => {
    await (await open()).close()
    const unfinished = await Database.open(paths.db)
    const batch = new WriteBatch()
    batch.del(FORMAT_KEY)
    await unfinished.write(batch, { sync: true })
    await unfinished.close()
    unpackFixture({ ...fixture, files: { 'db.replaced/CURRENT': '' } }, homedir)
    await (await open()).close()
    expect(existsSync(paths.replacedDb)).toBe(true)
  })
})
