import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Log, logsBloom } from '../../../../src/chain/block/receipt.ts'
import { createHeightCache } from '../../../../src/chain/indexes/heightCache.ts'
import {
  bloomLogHeights,
  forEachLogEntry,
  indexedLogHeights,
  logIndexKeys,
  mayBePacked,
} from '../../../../src/chain/indexes/logIndex.ts'
import { bytesToHex, concatBytes, EMPTY_BYTES } from '../../../../src/primitives/bytes.ts'
import { keccak256 } from '../../../../src/primitives/hash.ts'
import { WriteBatch } from '../../../../src/storage/batch.ts'
import { Column, columnKey, heightBytes, prefixEnd } from '../../../../src/storage/columns.ts'
import { Database } from '../../../../src/storage/database.ts'

const BLOCKS = 3_000
const ADDRESS = new Uint8Array(20).fill(0xaa)
const EVEN = new Uint8Array(32).fill(0xe0)

let directory: string
let database: Database

/** Every block has a log of one address, every second one with a topic. */
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-logs-'))
  database = await Database.open(join(directory, 'db'))
  const batch = new WriteBatch()
  for (let height = 0; height < BLOCKS; height++) {
    const log: Log = { address: ADDRESS, topics: height % 2 === 0 ? [EVEN] : [], data: EMPTY_BYTES }
    for (const key of logIndexKeys(height, [log])) batch.put(key, EMPTY_BYTES)
  }
  await database.write(batch, { sync: false })
})
afterAll(async () => {
  await database.close()
  rmSync(directory, { recursive: true })
})

it('has a key for each different address and topic of a position, and one for any log', () => {
  const item = (length: number) => fc.constantFrom(...[1, 2, 3].map((byte) => new Uint8Array(length).fill(byte)))
  const log = fc.record({
    address: item(20),
    topics: fc.array(item(32), { maxLength: 4 }),
    data: fc.constant(EMPTY_BYTES),
  })
  fc.assert(
    fc.property(fc.array(log, { minLength: 1, maxLength: 12 }), (logs) => {
      const keyOf = (kind: number, digest: Uint8Array) =>
        bytesToHex(concatBytes(Uint8Array.of(Column.logTerm, kind), digest.subarray(0, 8), heightBytes(7)))
      const expected = new Set([keyOf(0, new Uint8Array(8))])
      for (const { address, topics } of logs) {
        expected.add(keyOf(1, keccak256(address)))
        for (const [position, topic] of topics.entries()) expected.add(keyOf(2 + position, keccak256(topic)))
      }
      const keys = logIndexKeys(7, logs).map(bytesToHex)
      expect(keys.toSorted()).toEqual([...expected].toSorted())
    }),
  )
})

/** An address of which there is no log. */
const absent = (index: number): Uint8Array => Buffer.alloc(20, `absent ${index} `)

it('finds the blocks that have a term of every position', async () => {
  const kept = createHeightCache(100_000)
  const terms = { addresses: [absent(0), ADDRESS], topics: [[EVEN]] }
  for (const [from, to] of [
    [11, 21],
    [12, 20],
    [11, 25],
    [0, 21],
  ] as const) {
    const even = Array.from({ length: to - from + 1 }, (_, index) => from + index).filter((height) => height % 2 === 0)
    expect(await indexedLogHeights(database, kept, terms, { from, to })).toEqual(even)
  }
})

it.each([
  ['many entries', { addresses: [ADDRESS], topics: [[EVEN]] }, 4],
  [
    'many lists without entries',
    { addresses: Array.from({ length: 1_000 }, (_, index) => absent(index)), topics: [] },
    40,
  ],
])('lets others run while it reads %s, and ends when the time is over', async (_, terms, least) => {
  let pauses = 0
  const count = async (): Promise<void> => void pauses++
  const blocks = { from: 0, to: BLOCKS }
  const kept = createHeightCache(100_000)
  await indexedLogHeights(database, kept, terms, blocks, count)
  expect(pauses).toBeGreaterThanOrEqual(least)
  const stop = (): Promise<void> => Promise.reject(new Error('time is over'))
  await expect(indexedLogHeights(database, createHeightCache(100_000), terms, blocks, stop)).rejects.toThrow(
    'time is over',
  )
})

