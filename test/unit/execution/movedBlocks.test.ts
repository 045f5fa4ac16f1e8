import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { hashFilesKey, readAllHashFiles, readHashFiles } from '../../../src/chain/indexes/hashFileList.ts'
import { makeNextHashFile } from '../../../src/chain/indexes/makeHashFiles.ts'
import { makeNextSegment, moveRules, readMoved } from '../../../src/chain/segments/moveBlocks.ts'
import { SEGMENT_BLOCKS } from '../../../src/chain/segments/segments.ts'
import { termsKey } from '../../../src/chain/segments/segmentTerms.ts'
import { tidySegments } from '../../../src/chain/segments/tidySegments.ts'
import { openChainReader } from '../../../src/chain/store/chainReader.ts'
import { makeBackup } from '../../../src/datadir/backup.ts'
import { copyDatabase } from '../../../src/datadir/copyDatabase.ts'
import { reindex } from '../../../src/datadir/reindex.ts'
import { checkRollback } from '../../../src/datadir/rollback.ts'
import { createPruner, type PruneRequest, pruneNow } from '../../../src/execution/pruner.ts'
import { bytesToHex, hexToBytes } from '../../../src/primitives/bytes.ts'
import { sha256, ZERO_HASH } from '../../../src/primitives/hash.ts'
import { writeOldestHeight, writeStateHead } from '../../../src/state/head.ts'
import { WriteBatch } from '../../../src/storage/batch.ts'
import { Column, columnKey, heightBytes, readHeight } from '../../../src/storage/columns.ts'
import { Database } from '../../../src/storage/database.ts'
import { segmentFiles } from '../../../src/storage/segmentFile.ts'
import { writeOldChain } from '../../support/chain/segments/oldChain.ts'

const BASE = SEGMENT_BLOCKS - 100
const HEAD = SEGMENT_BLOCKS + 1_030
/** The pruner looks for a segment with each 64th block. */
const LISTING = HEAD + 64 - (HEAD % 64)

let directory: string
let database: Database
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-moved-'))
  database = await Database.open(join(directory, 'db'))
  await writeOldChain(database, { base: BASE, head: HEAD, validators: 1 })
})
afterEach(async () => {
  await database.close()
  rmSync(directory, { recursive: true })
})

const OPTIONS = {
  state: { dropHistory: () => undefined },
  pruning: 'archive',
  blockHistory: 0,
  durableHeight: () => 0,
} as const

/** Writes what a pruner does with a block. @returns how many puts and deletes that is */
function blocksOn(pruner: ReturnType<typeof createPruner>): (height: number) => Promise<number> {
  return async (height) => {
    pruner.prepare(height)
    const batch = new WriteBatch()
    pruner.drop(batch, height)
    await database.write(batch, { sync: false })
    return batch.length
  }
}

/** Moves the blocks of the first segment. @returns how many were moved after each batch */
async function moveAll(): Promise<number[]> {
  const next = blocksOn(createPruner({ ...OPTIONS, database }))
  expect(await next(HEAD + 1)).toBe(0)
  await makeNextSegment(database, moveRules('archive', 0), async () => undefined)
  expect(await next(LISTING - 1)).toBe(0)
  // The segment and its terms, and where segments begin and end.
  expect(await next(LISTING)).toBe(4)
  for (let made = 0; made < 2; made++) expect(await makeNextHashFile(database, async () => undefined)).toBe(true)
  expect(await makeNextHashFile(database, async () => undefined)).toBe(false)
  const moved: number[] = []
  for (let height = LISTING + 1; readMoved(database) < SEGMENT_BLOCKS; height++) {
    expect(await next(height)).toBeLessThan(300)
    if (readMoved(database) > BASE) moved.push(readMoved(database) - BASE)
  }
  expect(await next(LISTING + 1)).toBe(0)
  return moved
}

it('the batches of blocks move those of a segment, a bounded part each, and a copy of the database has it too', async () => {
  const expected = openChainReader(database).encodedBlock(BASE + 1)
  const moved = await moveAll()
  expect(moved.length).toBeGreaterThan(2)
  expect(moved.at(-1)).toBe(100)
  expect(database.get(columnKey(Column.consensusBlock, heightBytes(BASE + 1)))).toBeUndefined()

  const batch = new WriteBatch()
  writeStateHead(batch, HEAD, ZERO_HASH)
  writeOldestHeight(batch, BASE)
  await database.write(batch, { sync: false })
  expect(checkRollback(database, SEGMENT_BLOCKS - 1)).toBe(HEAD)
  expect(() => checkRollback(database, SEGMENT_BLOCKS - 2)).toThrow(/the earliest possible block is 8191$/)

  const location = join(directory, 'copy')
  await copyDatabase(database.location, location)
  const copy = await Database.open(location)
  await tidySegments(copy)
  expect(openChainReader(copy).encodedBlock(BASE + 1)).toEqual(expected)
  await copy.close()
})

