import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ClassicLevel } from 'classic-level'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { WriteBatch } from '../../../src/storage/batch.ts'
import { BufferedDatabase } from '../../../src/storage/bufferedDatabase.ts'
import { Column, columnKey, heightBytes, prefixEnd, readHeight } from '../../../src/storage/columns.ts'
import { Database, type DatabaseError } from '../../../src/storage/database.ts'
import { encodeFormat, FORMAT_KEY, GENESIS_HASH_KEY } from '../../../src/storage/format.ts'
import { runs } from '../../propertyRuns.ts'

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
    const damaged = { code: 'corrupt', message: expect.stringMatching(/is damaged .*coind repair/) }
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
    await expect(database.getMany([bytes(1, 0, 0)])).rejects.toMatchObject(damaged)
    await expect(snapshot.getMany([bytes(1, 0, 0)])).rejects.toMatchObject(damaged)
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

describe('a value on the disk that is not what was written', () => {
  const KEY = columnKey(Column.account, new Uint8Array(20).fill(0xab))
  const PRESENCE = columnKey(Column.logTerm, bytes(1, 2, 3))
  const VALUE = bytes(1, 2, 3, 4, 5)
  const everything = { start: bytes(0), end: undefined }
  let directory: string
  let database: Database
  /** the same database without checksums */
  let stored: ClassicLevel<Uint8Array, Uint8Array>

  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'coind-db-'))
    database = await Database.open(join(directory, 'db'))
    const batch = new WriteBatch()
    batch.put(KEY, VALUE)
    batch.put(PRESENCE, bytes())
    await database.write(batch, { sync: true })
    stored = new ClassicLevel(join(directory, 'db'), {
      keyEncoding: 'view',
      valueEncoding: 'view',
      multithreading: true,
    })
    await stored.open()
  })
  afterEach(async () => {
    await stored.close()
    await database.close()
    rmSync(directory, { recursive: true })
  })

  const damaged = (key: string) => ({
    name: 'DatabaseError',
    code: 'corrupt',
    message: expect.stringContaining(
      `${join(directory, 'db')} is damaged (the value of ${key} does not match its checksum): check the disk`,
    ),
  })
  const account = () => damaged(`account 0x${'ab'.repeat(20)}`)

  it.each([
    ['the value', KEY, VALUE, account],
    ['no bytes', PRESENCE, bytes(), () => damaged('logTerm 0x010203')],
  ])('is noticed in every bit and length of %s', async (_, key, value, error) => {
    const whole = (await stored.get(key))!
    expect(whole).toHaveLength(value.length + 4)
    for (let bit = 0; bit < whole.length * 8; bit++) {
      const changed = Uint8Array.from(whole)
      changed[bit >> 3]! ^= 1 << (bit & 7)
      await stored.put(key, changed)
      expect(() => database.get(key)).toThrow(expect.objectContaining(error()))
    }
    for (let length = 0; length < whole.length; length++) {
      await stored.put(key, whole.subarray(0, length))
      expect(() => database.get(key)).toThrow(expect.objectContaining(error()))
    }
    await stored.put(key, whole)
    expect(database.get(key)).toEqual(value)
  })

  it('is noticed when it is the value of another key', async () => {
    await stored.put(KEY, (await stored.get(PRESENCE))!)
    expect(() => database.get(KEY)).toThrow(expect.objectContaining(account()))
  })

  it('is noticed by every way to read it', async () => {
    const whole = (await stored.get(KEY))!
    whole[2]! ^= 0x10
    await stored.put(KEY, whole)
    const buffered = new BufferedDatabase(database)
    const snapshots = [database.snapshot(), buffered.snapshot()]
    const delaying = new BufferedDatabase(database)
    delaying.startBuffering()
    const other = new WriteBatch()
    other.put(bytes(1), bytes())
    await delaying.write(other, { sync: true })

    const readers = [database, ...snapshots, buffered, delaying, delaying.snapshot()]
    for (const reader of readers) {
      expect(() => reader.get(KEY)).toThrow(expect.objectContaining(account()))
      await expect(Array.fromAsync(reader.entries(everything))).rejects.toMatchObject(account())
      await expect(Array.fromAsync(reader.entries({ ...everything, reverse: true }))).rejects.toMatchObject(account())
      const range = { start: KEY, end: PRESENCE, limit: 1 }
      await expect(Array.fromAsync(reader.entries(range))).rejects.toMatchObject(account())
    }
    for (const snapshot of snapshots) await snapshot.close()
  })

  it('is not asked for when it was overwritten', async () => {
    await stored.put(KEY, bytes(1))
    const buffered = new BufferedDatabase(database)
    buffered.startBuffering()
    const batch = new WriteBatch()
    batch.put(KEY, VALUE)
    await buffered.write(batch, { sync: true })
    expect(buffered.get(KEY)).toEqual(VALUE)
    await buffered.stopBuffering()
    expect(database.get(KEY)).toEqual(VALUE)
  })

  it('is told each time, with what closes the handle', async () => {
    await stored.put(KEY, bytes(1))
    const told: DatabaseError[] = []
    const closing: (() => Promise<void>)[] = []
    const watched = await Database.open(join(directory, 'db'), {
      onDamage: (error, close) => {
        told.push(error)
        closing.push(close)
      },
    })
    expect(() => watched.get(KEY)).toThrow(expect.objectContaining(account()))
    expect(() => watched.snapshot().get(KEY)).toThrow(expect.objectContaining(account()))
    await expect(Array.fromAsync(watched.entries(everything))).rejects.toMatchObject(account())
    expect(told).toEqual([1, 2, 3].map(() => expect.objectContaining(account())))
    expect(watched.get(PRESENCE)).toEqual(bytes())
    await closing[0]!()
    expect(() => watched.get(PRESENCE)).toThrow('not open')
    expect(database.get(PRESENCE)).toEqual(bytes())
    await closing[1]!()
  })

  it('is named by the beginning of its key, when that is long', async () => {
    const key = columnKey(Column.native, new Uint8Array(1_000).fill(0x11))
    await stored.put(key, VALUE)
    const shown = damaged(`native 0x${'11'.repeat(64)}…`)
    expect(() => database.get(key)).toThrow(expect.objectContaining(shown))
  })
})