it('finds the same blocks without the index, lets others run, and ends when the time is over', async () => {
  const logAt = (height: number): Log[] =>
    height < 10 ? [] : [{ address: ADDRESS, topics: height % 2 === 0 ? [EVEN] : [], data: EMPTY_BYTES }]
  const headerAt = (height: number) => (height > 25 ? undefined : { logsBloom: logsBloom(logAt(height)) })
  const find = (addresses: Uint8Array[], topics: Uint8Array[][]) =>
    Array.fromAsync(bloomLogHeights({ headerAt, hasDecoded: () => false }, { addresses, topics }, 8, 27))
  // Nobody knows what blocks without a header have.
  expect(await find([absent(0), ADDRESS], [[], [EVEN]])).toEqual([10, 12, 14, 16, 18, 20, 22, 24, 26, 27])
  expect(await find([absent(0)], [[EVEN]])).toEqual([26, 27])
  expect(await find([], [])).toEqual(Array.from({ length: 18 }, (_, index) => 10 + index))
  const stop = (): Promise<void> => Promise.reject(new Error('time is over'))
  const empty = { headerAt: () => headerAt(0), hasDecoded: () => false }
  const scan = bloomLogHeights(empty, { addresses: [], topics: [] }, 0, 200, stop)
  await expect(Array.fromAsync(scan)).rejects.toThrow('time is over')
})

/** Logs of a block with thousands of different topics, none of which another block has. */
const manyLogs = (height: number, count: number): Log[] =>
  Array.from({ length: count }, (_, index) => {
    const topics = [0, 1, 2, 3].map((position) => keccak256(Uint8Array.of(height, position, index >> 8, index)))
    return { address: ADDRESS, topics, data: EMPTY_BYTES }
  })

it('packs the terms of blocks with thousands of them, finds each, and finds what an older version wrote', async () => {
  const db = await Database.open(join(directory, 'packed'))
  const written = new WriteBatch()
  const blocks = new Map([
    [1, manyLogs(1, 2_000)],
    [2, manyLogs(2, 10)],
    [3, manyLogs(3, 2_000)],
    [4, manyLogs(4, 2_000)],
  ])
  const SEPARATE = 3
  const sizes = [...blocks].map(([height, logs]) => {
    const { length } = written
    forEachLogEntry(height, logs, height !== SEPARATE, (key, value) => written.put(key, value))
    return written.length - length
  })
  expect(sizes).toEqual([257, 42, 8_002, 257])
  await db.write(written, { sync: false })
  const found = (addresses: Uint8Array[], topics: Uint8Array[][], from = 0, to = 9) =>
    indexedLogHeights(db, createHeightCache(100_000), { addresses, topics }, { from, to })
  for (const [height, logs] of blocks) {
    for (const { topics } of [logs[0]!, logs[7]!, logs.at(-1)!]) {
      for (const [position, topic] of topics.entries()) {
        const byPosition = Array.from({ length: position }, (): Uint8Array[] => [])
        expect(await found([], [...byPosition, [topic]])).toEqual([height])
        expect(await found([ADDRESS], [...byPosition, [topic, EVEN]])).toEqual([height])
        expect(await found([absent(0)], [...byPosition, [topic]])).toEqual([])
        // of another position
        expect(await found([], [...byPosition, [], [topic]])).toEqual([])
      }
    }
  }
  expect(await found([ADDRESS], [])).toEqual([1, 2, 3, 4])
  expect(await found([], [])).toEqual([1, 2, 3, 4])
  expect(await found([ADDRESS], [], 2, 3)).toEqual([2, 3])
  expect(await found([absent(0)], [[EVEN]])).toEqual([])

  // What is deleted is what there is, whichever form it has.
  expect([...blocks.keys()].filter((height) => !mayBePacked(db, height))).toEqual([2, SEPARATE])
  const removed = new WriteBatch()
  for (const [height, logs] of blocks) {
    forEachLogEntry(height, logs, mayBePacked(db, height), (key) => removed.del(key))
  }
  await db.write(removed, { sync: false })
  const columns = [Column.logTerm, Column.packedLogTerms].map((column) => columnKey(column))
  for (const start of columns) expect(await Array.fromAsync(db.entries({ start, end: prefixEnd(start) }))).toEqual([])
  await db.close()
})
