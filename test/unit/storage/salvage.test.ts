import { randomBytes } from 'node:crypto'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { WriteBatch } from '../../../src/storage/batch.ts'
import { Database } from '../../../src/storage/database.ts'
import { salvageEntries } from '../../../src/storage/salvage.ts'
import { runs } from '../../propertyRuns.ts'

/** of each file that are damaged */
const PLACES = runs(2)
const ENTRIES = 700
let directory: string
let location: string
/** by key, hex */
const written = new Map<string, Set<string>>()
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-salvage-'))
  location = join(directory, 'db')
  for (const session of [0, 1, 2]) {
    const database = await Database.open(location, { writeBufferBytes: 64 << 10 })
    for (let i = session; i < ENTRIES; i += 2) {
      const batch = new WriteBatch()
      const key = Uint8Array.of(0x10 + (i % 4), i >> 8, i)
      const value = new Uint8Array(randomBytes(i % 300))
      batch.put(key, value)
      if (i % 100 === 0) batch.del(Uint8Array.of(0x11, i))
      await database.write(batch, { sync: false })
      const hex = Buffer.from(key).toString('hex')
      written.set(hex, (written.get(hex) ?? new Set()).add(Buffer.from(value).toString('hex')))
    }
    await database.close()
  }
})
afterAll(() => rmSync(directory, { recursive: true }))

/** Keys that were found; each value must have been written under its key. */
function salvaged(from = location, first = 0x10, last = 0x13): Set<string> {
  const found = new Set<string>()
  for (const [key, value] of salvageEntries(from, first, last)) {
    const hex = Buffer.from(key).toString('hex')
    if (!written.get(hex)?.has(Buffer.from(value).toString('hex'))) throw new Error(`${hex} never had this value`)
    found.add(hex)
  }
  return found
}

const withPrefix = (...prefixes: string[]) =>
  [...written.keys()].filter((key) => prefixes.some((prefix) => key.startsWith(prefix))).sort()

it('finds every entry of the columns that are wanted', () => {
  expect([...salvaged()].sort()).toEqual(withPrefix('1'))
  expect([...salvaged(location, 0x11, 0x12)].sort()).toEqual(withPrefix('11', '12'))
  expect([...salvageEntries(join(location, 'nowhere'), 0, 255)]).toEqual([])
})

it('finds whatever is not damaged, and nothing that is', () => {
  const copy = join(directory, 'copy')
  cpSync(location, copy, { recursive: true })
  const files = readdirSync(copy).filter((name) => /\.(ldb|log)$/.test(name))
  // How many tables there are is LevelDB's affair: it merges them when it finds time.
  expect(files.some((name) => name.endsWith('.ldb'))).toBe(true)
  for (const name of [...files, 'CURRENT', 'MANIFEST']) {
    const path = join(copy, readdirSync(copy).find((found) => found.startsWith(name))!)
    const whole = readFileSync(path)
    for (let part = 0; part < PLACES; part++) {
      const bytes = Buffer.from(whole)
      const at = Math.floor((part * (bytes.length - 1)) / PLACES)
      bytes[at]! ^= 1 << (part % 8)
      writeFileSync(path, bytes)
      // A flipped bit costs a block of 4 KiB in a table, and of 32 KiB in a log.
      if (!name.endsWith('.ldb') || at < whole.length / 2) expect(salvaged(copy).size).toBeGreaterThan(written.size / 2)
      else salvaged(copy)
      truncateSync(path, at)
      salvaged(copy)
      writeFileSync(path, whole)
    }
  }
  for (const name of readdirSync(copy)) rmSync(join(copy, name))
  expect(salvaged(copy).size).toBe(0)
})