describe('a chain in another format', () => {
  const HASH = new Uint8Array(32).fill(7)
  let directory: string
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'coind-db-'))
  })
  afterEach(() => rmSync(directory, { recursive: true }))

  async function store(...entries: readonly (readonly [Uint8Array, Uint8Array])[]): Promise<void> {
    const stored = new ClassicLevel<Uint8Array, Uint8Array>(directory, { keyEncoding: 'view', valueEncoding: 'view' })
    for (const [key, value] of entries) await stored.put(key, value)
    await stored.close()
  }

  /** A number as versions with checksums store it. */
  function checked(value: number): Uint8Array {
    const batch = new WriteBatch()
    batch.put(FORMAT_KEY, bytes(value))
    let found = bytes()
    batch.forEachStored((_, stored) => {
      found = Uint8Array.from(stored!)
    })
    return found
  }

  it.each([
    ['the first', 1, []],
    ['one without checksums', 2, [[FORMAT_KEY, bytes(2)]]],
    ...[3, 4, 5].map((former) => ['an older one', former, [[FORMAT_KEY, checked(former)]]] as const),
  ] as const)('is refused with what to do when it is %s (%i)', async (_, format, entries) => {
    await store([GENESIS_HASH_KEY, HASH], ...entries)
    const message =
      `${directory} has format ${format}: an older version of coind wrote it, whose rules differ, and this version needs format 6. ` +
      'Start a new chain with a new data directory (HOMEDIR), or run the version that wrote this one'
    for (const options of [{}, { readOnly: true }, { mayBeDamaged: true }]) {
      await expect(Database.open(directory, options)).rejects.toMatchObject({ code: 'format', message })
    }
  })

  it.each([7, 255])('is refused with what to do when it is a newer one (%i)', async (format) => {
    await store([GENESIS_HASH_KEY, HASH], [FORMAT_KEY, checked(format)])
    const message =
      `${directory} has format ${format}: a newer version of coind wrote it, and this version needs format 6. ` +
      'Run the version that wrote it'
    await expect(Database.open(directory)).rejects.toMatchObject({ code: 'format', message })
  })

  it.each([
    ['a bit of the former number', bytes(3)],
    ['a bit of the number', Uint8Array.from([6 ^ 8, ...checked(6).subarray(1)])],
    ['the bits that make it the format before', Uint8Array.from([5, ...checked(6).subarray(1)])],
    ['a bit of its checksum', Uint8Array.from([...checked(6).subarray(0, 4), checked(6)[4]! ^ 1])],
    ['its end', checked(6).subarray(0, 3)],
    ['all of it', bytes()],
  ])('is damaged, not read in another way, when %s was lost', async (_, number) => {
    await store([GENESIS_HASH_KEY, HASH], [FORMAT_KEY, number])
    const message = expect.stringContaining('is damaged (the number of its format does not match its checksum)')
    await expect(Database.open(directory)).rejects.toMatchObject({ code: 'corrupt', message })
  })

  it('is read when it is in this format', async () => {
    await store([FORMAT_KEY, checked(6)])
    const database = await Database.open(directory)
    expect(database.get(FORMAT_KEY)).toEqual(encodeFormat())
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

  it('finds the last operation on a key, among merged batches too', () => {
    const key = fc.uint8Array({ minLength: 1, maxLength: 2 })
    const operation = fc.record({ key, value: fc.option(fc.uint8Array({ maxLength: 3 }), { nil: undefined }) })
    fc.assert(
      fc.property(fc.array(fc.array(operation, { maxLength: 40 }), { maxLength: 3 }), key, (batches, other) => {
        const model = new Map<string, Uint8Array | undefined>()
        const all = new WriteBatch()
        const newest = new Map<string, number>()
        for (const operations of batches) {
          const batch = new WriteBatch()
          for (const { key, value } of operations) {
            if (value === undefined) batch.del(key)
            else batch.put(key, value)
            model.set(key.join(), value)
          }
          all.merge(batch, newest)
        }
        for (const key of [other, ...batches.flat().map(({ key }) => key)]) {
          expect(all.find(key)).toEqual(model.has(key.join()) ? model.get(key.join()) : 'unknown')
        }
      }),
      { numRuns: runs(100) },
    )
  })

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

  it('merges other batches, of which the newest operation on each key stays', () => {
    const newest = new Map<string, number>()
    const batch = new WriteBatch()
    const merge = (fill: (other: WriteBatch) => void): void => {
      const other = new WriteBatch()
      fill(other)
      batch.merge(other, newest)
    }
    merge((other) => {
      other.put(bytes(1), bytes(1))
      other.put(bytes(2), bytes(2))
      other.put(bytes(1), bytes(3, 3))
    })
    merge((other) => {
      other.del(bytes(2))
      other.put(bytes(4), bytes(4))
    })
    merge((other) => other.put(bytes(4), bytes(5)))
    expect(read(batch)).toEqual([
      [[1], [3, 3]],
      [[2], undefined],
      [[4], [5]],
    ])
    expect([batch.length, batch.bytes]).toEqual([3, 3 + 1 + 2])
    expect(['\u0001', '\u0002', '\u0004'].map((key) => batch.valueAt(newest.get(key)!))).toEqual([
      bytes(3, 3),
      undefined,
      bytes(5),
    ])
    const whole = new WriteBatch()
    whole.append(batch)
    expect(read(whole)).toEqual(read(batch))
    expect(whole.length).toBe(3)
  })
})
