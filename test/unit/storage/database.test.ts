import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { WriteBatch } from '../../../src/storage/batch.ts'
import { heightBytes, prefixEnd, readHeight } from '../../../src/storage/columns.ts'
import { Database } from '../../../src/storage/database.ts'

const bytes = (...values: number[]) => Uint8Array.from(values)

describe('Database', () => {
  let directory: string
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'coind-db-'))
  })
  afterEach(() => rmSync(directory, { recursive: true }))

  async function filled(): Promise<Database> {
    const database = await Database.open(join(directory, 'db'))
    const batch = new WriteBatch()
    for (let i = 0; i < 10; i++) batch.put(bytes(1, i), bytes(i))
    batch.del(bytes(1, 4))
    await database.write(batch, { sync: true })
    return database
  }

  it.each([
    [{ start: bytes(1, 2), end: bytes(1, 6) }, [2, 3, 5]],
    [{ start: bytes(1, 7), end: undefined }, [7, 8, 9]],
    [{ start: bytes(1), end: bytes(2), reverse: true, limit: 2 }, [9, 8]],
    [{ start: bytes(2), end: undefined }, []],
  ])('reads the range %j', async (range, expected) => {
    const database = await filled()
    const found: number[] = []
    for await (const [key, value] of database.entries(range)) {
      expect(key).toEqual(bytes(1, value[0]!))
      found.push(value[0]!)
    }
    expect(found).toEqual(expected)
    await database.close()
  })

  it('gives plain bytes, and a snapshot that writes do not change', async () => {
    const database = await filled()
    const snapshot = database.snapshot()
    const batch = new WriteBatch()
    batch.put(bytes(1, 1), bytes(99))
    batch.del(bytes(1, 2))
    batch.put(bytes(1, 3), bytes())
    await database.write(batch, { sync: false })
    expect([1, 2, 3].map((i) => snapshot.get(bytes(1, i)))).toEqual([bytes(1), bytes(2), bytes(3)])
    expect([1, 2, 3].map((i) => database.get(bytes(1, i)))).toEqual([bytes(99), undefined, bytes()])
    const seen: Uint8Array[] = []
    for await (const [, value] of snapshot.entries({ start: bytes(1, 1), end: bytes(1, 3) })) seen.push(value)
    expect(seen).toEqual([bytes(1), bytes(2)])
    await snapshot.close()
    expect(() => snapshot.get(bytes(1, 1))).toThrow()
    await database.close()
  })

  it('is open several times in a process, where only the writer writes', async () => {
    const writer = await filled()
    const reader = await Database.open(join(directory, 'x', '..', 'db'), { readOnly: true })
    expect(reader.get(bytes(1, 3))).toEqual(bytes(3))
    const batch = new WriteBatch()
    batch.put(bytes(1), bytes(1))
    await expect(reader.write(batch, { sync: false })).rejects.toThrow('for reading')
    await reader.close()
    await writer.close()
  })

  it('keeps its entries over a restart', async () => {
    await (await filled()).close()
    const database = await Database.open(join(directory, 'db'))
    expect(database.get(bytes(1, 9))).toEqual(bytes(9))
    await database.close()
  })

  it('says that a database is absent', async () => {
    await expect(Database.open(join(directory, 'none'), { readOnly: true })).rejects.toMatchObject({ code: 'absent' })
  })

  it('says that a database is damaged', async () => {
    await (await filled()).close()
    const manifest = readdirSync(join(directory, 'db')).find((name) => name.startsWith('MANIFEST'))!
    writeFileSync(join(directory, 'db', manifest), 'damaged')
    const damaged = { code: 'corrupt', message: expect.stringMatching(/is damaged .*restore/) }
    await expect(Database.open(join(directory, 'db'))).rejects.toMatchObject(damaged)
    writeFileSync(join(directory, 'db', 'CURRENT'), 'MANIFEST-000099\n')
    await expect(Database.open(join(directory, 'db'))).rejects.toMatchObject(damaged)
  })

  it('says which file is damaged when a read comes upon it', async () => {
    const written = await Database.open(join(directory, 'db'))
    const batch = new WriteBatch()
    for (let i = 0; i < 2_000; i++) batch.put(bytes(1, i >> 8, i & 255), randomBytes(100))
    await written.write(batch, { sync: true })
    await written.compact(bytes(0), bytes(255))
    await written.close()
    const table = readdirSync(join(directory, 'db')).find((name) => name.endsWith('.ldb'))!
    const path = join(directory, 'db', table)
    truncateSync(path, statSync(path).size - 1_000)

    const database = await Database.open(join(directory, 'db'))
    const damaged = { name: 'DatabaseError', code: 'corrupt', message: expect.stringContaining(table) }
    expect(() => database.get(bytes(1, 0, 0))).toThrow(expect.objectContaining(damaged))
    const snapshot = database.snapshot()
    expect(() => snapshot.get(bytes(1, 0, 0))).toThrow(expect.objectContaining(damaged))
    await expect(Array.fromAsync(snapshot.entries({ start: bytes(1), end: undefined }))).rejects.toMatchObject(damaged)
    await database.close()
  })

  it('says that another process has it open', async () => {
    const database = await filled()
    const script = `
      const { Database } = await import(${JSON.stringify(new URL('../../../src/storage/database.ts', import.meta.url).href)})
      await Database.open(${JSON.stringify(join(directory, 'db'))}).catch((error) => console.log(error.code))`
    const output = execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' })
    expect(output.trim()).toBe('locked')
    await database.close()
  })
})

