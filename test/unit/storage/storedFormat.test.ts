import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ClassicLevel } from 'classic-level'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { WriteBatch } from '../../../src/storage/batch.ts'
import { Column, columnKey, heightBytes } from '../../../src/storage/columns.ts'
import { FORMAT, FORMAT_KEY, GENESIS_HASH_KEY, isDamagedFormat } from '../../../src/storage/format.ts'
import { refuseOtherFormat } from '../../../src/storage/storedFormat.ts'

type Entry = readonly [key: Uint8Array, stored: Uint8Array]

const HASH = new Uint8Array(32).fill(7)

let location: string
beforeEach(() => {
  location = mkdtempSync(join(tmpdir(), 'coind-format-'))
})
afterEach(() => rmSync(location, { recursive: true }))

/** As it is stored, with its checksum. */
function checked(key: Uint8Array, value: Uint8Array): Entry {
  const batch = new WriteBatch()
  batch.put(key, value)
  const stored: Uint8Array[] = []
  batch.forEachStored((_, bytes) => stored.push(Uint8Array.from(bytes!)))
  return [key, stored[0]!]
}
const numbered = (format: number): Entry =>
  format < 3 ? [FORMAT_KEY, Uint8Array.of(format)] : checked(FORMAT_KEY, Uint8Array.of(format))

/** Writes to the log of LevelDB, and merges that into tables when `isMerged`. */
async function write(entries: readonly Entry[], isMerged: boolean): Promise<void> {
  const level = new ClassicLevel<Uint8Array, Uint8Array>(location, { keyEncoding: 'view', valueEncoding: 'view' })
  await level.open()
  for (const [key, stored] of entries) await level.put(key, stored)
  if (isMerged) await level.compactRange(Uint8Array.of(0), Uint8Array.of(0xff))
  await level.close()
}

const contents = () => readdirSync(location).map((name) => [name, readFileSync(join(location, name)).toString('hex')])

describe('the files of a database', () => {
  describe.each([
    ['log', false],
    ['table', true],
  ])('with the number in a %s', (_, isMerged) => {
    it.each([1, 2, 3, 4, 5, FORMAT + 1])('refuse format %i, and stay as they are', async (format) => {
      await write([[GENESIS_HASH_KEY, HASH], ...(format === 1 ? [] : [numbered(format)])], isMerged)
      const before = contents()
      expect(() => refuseOtherFormat(location)).toThrow(
        expect.objectContaining({
          code: 'format',
          message: expect.stringContaining(`${location} has format ${format}: `),
        }),
      )
      expect(contents()).toEqual(before)
    })

    it('pass with this format', async () => {
      await write([checked(GENESIS_HASH_KEY, HASH), numbered(FORMAT)], isMerged)
      expect(() => refuseOtherFormat(location)).not.toThrow()
    })
  })

  it('say the highest of several numbers: no version lowers it', async () => {
    await write([numbered(3)], true)
    await write([numbered(5)], false)
    expect(() => refuseOtherFormat(location)).toThrow('has format 5')
    await write([numbered(FORMAT)], false)
    expect(() => refuseOtherFormat(location)).not.toThrow()
  })

  it('are read only where the number may be', async () => {
    const tables = () => readdirSync(location).filter((name) => name.endsWith('.ldb'))
    await write([numbered(FORMAT + 1)], true)
    const newer = readFileSync(join(location, tables()[0]!))
    rmSync(location, { recursive: true })
    await write([checked(GENESIS_HASH_KEY, HASH), numbered(FORMAT)], true)
    const [withNumber] = tables()
    await write([checked(columnKey(Column.header, heightBytes(1)), HASH)], false)
    // Merges the log into a table of its own.
    await write([], false)
    const others = tables().filter((name) => name !== withNumber)
    expect(others).toHaveLength(1)
    writeFileSync(join(location, others[0]!), newer)
    expect(() => refuseOtherFormat(location)).not.toThrow()
    writeFileSync(join(location, withNumber!), newer)
    expect(() => refuseOtherFormat(location)).toThrow(`has format ${FORMAT + 1}`)
  })

  it.each(['CURRENT', 'MANIFEST'])('refuse another format when the %s is damaged', async (name) => {
    await write([[GENESIS_HASH_KEY, HASH], numbered(5)], true)
    const path = join(location, readdirSync(location).find((file) => file.startsWith(name))!)
    writeFileSync(path, readFileSync(path).fill(1, 0, 8))
    expect(() => refuseOtherFormat(location)).toThrow('has format 5')
  })

  it('pass when they hold no chain, or a number that is damaged', async () => {
    expect(() => refuseOtherFormat(join(location, 'none'))).not.toThrow()
    expect(() => refuseOtherFormat(location)).not.toThrow()
    const [key, stored] = numbered(FORMAT)
    await write([[key, stored.with(0, 5)], checked(GENESIS_HASH_KEY, HASH)], true)
    expect(() => refuseOtherFormat(location)).not.toThrow()
  })
})

describe('a damaged number', () => {
  const [, stored] = numbered(FORMAT)
  it.each([
    ['its byte changed', stored.with(0, 5), true],
    ['its checksum changed', stored.with(2, stored[2]! ^ 1), true],
    ['both changed', stored.with(0, 5).with(2, stored[2]! ^ 1), false],
    ['it is another number', numbered(5)[1].with(3, numbered(5)[1][3]! ^ 1), false],
    ['its end is lost', stored.subarray(0, 4), false],
    ['it has no checksum', Uint8Array.of(FORMAT), false],
  ])('tells this version’s from others: %s', (_, damaged, isOwn) => {
    expect(isDamagedFormat(damaged)).toBe(isOwn)
  })
})
