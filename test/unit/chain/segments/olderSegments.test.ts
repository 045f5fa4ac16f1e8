import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { makeNextHashFile, updateHashFiles } from '../../../../src/chain/indexes/makeHashFiles.ts'
import { dropBlockBodies } from '../../../../src/chain/retention/dropBlockBodies.ts'
import {
  listNextSegment,
  type MoveRules,
  makeNextSegment,
  moveBlocks,
  readFilled,
  readMoved,
  writeFilled,
} from '../../../../src/chain/segments/moveBlocks.ts'
import { SEGMENT_BLOCKS } from '../../../../src/chain/segments/segments.ts'
import { tidySegments } from '../../../../src/chain/segments/tidySegments.ts'
import {
  type ChainReader,
  openChainReader,
  RESTORED_KEY,
  writeOldestBlocks,
} from '../../../../src/chain/store/chainReader.ts'
import { readOlderBlock, type VerifiedBlock } from '../../../../src/chain/store/olderBlocks.ts'
import { writeUnrankedSet } from '../../../../src/chain/store/validatorRecords.ts'
import { putBodyEntries, putHashEntries, writeHeadRecord } from '../../../../src/chain/store/writeBlock.ts'
import { writeOlderBlocks } from '../../../../src/chain/store/writeOlderBlocks.ts'
import { reindex } from '../../../../src/datadir/reindex.ts'
import { bytesToHex } from '../../../../src/primitives/bytes.ts'
import { ed25519Key } from '../../../../src/primitives/ed25519.ts'
import { sha256 } from '../../../../src/primitives/hash.ts'
import { WriteBatch } from '../../../../src/storage/batch.ts'
import { Column, columnKey, heightBytes } from '../../../../src/storage/columns.ts'
import { Database } from '../../../../src/storage/database.ts'
import { GENESIS_HASH_KEY } from '../../../../src/storage/format.ts'
import { PROPERTY_RUNS } from '../../../propertyRuns.ts'
import { writeOldChain } from '../../../support/chain/segments/oldChain.ts'

const KEYS = [ed25519Key(sha256(Uint8Array.of(1)))]
const SETTLED = 10

let directory: string
let full: Database
let source: ChainReader
let node: Database
let head: number
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'coind-older-'))
})
afterEach(async () => {
  await full.close()
  await node.close()
  rmSync(directory, { recursive: true })
})

/** A chain of others from `first` on, and a node that has it from `base` on. */
async function begin(first: number, base: number, newest: number, isFull = (_height: number) => false): Promise<void> {
  head = newest
  full = await Database.open(join(directory, 'full'))
  await writeOldChain(full, { base: first, head, keysAt: () => KEYS, isFull })
  source = openChainReader(full)
  node = await Database.open(join(directory, 'node'))
  const batch = new WriteBatch()
  copyBlocks(batch, base, head)
  const decided = { blockId: source.blockId(head)!, seenCommit: source.seenCommit(head)! }
  writeHeadRecord(batch, { height: head, decided, resultsHash: new Uint8Array(32) })
  writeOldestBlocks(batch, { base, oldestBlock: base })
  writeUnrankedSet(batch, node, base, source.validatorSetAt(base)!)
  batch.put(RESTORED_KEY, Buffer.concat([heightBytes(base), new Uint8Array(32)]))
  batch.put(GENESIS_HASH_KEY, full.get(GENESIS_HASH_KEY)!)
  await node.write(batch, { sync: false })
}

/** As the executor writes them, with what they have in the indexes of hashes. */
function copyBlocks(batch: WriteBatch, from: number, to: number): void {
  for (let height = from; height <= to; height++) {
    for (const column of [Column.header, Column.consensusBlock, Column.results]) {
      const key = columnKey(column, heightBytes(height))
      const value = full.get(key)
      if (value !== undefined) batch.put(key, value)
    }
    putHashEntries(batch, { height, hash: source.hash(height)!, consensusHash: source.blockId(height)!.hash })
    const [entries, events] = [source.entryResults(height)!, source.blockEvents(height)!]
    putBodyEntries(batch, { height, entries, events, isIndexed: false })
  }
}

/** Adds older blocks down to `lowest`. */
async function fill(lowest: number): Promise<void> {
  const { base } = openChainReader(node)
  const blocks = Array.from({ length: base - lowest }, (_, index): VerifiedBlock => {
    const height = base - 1 - index
    const { validatorsHash } = source.consensusBlock(height)!.header
    const consensusHash = source.blockId(height)!.hash
    return { ...readOlderBlock(source, height)!, height, hash: source.hash(height)!, consensusHash, validatorsHash }
  })
  const batch = new WriteBatch()
  writeOlderBlocks(batch, node, blocks)
  await node.write(batch, { sync: false })
}

/** Makes segments, lists them and moves their blocks, with as many steps as it takes; the node is opened anew between some. */
async function pack(expectsOlder: boolean, operations: number): Promise<void> {
  const rules: MoveRules = { unpackedBlocks: SETTLED, dropsBodies: false, expectsOlder: () => expectsOlder }
  for (let step = 0; ; step++) {
    const pause = async (): Promise<void> => undefined
    const isMade = (await makeNextSegment(node, rules, pause)) || (await makeNextHashFile(node, pause))
    const batch = new WriteBatch()
    listNextSegment(node, batch, head, rules)
    updateHashFiles(node, batch)
    moveBlocks(node, batch, operations)
    await node.write(batch, { sync: false })
    if (step % 3 === 1) {
      await node.close()
      node = await Database.open(join(directory, 'node'))
      await tidySegments(node)
      expectSame()
    }
    if (!isMade && batch.length === 0) break
  }
  await tidySegments(node)
  expectSame()
}

