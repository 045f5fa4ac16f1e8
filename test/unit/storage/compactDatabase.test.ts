import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { bytesToHex } from '../../../src/primitives/bytes.ts'
import { WriteBatch } from '../../../src/storage/batch.ts'
import { Column, heightBytes } from '../../../src/storage/columns.ts'
import { compactDatabase } from '../../../src/storage/compactDatabase.ts'
import { Database } from '../../../src/storage/database.ts'
import { columnBytes, directoryBytes } from '../../../src/storage/diskBytes.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'coind-compact-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

const progress = { update: () => undefined }

/** 4 MB that do not compress, of which 3 are deleted again. */
async function filled(): Promise<Database> {
  const database = await Database.open(join(directory, 'db'), { writeBufferBytes: 1 << 20 })
  for (const [from, to, isDelete] of [
    [0, 400, false],
    [0, 300, true],
  ] as const) {
    const batch = new WriteBatch()
    for (let height = from; height < to; height++) {
      for (const column of [Column.header, Column.results]) {
        const key = Uint8Array.of(column, ...heightBytes(height))
        if (isDelete) batch.del(key)
        else batch.put(key, randomBytes(5_000))
      }
    }
    await database.write(batch, { sync: true })
  }
  return database
}

describe('compactDatabase', () => {
  it('gives back the room of deleted entries, and loses nothing', async () => {
    const database = await filled()
    const read = async () =>
      (await Array.fromAsync(database.entries({ start: Uint8Array.of(0), end: undefined }))).map(([key, value]) =>
        [key, value].map(bytesToHex).join(),
      )
    const before = await read()
    const bytesBefore = await directoryBytes(database.location)
    const told: (readonly [number, number | undefined])[] = []
    const record = { update: (done: number, total?: number) => void told.push([done, total]) }
    await compactDatabase({ database, progress: record, partBytes: 100_000 })
    expect(await read()).toEqual(before)
    expect(before).toHaveLength(200)
    const bytesAfter = await directoryBytes(database.location)
    expect(bytesBefore).toBeGreaterThan(4_000_000)
    expect(bytesAfter).toBeLessThan(bytesBefore / 2)
    expect(told.length).toBeGreaterThan(3)
    expect(told.map(([done]) => done)).toEqual(told.map(([done]) => done).toSorted((a, b) => a - b))

    const sizes = await columnBytes(database)
    expect(Math.abs(sizes.get('header')! - 500_000)).toBeLessThan(100_000)
    expect(Math.abs(sizes.get('results')! - 500_000)).toBeLessThan(100_000)
    expect(sizes.get('account')).toBe(0)
    expect(sizes.size).toBe(Object.keys(Column).length)
    await database.close()
  })

  it('leaves no key out, in parts that are as large as they should be', async () => {
    // Keys of one column, and one prefix that cannot be divided.
    const keys = [
      ...Array.from({ length: 600 }, (_, index) => Uint8Array.of(0x20, ...heightBytes(index * 1_000))),
      ...Array.from({ length: 100 }, () => Uint8Array.of(0x02, ...randomBytes(8))),
      ...Array.from({ length: 60 }, () => Uint8Array.of(0x04, ...new Uint8Array(20))),
    ].map(bytesToHex)
    const between = (start: string, end: string): number => keys.filter((key) => key >= start && key < end).length
    const parts: [start: string, end: string][] = []
    const database = {
      approximateSize: async (start: Uint8Array, end: Uint8Array) => between(bytesToHex(start), bytesToHex(end)),
      compact: async (start: Uint8Array, end: Uint8Array) => void parts.push([bytesToHex(start), bytesToHex(end)]),
    }
    await compactDatabase({ database, progress, partBytes: 20 })
    // LevelDB's memory.
    expect(parts.shift()).toEqual(['0xff', '0xff'])
    expect(parts[0]![0]).toBe('0x')
    expect(parts.at(-1)![1]).toBe('0xff')
    for (const [index, [start]] of parts.entries()) if (index > 0) expect(start).toBe(parts[index - 1]![1])
    const sizes = parts.map(([start, end]) => between(start, end))
    expect(sizes.reduce((sum, size) => sum + size)).toBe(keys.length)
    expect(sizes.filter((size) => size > 40)).toEqual([60])
  })

  it('ends between two parts', async () => {
    const stop = new AbortController()
    let compacted = 0
    const database = {
      approximateSize: async () => 1,
      compact: async () => {
        if (++compacted === 3) stop.abort('stopped')
      },
    }
    const request = { database, progress, partBytes: 20, signal: stop.signal }
    await expect(compactDatabase(request)).rejects.toBe('stopped')
    expect(compacted).toBe(3)
  })
})

it('the bytes of a directory that does not exist are 0', async () => {
  expect(await directoryBytes(join(directory, 'none'))).toBe(0)
})