describe('keys', () => {
  it.each([0, 1, 255, 256, 2 ** 32 - 1, 2 ** 32, 2 ** 40 + 12345])('writes the height %d', (height) => {
    expect(readHeight(heightBytes(height), 0)).toBe(height)
    expect(Buffer.compare(heightBytes(height), heightBytes(height + 1))).toBe(-1)
  })

  it.each([
    [bytes(1, 2), bytes(1, 3)],
    [bytes(1, 255), bytes(2)],
    [bytes(255, 255), undefined],
  ])('ends the prefix %j at %j', (prefix, end) => {
    expect(prefixEnd(prefix)).toEqual(end)
  })
})

describe('WriteBatch', () => {
  const read = (batch: WriteBatch): (readonly [readonly number[], readonly number[] | undefined])[] => {
    const operations: (readonly [readonly number[], readonly number[] | undefined])[] = []
    batch.forEach((key, value) => {
      operations.push([[...key], value && [...value]])
    })
    return operations
  }

  it('holds copies of what it was given, also of values larger than its pieces, in order', () => {
    const batch = new WriteBatch()
    const key = bytes(1, 2)
    const large = new Uint8Array(600_000).fill(9)
    batch.put(key, bytes(3))
    batch.put(bytes(4), large)
    key.fill(0)
    large.fill(0)
    batch.del(bytes(5))
    batch.put(bytes(6), bytes())
    expect(batch.length).toBe(4)
    expect(batch.bytes).toBe(3 + 600_001 + 1 + 1)
    const [first, second, ...rest] = read(batch)
    expect(first).toEqual([[1, 2], [3]])
    expect(second![0]).toEqual([4])
    expect(second![1]!.length).toBe(600_000)
    expect(second![1]!.every((byte) => byte === 9)).toBe(true)
    expect(rest).toEqual([
      [[5], undefined],
      [[6], []],
    ])
  })

  it('takes in other batches where it stands, each as often as wanted', () => {
    const other = new WriteBatch()
    for (let i = 0; i < 3000; i++) other.put(bytes(i, i >> 8), new Uint8Array(200).fill(i))
    other.del(bytes(7))
    const batch = new WriteBatch()
    batch.append(new WriteBatch())
    batch.put(bytes(1), bytes(1))
    batch.append(other)
    batch.put(bytes(2), bytes(2))
    batch.append(other)
    expect(batch.length).toBe(2 * 3001 + 2)
    expect(batch.bytes).toBe(2 * other.bytes + 4)
    expect(read(batch)).toEqual([[[1], [1]], ...read(other), [[2], [2]], ...read(other)])
  })
})