/** What the node says of each of its blocks is what the others say. */
function expectSame(): void {
  const chain = openChainReader(node)
  const describe = (of: ChainReader) =>
    Array.from({ length: head - chain.base }, (_, index) => {
      const height = chain.base + index
      const [block, hash, consensusHash] = [of.encodedBlock(height)!, of.hash(height)!, of.blockId(height)!.hash]
      return [bytesToHex(sha256(block)), of.heightOf(hash), of.heightOfConsensusHash(consensusHash)].join()
    })
  expect(describe(chain)).toEqual(describe(source))
}

const files = (): string[] => {
  const names = readdirSync(join(directory, 'node', 'segments'))
  return names.filter((name) => name.endsWith('.segment')).toSorted()
}
/** Heights of the blocks in LevelDB. */
const stored = (): number[] => {
  const found: number[] = []
  for (let height = source.base; height <= head; height++) {
    if (node.get(columnKey(Column.header, heightBytes(height))) !== undefined) found.push(height)
  }
  return found
}
const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, index) => from + index)

it('a segment waits for the older blocks that are expected in it, and is made again for those that nobody expected', async () => {
  await begin(SEGMENT_BLOCKS - 90, SEGMENT_BLOCKS - 40, SEGMENT_BLOCKS + 20)
  await pack(true, 150)
  expect(stored()).toHaveLength(61)
  await fill(SEGMENT_BLOCKS - 60)
  await pack(true, 150)
  expect(stored()).toHaveLength(81)
  await pack(false, 150)
  expect(files()).toEqual(['000008132-000008191.segment'])
  expect([readFilled(node), readMoved(node)]).toEqual([SEGMENT_BLOCKS - 60, SEGMENT_BLOCKS])
  expect(stored()).toEqual(range(SEGMENT_BLOCKS, head + 1))

  await fill(SEGMENT_BLOCKS - 80)
  await pack(true, 150)
  expect(stored().slice(0, 21)).toEqual([...range(SEGMENT_BLOCKS - 80, SEGMENT_BLOCKS - 60), SEGMENT_BLOCKS])
  await fill(SEGMENT_BLOCKS - 90)
  await pack(false, 150)
  expect(files()).toEqual(['000008102-000008191.segment'])
  expect([readFilled(node), readMoved(node)]).toEqual([SEGMENT_BLOCKS - 90, SEGMENT_BLOCKS])
  expect(stored()).toEqual(range(SEGMENT_BLOCKS, head + 1))
  const found = await reindex({
    database: node,
    index: 'off',
    progressOf: () => ({ update: () => undefined, end: () => undefined }),
  })
  expect(found).toEqual({})
})

it('bodies that are below the segments are dropped where they are, in LevelDB', async () => {
  const middle = SEGMENT_BLOCKS - 40
  await begin(SEGMENT_BLOCKS - 60, middle, SEGMENT_BLOCKS + 20, (height) => height % 5 === 0)
  await pack(false, 150)
  // The blocks between the one with which a node began and its first whole segment have bodies.
  const lowest = SEGMENT_BLOCKS - 60
  const batch = new WriteBatch()
  writeFilled(batch, node)
  copyBlocks(batch, lowest, middle - 1)
  writeOldestBlocks(batch, { base: lowest, oldestBlock: lowest })
  await node.write(batch, { sync: false })
  const hashes = range(lowest, middle + 20).flatMap((height) =>
    source.transactions(height)!.map(({ transaction }) => transaction.hash),
  )
  const places = () => hashes.map((hash) => openChainReader(node).locate(hash)?.height)
  expect(places()).toEqual(range(lowest, middle + 20).filter((height) => height % 5 === 0))

  const drops = new WriteBatch()
  dropBlockBodies(node, drops, middle + 10, 1_000)
  await node.write(drops, { sync: false })
  expect(places().filter((height) => height !== undefined)).toEqual(
    range(middle + 10, middle + 20).filter((height) => height % 5 === 0),
  )
  const chain = openChainReader(node)
  expect(range(lowest, middle).flatMap((height) => chain.consensusBlock(height)!.txs)).toEqual([])
  for (const hash of hashes.slice(0, 6)) expect(node.get(columnKey(Column.transaction, hash))).toBeUndefined()
  for (const height of range(lowest, middle)) {
    expect(node.get(columnKey(Column.results, heightBytes(height)))).toBeUndefined()
    expect(chain.header(height)).toEqual(source.header(height))
  }
})

it.runIf(PROPERTY_RUNS > 1)('older blocks become whole segments, while newer ones do', async () => {
  const base = SEGMENT_BLOCKS + 5_000
  await begin(SEGMENT_BLOCKS - 100, base, 3 * SEGMENT_BLOCKS + SETTLED)
  await pack(true, 40_000)
  // The first whole one, since the one with the base in its middle waits.
  expect(files()).toEqual(['000016384-000024575.segment'])
  await fill(SEGMENT_BLOCKS + 1_000)
  await pack(true, 40_000)
  expect(files()).toHaveLength(1)
  await fill(SEGMENT_BLOCKS - 50)
  await pack(true, 40_000)
  expect(files()).toEqual(['000008192-000016383.segment', '000016384-000024575.segment'])
  expect([readFilled(node), readMoved(node)]).toEqual([SEGMENT_BLOCKS, 3 * SEGMENT_BLOCKS])
  expect(stored()).toEqual([...range(SEGMENT_BLOCKS - 50, SEGMENT_BLOCKS), ...range(3 * SEGMENT_BLOCKS, head + 1)])
})
