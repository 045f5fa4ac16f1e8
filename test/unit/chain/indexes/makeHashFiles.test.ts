import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { entryHash } from '../../../../src/chain/block/entries.ts'
import { ENVELOPE_HASH_KEY } from '../../../../src/chain/indexes/eventIndex.ts'
import { hashFilePath } from '../../../../src/chain/indexes/hashFile.ts'
import { readAllHashFiles, writeHashFiles } from '../../../../src/chain/indexes/hashFileList.ts'
import {
  completeHashFiles,
  makeNextHashFile,
  missesHashes,
  updateHashFiles,
  updateHashFilesNow,
} from '../../../../src/chain/indexes/makeHashFiles.ts'
import {
  listNextSegment,
  type MoveRules,
  makeNextSegment,
  moveBlocks,
  readMoved,
} from '../../../../src/chain/segments/moveBlocks.ts'
import { SEGMENT_BLOCKS } from '../../../../src/chain/segments/segments.ts'
import { tidySegments } from '../../../../src/chain/segments/tidySegments.ts'
import { type ChainReader, openChainReader, writeOldestBlocks } from '../../../../src/chain/store/chainReader.ts'
import { bytesToHex } from '../../../../src/primitives/bytes.ts'
import { sha256 } from '../../../../src/primitives/hash.ts'
import { WriteBatch } from '../../../../src/storage/batch.ts'
import { Database } from '../../../../src/storage/database.ts'
import { writeOldChain } from '../../../support/chain/segments/oldChain.ts'

const BASE = SEGMENT_BLOCKS - 96
const LAST = SEGMENT_BLOCKS - 1
const HEAD = SEGMENT_BLOCKS + 20
const RULES: MoveRules = { unpackedBlocks: 10, dropsBodies: false }
/** So few hashes are sorted at once that there are several files of each kind. */
const MAX_SORTED = 40

const pause = async (): Promise<void> => undefined

let directory: string
let database: Database
let expected: readonly string[]
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-hashes-'))
  database = await Database.open(join(directory, 'db'))
  await writeOldChain(database, { base: BASE, head: HEAD })
  expected = await describeHashes(openChainReader(database))
  await makeNextSegment(database, RULES, pause)
  await write((batch) => listNextSegment(database, batch, HEAD, RULES))
})
afterEach(async () => {
  await database.close()
  rmSync(directory, { recursive: true })
})

async function write(fill: (batch: WriteBatch) => void): Promise<void> {
  const batch = new WriteBatch()
  fill(batch)
  await database.write(batch, { sync: true })
}

/** As a kill and a start do. */
async function reopen(): Promise<void> {
  await database.close()
  database = await Database.open(join(directory, 'db'))
  await tidySegments(database)
}

/** What is found by each hash of each block. */
async function describeHashes(chain: ChainReader): Promise<readonly string[]> {
  const lines: string[] = []
  for (let height = BASE; height <= HEAD; height++) {
    const found = [chain.heightOf(chain.hash(height)!), chain.heightOfConsensusHash(chain.blockId(height)!.hash)]
    for (const entry of chain.entryResults(height)!) {
      if (entry.kind === 'native') found.push(chain.locateNative(entryHash(entry.raw))?.position)
      if (entry.kind !== 'evm') continue
      const { hash, raw } = entry.signed.transaction
      const value = bytesToHex(sha256(raw)).slice(2)
      const heights = chain.eventHeights([{ key: ENVELOPE_HASH_KEY, value }], BASE, HEAD)
      found.push(chain.locate(hash)?.height, ...(await Array.fromAsync(heights)))
    }
    lines.push(`${height}: ${found.join()}`)
  }
  return lines
}

async function expectSame(): Promise<void> {
  expect(await describeHashes(openChainReader(database))).toEqual(expected)
}

async function moveAll(): Promise<void> {
  while (readMoved(database) <= LAST) await write((batch) => moveBlocks(database, batch, 10_000))
}

const hashFiles = (): string[] =>
  readdirSync(join(database.location, 'segments')).filter((name) => name.endsWith('.hashes'))
const ranges = (of: string) =>
  readAllHashFiles(database)
    .filter((file) => file.of === of)
    .map(({ first, last }) => [first - BASE, last - BASE])