it('a backup has the segment, and is none when that is damaged', async () => {
  const expected = openChainReader(database).encodedBlock(BASE + 1)
  await moveAll()
  mkdirSync(join(directory, 'config'))
  writeFileSync(join(directory, 'config', 'genesis.json'), '{}')
  const read: number[] = []
  const backUp = (name: string) =>
    makeBackup({
      homedir: directory,
      out: join(directory, name),
      withKeys: false,
      signal: new AbortController().signal,
      onProgress: (bytes) => void read.push(bytes),
      pause: async () => undefined,
    })
  expect(await backUp('backup')).toBe(HEAD)
  const copy = await Database.open(join(directory, 'backup', 'db'))
  expect(openChainReader(copy).encodedBlock(BASE + 1)).toEqual(expected)
  await copy.close()
  const [segment] = segmentFiles(database.location)
  expect(read.at(-1)).toBeGreaterThan(statSync(segment!).size)

  const bytes = readFileSync(segment!)
  bytes[bytes.length >> 1]! ^= 1
  writeFileSync(segment!, bytes)
  await expect(backUp('damaged')).rejects.toThrow(/segment.* is damaged/)
  rmSync(segment!)
  await expect(backUp('damaged')).rejects.toThrow(/segment is damaged \(it is missing/)
})

const HEADERS = {
  blockHistory: 10,
  ownBlocks: 10,
  evidence: { maxAgeBlocks: 1, maxAgeMs: 1 },
  trustPeriodMs: 1,
} as const

it('headers go with a segment that still has bodies, and with its terms', async () => {
  await moveAll()
  expect(segmentFiles(database.location)).toHaveLength(4)
  const progressOf = () => ({ update: () => undefined, end: () => undefined })
  const settings = { pruning: 'archive', blockHistory: 10, index: 'all' } as const
  const pruned = await pruneNow({ database, ...settings, headers: HEADERS, progressOf })
  expect(pruned).toMatchObject({ headers: SEGMENT_BLOCKS - BASE, files: 0 })
  for (const column of [Column.hashFile, Column.segment, Column.segmentTerms])
    expect(await entriesOf(column)).toEqual([])
  expect(segmentFiles(database.location)).toEqual([])
  await tidySegments(database)
})

it('bodies go from the segment, then headers, also of a chain that began with a snapshot and has no validators before it', async () => {
  await moveAll()
  const [whole, , blocks] = segmentFiles(database.location)
  const told: string[] = []
  const progressOf: PruneRequest['progressOf'] = ({ title, total }) => {
    told.push(`${title}: ${total}`)
    return { update: () => undefined, end: () => undefined }
  }
  const settings = { pruning: 'archive', blockHistory: 10, index: 'all' } as const
  const pruned = await pruneNow({ database, ...settings, progressOf })
  expect(pruned).toEqual({ states: 0, bodies: HEAD - 10 - BASE, headers: 0, files: 1, indexEntries: 0 })
  expect(told).toEqual([`deleting old blocks: ${HEAD - 10 - BASE}`, 'deleting old blocks from files: 1'])
  expect(segmentFiles(database.location)).toEqual([whole!.replace('.segment', '-bare.segment'), blocks])

  const next = blocksOn(createPruner({ ...OPTIONS, database, headers: HEADERS, durableHeight: () => HEAD + 1_000 }))
  for (let height = HEAD + 1; height < HEAD + 60; height++) await next(height)
  expect(openChainReader(database).base).toBe(SEGMENT_BLOCKS)
  expect([await entriesOf(Column.hashFile), segmentFiles(database.location)]).toEqual([[], []])
})

async function entriesOf(column: number): Promise<string[]> {
  const found: string[] = []
  const range = { start: columnKey(column), end: columnKey(column + 1) }
  for await (const [key, value] of database.entries(range)) found.push(`${bytesToHex(key)} ${bytesToHex(value)}`)
  return found
}

it('a reindex makes the files with their hashes anew, and removes what LevelDB has of them', async () => {
  await moveAll()
  const progressOf = () => ({ update: () => undefined, end: () => undefined })
  const run = () => reindex({ database, index: 'all', progressOf })
  expect(await run()).toEqual({})
  const before = await entriesOf(Column.hashFile)
  // Two hashes of each block, and three of the two transactions in every tenth.
  expect(readAllHashFiles(database).map(({ of, count }) => [of, count])).toEqual([
    ['blocks', 2 * 100],
    ['transactions', 3 * 10],
  ])
  const chain = openChainReader(database)
  const transaction = chain.transactions(SEGMENT_BLOCKS - 2)![0]!.transaction
  const left = new WriteBatch()
  left.put(columnKey(Column.blockHash, chain.hash(BASE)!), heightBytes(BASE))
  left.put(columnKey(Column.shortHash, Uint8Array.of(0), chain.hash(BASE)!.subarray(0, 8)), Uint8Array.of(1, 0))
  const envelope = Uint8Array.of(4, ...sha256(transaction.raw).subarray(0, 6))
  left.put(columnKey(Column.eventTerm, envelope, heightBytes(SEGMENT_BLOCKS - 2)), new Uint8Array(0))
  left.del(hashFilesKey('transactions'))
  await database.write(left, { sync: false })
  expect(openChainReader(database).locate(transaction.hash)).toBeUndefined()
  const [extra, missing] = [
    { missing: 0, changed: 0, extra: 1 },
    { missing: 1, changed: 0, extra: 0 },
  ]
  expect(await run()).toEqual({ blockHash: extra, shortHash: extra, eventTerm: extra, hashFile: missing })
  expect(await entriesOf(Column.hashFile)).toEqual(before)

  const [file] = segmentFiles(database.location).filter((path) => path.endsWith('-blocks.hashes'))
  const bytes = readFileSync(file!)
  writeFileSync(file!, bytes.subarray(1))
  expect(await run()).toEqual({ hashFile: { missing: 0, changed: 1, extra: 0 } })
  expect(readFileSync(file!)).toEqual(bytes)
  // Interrupted after the lists were emptied, with a damaged file that is in no list any more.
  const end = new AbortController()
  const interrupted = () => ({ update: () => end.abort(), end: () => undefined })
  await expect(reindex({ database, index: 'all', progressOf: interrupted, signal: end.signal })).rejects.toThrow()
  const emptied = new WriteBatch()
  for (const of of ['blocks', 'transactions'] as const) emptied.del(hashFilesKey(of))
  await database.write(emptied, { sync: false })
  writeFileSync(file!, bytes.subarray(1))
  expect(await run()).toEqual({})
  expect(readHashFiles(database, 'blocks')).toHaveLength(1)
  expect([await entriesOf(Column.hashFile), readFileSync(file!)]).toEqual([before, bytes])
})

it('a reindex mends their terms, and takes them to a file where an older version left them in LevelDB', async () => {
  const logs = async () =>
    (await Array.fromAsync(openChainReader(database).logHeights({ addresses: [], topics: [] }, BASE, HEAD))).flat()
  const expected = await logs()
  const stored = await Promise.all([Column.logTerm, Column.eventTerm].map(entriesOf))
  await moveAll()
  const left = await Promise.all([Column.logTerm, Column.eventTerm].map(entriesOf))
  const progressOf = () => ({ update: () => undefined, end: () => undefined })
  const run = () => reindex({ database, index: 'all', progressOf })
  expect(await run()).toEqual({})

  const [file] = segmentFiles(database.location).filter((path) => path.endsWith('.terms'))
  const whole = readFileSync(file!)
  const damaged = Uint8Array.from(whole)
  damaged[whole.length >> 1]! ^= 1
  writeFileSync(file!, damaged)
  expect(await run()).toEqual({})
  expect(readFileSync(file!)).toEqual(whole)

  const older = new WriteBatch()
  older.del(termsKey(BASE))
  let terms = 0
  for (const entry of stored.flat()) {
    const key = hexToBytes(entry.split(' ')[0]!)
    if (readHeight(key, key.length - 6) >= SEGMENT_BLOCKS || left.flat().includes(entry)) continue
    older.put(key, new Uint8Array(0))
    terms++
  }
  await database.write(older, { sync: false })
  rmSync(file!)
  expect(await logs()).toEqual(expected)
  const { segmentTerms, logTerm, eventTerm, ...others } = await run()
  expect([segmentTerms, others]).toEqual([{ missing: 1, changed: 0, extra: 0 }, {}])
  expect(logTerm!.extra + eventTerm!.extra).toBe(terms)
  expect(readFileSync(file!)).toEqual(whole)
  expect(await logs()).toEqual(expected)
  expect(await Promise.all([Column.logTerm, Column.eventTerm].map(entriesOf))).toEqual(left)
  expect(await run()).toEqual({})
})

it('a prune with INDEX=off removes their terms, and a reindex makes them again', async () => {
  const logs = async () =>
    (await Array.fromAsync(openChainReader(database).logHeights({ addresses: [], topics: [] }, BASE, HEAD))).flat()
  const expected = await logs()
  await moveAll()
  const progressOf = () => ({ update: () => undefined, end: () => undefined })
  const signal = new AbortController().signal
  const settings = { pruning: 'archive', blockHistory: 0, index: 'off' } as const
  expect((await pruneNow({ database, progressOf, signal, ...settings })).indexEntries).toBeGreaterThan(0)
  expect(segmentFiles(database.location).filter((path) => path.endsWith('.terms'))).toEqual([])
  expect(await entriesOf(Column.logTerm)).toEqual([])
  // By the bloom filters of headers.
  expect(await logs()).toEqual(expected)
  await reindex({ database, index: 'all', progressOf })
  expect(openChainReader(database).indexedFrom).toBe(0)
  expect(await logs()).toEqual(expected)
  await tidySegments(database)
  expect(segmentFiles(database.location)).toHaveLength(4)
})