it('files are made, listed and merged until a few have all hashes, wherever a kill interrupts it', async () => {
  const lengths: number[] = []
  for (let step = 0; ; step++) {
    const hasMade = await makeNextHashFile(database, pause, MAX_SORTED)
    // Killed before it was listed: it is removed, and made again.
    if (step % 5 === 2) {
      await reopen()
      expect(await makeNextHashFile(database, pause, MAX_SORTED)).toBe(hasMade)
    }
    const isListed = await updateHashFilesNow(database)
    lengths.push(readAllHashFiles(database).length)
    await write((moves) => moveBlocks(database, moves, 100))
    if (step % 8 === 1) await expectSame()
    if (!missesHashes(database, 'blocks') && !missesHashes(database, 'transactions')) {
      if (!hasMade && !isListed) break
    } else expect(readMoved(database)).toBeLessThan(LAST + 1)
  }
  await moveAll()
  await expectSame()
  expect(lengths.length).toBeGreaterThan(8)
  expect(Math.max(...lengths)).toBeLessThan(8)
  for (const of of ['blocks', 'transactions']) {
    expect(ranges(of)[0]![0]).toBe(0)
    expect(ranges(of).at(-1)![1]).toBe(LAST - BASE)
  }
  expect(hashFiles()).toHaveLength(readAllHashFiles(database).length)
})

it('a file waits to be listed; the two that it was made of stay until then, and are removed at the start after a kill', async () => {
  for (let made = 0; made < 2; made++) {
    expect(await makeNextHashFile(database, pause, MAX_SORTED)).toBe(true)
    await updateHashFilesNow(database)
  }
  const parts = hashFiles()
  expect(parts).toHaveLength(2)
  // The third one, after which the next is of transactions.
  for (const isMade of [true, true, false]) {
    expect(await makeNextHashFile(database, pause, MAX_SORTED)).toBe(isMade)
  }
  expect(hashFiles()).toEqual(expect.arrayContaining(parts))
  const batch = new WriteBatch()
  const unlisted = updateHashFiles(database, batch)
  await database.write(batch, { sync: true })
  expect(unlisted.map((path) => basename(path)).toSorted()).toEqual(parts)
  expect(hashFiles()).toEqual(expect.arrayContaining(parts))
  await reopen()
  expect(hashFiles().filter((name) => parts.includes(name))).toEqual([])
  await expectSame()
})

it('files that a reindex or a repair has taken from the list are made again, without what was left of them', async () => {
  await completeHashFiles(database, pause, MAX_SORTED)
  await moveAll()
  const before = readAllHashFiles(database)
  await write((batch) => {
    for (const of of ['blocks', 'transactions'] as const) writeHashFiles(batch, of, [])
  })
  expect(openChainReader(database).heightOf(openChainReader(database).hash(BASE)!)).toBeUndefined()
  await completeHashFiles(database, pause, MAX_SORTED)
  expect(readAllHashFiles(database)).toEqual(before)
  expect(hashFiles()).toHaveLength(before.length)
  await expectSame()
})

it('a file goes when none of its blocks, or of their bodies, is kept', async () => {
  await completeHashFiles(database, pause, MAX_SORTED)
  await moveAll()
  const blocks = ranges('blocks')
  await write((batch) => writeOldestBlocks(batch, { base: BASE, oldestBlock: LAST + 1 }))
  expect(await updateHashFilesNow(database)).toBe(true)
  expect([ranges('blocks'), ranges('transactions')]).toEqual([blocks, []])
  expect(await makeNextHashFile(database, pause, MAX_SORTED)).toBe(false)
  const base = BASE + blocks[0]![1]! + 1
  await write((batch) => writeOldestBlocks(batch, { base, oldestBlock: LAST + 1 }))
  expect(await updateHashFilesNow(database)).toBe(true)
  expect(ranges('blocks')).toEqual(blocks.slice(1))
  expect(hashFiles()).toHaveLength(blocks.length - 1)
  await tidySegments(database)
})

it('a merge is given up when one of its files was dropped meanwhile, and fails when one is lost', async () => {
  for (let made = 0; made < 2; made++) {
    await makeNextHashFile(database, pause, MAX_SORTED)
    await updateHashFilesNow(database)
  }
  const view = database.snapshot()
  const [file] = readAllHashFiles(database)
  rmSync(hashFilePath(database.location, file!))
  await expect(makeNextHashFile(view, pause, MAX_SORTED)).rejects.toMatchObject({ code: 'corrupt' })
  await write((batch) => writeHashFiles(batch, 'blocks', []))
  expect(await makeNextHashFile(view, pause, MAX_SORTED)).toBe(false)
  await view.close()
})
