import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { entryHash } from '../../../../src/chain/block/entries.ts'
import { hashFilesKey } from '../../../../src/chain/indexes/hashFileList.ts'
import { switchIndexes } from '../../../../src/chain/indexes/indexCoverage.ts'
import { completeHashFiles } from '../../../../src/chain/indexes/makeHashFiles.ts'
import { HashKind } from '../../../../src/chain/indexes/oldHashIndex.ts'
import { dropBlockBodies } from '../../../../src/chain/retention/dropBlockBodies.ts'
import {
  countSegmentsWithBodies,
  listNextBareSegment,
  makeNextBareSegment,
} from '../../../../src/chain/segments/bareSegments.ts'
import {
  listNextSegment,
  type MoveRules,
  makeNextSegment,
  moveBlocks,
  readMoved,
} from '../../../../src/chain/segments/moveBlocks.ts'
import { BlockUnavailable, SEGMENT_BLOCKS } from '../../../../src/chain/segments/segments.ts'
import { findTerms } from '../../../../src/chain/segments/segmentTerms.ts'
import { tidySegments } from '../../../../src/chain/segments/tidySegments.ts'
import { createBlockCache } from '../../../../src/chain/store/blockCache.ts'
import { type ChainReader, openChainReader } from '../../../../src/chain/store/chainReader.ts'
import { writeVarint } from '../../../../src/primitives/bytes.ts'
import { WriteBatch } from '../../../../src/storage/batch.ts'
import { Column, columnKey, heightBytes, readHeight } from '../../../../src/storage/columns.ts'
import { Database } from '../../../../src/storage/database.ts'
import { writeOldChain } from '../../../support/chain/segments/oldChain.ts'

/** The chain begins so that its first segment has 96 blocks. */
const BASE = SEGMENT_BLOCKS - 96
const LAST = SEGMENT_BLOCKS - 1
const HEAD = SEGMENT_BLOCKS + 20
const RULES: MoveRules = { unpackedBlocks: 10, dropsBodies: false }

/** The terms of the last block with transactions in the segment are packed. */
const logsAt = (height: number): number => (height === LAST - 1 ? 1_100 : 1)

let directory: string
let database: Database
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-segments-'))
  database = await Database.open(join(directory, 'db'))
  await writeOldChain(database, { base: BASE, head: HEAD, logsAt })
})
afterEach(async () => {
  await database.close()
  rmSync(directory, { recursive: true })
})

const pause = async (): Promise<void> => undefined

/** One batch of the executor. */
async function step(operations = 100, rules = RULES): Promise<void> {
  const batch = new WriteBatch()
  listNextSegment(database, batch, HEAD, rules)
  moveBlocks(database, batch, operations)
  await database.write(batch, { sync: true })
}

async function moveAll(rules = RULES): Promise<void> {
  while (await makeNextSegment(database, rules, pause)) await step(1, rules)
  while (readMoved(database) <= LAST) {
    await step(10_000, rules)
    await completeHashFiles(database, pause)
  }
}

/** As a crash and a start do. */
async function reopen(): Promise<void> {
  await database.close()
  database = await Database.open(join(directory, 'db'))
  await tidySegments(database)
}

function asText(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  return value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value
}

/** Everything that a reader says of each block, and of each hash, as one text a block. */
async function describeChain(chain: ChainReader) {
  const blocks: string[] = []
  let transactions = 0
  for (let height = BASE - 1; height <= HEAD + 1; height++) {
    const hash = chain.hash(height)
    const consensusHash = chain.blockId(height)?.hash
    const entries = chain.entryResults(height) ?? []
    const located = entries.map((entry) => {
      if (entry.kind === 'evm') return chain.locate(entry.signed.transaction.hash)
      return entry.kind === 'native' ? chain.locateNative(entryHash(entry.raw)) : undefined
    })
    transactions += located.filter((place) => place !== undefined).length
    const described = {
      height,
      timeMs: chain.blockTimeMs(height),
      header: chain.header(height),
      hash,
      heightOf: hash && chain.heightOf(hash),
      heightOfConsensusHash: consensusHash && chain.heightOfConsensusHash(consensusHash),
      consensusBlock: chain.consensusBlock(height),
      encodedBlock: chain.encodedBlock(height),
      blockId: chain.blockId(height),
      seenCommit: chain.seenCommit(height),
      transactions: chain.transactions(height)?.map(({ transaction, sender }) => ({ raw: transaction.raw, sender })),
      receipts: chain.receipts(height),
      size: chain.size(height),
      results: entries.map((entry) => (entry.kind === 'evm' ? entry.receipt : entry)),
      events: chain.blockEvents(height),
      located,
    }
    blocks.push(JSON.stringify(described, asText))
  }
  const logs = (await Array.fromAsync(chain.logHeights({ addresses: [], topics: [] }, BASE, HEAD))).flat()
  const topic = chain.receipts(LAST - 1)?.[0]?.logs[0]?.topics[0]
  const address = new Uint8Array(20).fill(0xcc)
  const terms = { addresses: [address], topics: [topic === undefined ? [] : [topic]] }
  const found = (await Array.fromAsync(chain.logHeights(terms, BASE + 10, HEAD - 1))).flat()
  const sender = { key: 'message.sender', value: `0x${'ee'.repeat(20)}` }
  const events = await Array.fromAsync(chain.eventHeights([sender, { key: 'tx.fee' }], BASE + 5, HEAD))
  return {
    blocks,
    logs,
    found,
    events,
    transactions,
    base: chain.base,
    oldestBlock: chain.oldestBlock,
    headHeight: chain.headHeight,
  }
}

const now = () => describeChain(openChainReader(database))

function countOf(column: number, from = BASE, to = LAST): number {
  let count = 0
  for (let height = from; height <= to; height++) {
    if (database.get(columnKey(column, heightBytes(height))) !== undefined) count++
  }
  return count
}

/** Keys in an index of terms in LevelDB for blocks below a height. */
async function termsIn(column: number, height: number): Promise<Uint8Array[]> {
  const range = { start: columnKey(column), end: columnKey(column + 1) }
  const keys = await Array.fromAsync(database.entries(range), ([key]) => key.slice())
  return keys.filter((key) => readHeight(key, key.length - 6) < height)
}

/** The same for all of these indexes. */
async function termsBelow(height: number): Promise<Uint8Array[]> {
  const keys = [Column.logTerm, Column.packedLogTerms, Column.eventTerm].map((column) => termsIn(column, height))
  return (await Promise.all(keys)).flat()
}

/** But for those with hashes, see makeHashFiles.test.ts. */
const files = (): string[] => {
  const path = join(directory, 'db', 'segments')
  return existsSync(path) ? readdirSync(path).filter((name) => !name.endsWith('.hashes')) : []
}

describe('blocks that leave LevelDB for a segment', () => {
  it('are read as before at every step, also after a crash there', async () => {
    const before = await now()
    expect(before.transactions).toBe(2 * 12)
    expect(await termsIn(Column.packedLogTerms, LAST + 1)).toHaveLength(256)
    expect([before.logs.length, before.found, before.events.length]).toEqual([12, [LAST - 1], 11])
    const cache = createBlockCache()
    const snapshot = database.snapshot()

    expect(await makeNextSegment(database, RULES, pause)).toBe(true)
    expect(await makeNextSegment(database, RULES, pause)).toBe(false)
    expect(files()).toEqual(['000008096-000008191.segment', '000008096-000008191.terms'])
    // A file that no batch has listed does not count: it is removed, and made again.
    await snapshot.close()
    await reopen()
    expect(files()).toEqual([])
    await makeNextSegment(database, RULES, pause)
    await step(0)
    await reopen()
    expect(files()).toHaveLength(2)
    expect(await now()).toEqual(before)
    // Not before their hashes are in files.
    await step()
    expect(readMoved(database)).toBe(BASE)
    await completeHashFiles(database, pause)
    for (let steps = 0; readMoved(database) <= LAST; steps++) {
      await step()
      if (steps % 3 !== 1) continue
      await reopen()
      expect(await describeChain(openChainReader(database, cache))).toEqual(before)
    }
    for (const column of [Column.header, Column.consensusBlock, Column.results]) expect(countOf(column)).toBe(0)
    expect(countOf(Column.header, LAST + 1, HEAD)).toBe(HEAD - LAST)
    expect(await termsBelow(LAST + 1)).toEqual([])
    expect(await now()).toEqual(before)
    expect(await makeNextSegment(database, RULES, pause)).toBe(false)
  })

  it('stay as long as they may change', async () => {
    expect(await makeNextSegment(database, { ...RULES, unpackedBlocks: HEAD - LAST + 1 }, pause)).toBe(false)
    const drops: MoveRules = { ...RULES, dropsBodies: true }
    expect(await makeNextSegment(database, drops, pause)).toBe(false)
    const batch = new WriteBatch()
    dropBlockBodies(database, batch, LAST + 1, 1_000)
    await database.write(batch, { sync: true })
    const before = await now()
    expect(before.oldestBlock).toBe(LAST + 1)
    expect(await termsBelow(LAST + 1)).toEqual([])
    await moveAll(drops)
    expect(await now()).toEqual(before)
  })

  it('lose their indexes when their bodies are dropped afterwards', async () => {
    const { transactions } = openChainReader(database)
    const { hash } = transactions(LAST - 1)![0]!.transaction
    const kept = openChainReader(database).header(LAST)
    await moveAll()
    expect(openChainReader(database).locate(hash)).toEqual({ height: LAST - 1, index: 0 })
    const batch = new WriteBatch()
    dropBlockBodies(database, batch, LAST + 1, 1_000)
    await database.write(batch, { sync: true })
    const after = openChainReader(database)
    expect(after.oldestBlock).toBe(LAST + 1)
    expect(after.locate(hash)).toBeUndefined()
    expect(after.receipts(LAST - 1)).toBeUndefined()
    expect(after.header(LAST)).toEqual(kept)
    const logs = (await Array.fromAsync(after.logHeights({ addresses: [], topics: [] }, BASE, HEAD))).flat()
    expect(logs).toEqual([SEGMENT_BLOCKS + 8, SEGMENT_BLOCKS + 18])
    expect(await termsBelow(LAST + 1)).toEqual([])
    await makeNextBareSegment(database, pause)
    const bare = new WriteBatch()
    const { oldFiles } = listNextBareSegment(database, bare, 0)!
    await database.write(bare, { sync: true })
    expect(oldFiles.map((file) => basename(file))).toEqual(files().filter((name) => !name.includes('-bare')))
    expect(findTerms(database, LAST)).toBeUndefined()
    await tidySegments(database)
    expect(files()).toEqual(['000008096-000008191-bare.segment'])
  })

  it('keep their terms in LevelDB where an older version has made their segment', async () => {
    const before = await now()
    await makeNextSegment(database, RULES, pause)
    rmSync(join(directory, 'db', 'segments', '000008096-000008191.terms'))
    await moveAll()
    expect(files()).toEqual(['000008096-000008191.segment'])
    expect((await termsBelow(LAST + 1)).length).toBeGreaterThan(20)
    expect(await now()).toEqual(before)
  })

  it('have no file of terms while INDEX is off, and are searched a frame at a time', async () => {
    await switchIndexes(database, 'off', HEAD)
    await moveAll()
    expect(files()).toEqual(['000008096-000008191.segment'])
    let pauses = 0
    const pause = async (): Promise<void> => void pauses++
    const find = async () => {
      const reader = openChainReader(database)
      return (await Array.fromAsync(reader.logHeights({ addresses: [], topics: [] }, BASE, LAST, pause))).flat()
    }
    expect(await find()).toHaveLength(10)
    // One for each frame, since 96 headers need none.
    expect(pauses).toBeGreaterThanOrEqual(2)
  })

  it('lose the bodies in their file too, with the bytes of one that never had them, wherever a crash interrupts it', async () => {
    const dropBodies = async (): Promise<void> => {
      const batch = new WriteBatch()
      dropBlockBodies(database, batch, LAST + 1, 1_000)
      await database.write(batch, { sync: true })
    }
    const list = async () => {
      const batch = new WriteBatch()
      const listed = listNextBareSegment(database, batch, 0)
      await database.write(batch, { sync: true })
      return listed
    }
    // A node that dropped them before the segment was made has the same file.
    await dropBodies()
    await moveAll({ ...RULES, dropsBodies: true })
    const [bare, whole] = ['000008096-000008191-bare.segment', '000008096-000008191.segment']
    const terms = '000008096-000008191.terms'
    expect(files()).toEqual([bare])
    const bytes = readFileSync(join(database.location, 'segments', bare))
    const expected = await now()
    expect(countSegmentsWithBodies(database)).toBe(0)
    await database.close()
    rmSync(directory, { recursive: true })
    database = await Database.open(join(directory, 'db'))
    await writeOldChain(database, { base: BASE, head: HEAD, logsAt })

    await moveAll()
    expect([countSegmentsWithBodies(database), await makeNextBareSegment(database, pause), await list()]).toEqual([
      0,
      false,
      undefined,
    ])
    await dropBodies()
    expect(countSegmentsWithBodies(database)).toBe(1)

    expect(await makeNextBareSegment(database, pause)).toBe(true)
    expect(await makeNextBareSegment(database, pause)).toBe(false)
    expect(files().sort()).toEqual([bare, whole, terms])
    await reopen()
    expect(files()).toEqual([whole, terms])
    await makeNextBareSegment(database, pause)
    const view = database.snapshot()
    expect(await list()).toEqual({
      oldFiles: [whole, terms].map((name) => join(database.location, 'segments', name)),
      next: LAST + 1,
    })
    expect(await list()).toBeUndefined()
    expect(countSegmentsWithBodies(database)).toBe(0)
    // As long as the old file is there, older snapshots of the database are read as before.
    expect(openChainReader(view).consensusBlock(LAST - 1)!.txs).toHaveLength(3)
    expect(await now()).toEqual(expected)
    expect(bytes.length).toBeLessThan(readFileSync(join(database.location, 'segments', whole)).length)
    expect(readFileSync(join(database.location, 'segments', bare)).equals(bytes)).toBe(true)
    rmSync(join(database.location, 'segments', whole))
    expect(() => openChainReader(view).encodedBlock(BASE)).toThrow(BlockUnavailable)
    await view.close()
    await reopen()
    expect(files()).toEqual([bare])
    expect(await now()).toEqual(expected)
  })

  it('are found by what an older version has of their hashes, also where several begin with the same bytes', async () => {
    await moveAll()
    const chain = openChainReader(database)
    const [first, second] = [chain.transactions(BASE + 4)![0]!, chain.transactions(BASE + 14)![0]!].map(
      ({ transaction }) => transaction.hash,
    ) as [Uint8Array, Uint8Array]
    const blockHash = chain.hash(BASE + 4)!
    const consensusHash = chain.blockId(BASE + 4)!.hash
    const native = entryHash(chain.consensusBlock(BASE + 4)!.txs[0]!)
    // What an older version has written where two hashes share their first bytes: places of both under each.
    const batch = new WriteBatch()
    batch.del(hashFilesKey('blocks'))
    batch.del(hashFilesKey('transactions'))
    const put = (kind: number, hash: Uint8Array, heights: readonly number[]): void => {
      const scratch = new Uint8Array(64)
      const end = heights.reduce((at, height) => writeVarint(scratch, writeVarint(scratch, at, height), 0), 0)
      batch.put(columnKey(Column.shortHash, Uint8Array.of(kind), hash.subarray(0, 8)), scratch.slice(0, end))
    }
    for (const hash of [first, second]) put(HashKind.transaction, hash, [BASE + 14, BASE + 4, BASE + 5])
    put(HashKind.block, blockHash, [BASE + 14, BASE + 6, BASE + 4])
    put(HashKind.consensus, consensusHash, [BASE + 14, BASE + 6, BASE + 4])
    put(HashKind.native, native, [BASE + 14, BASE + 6, BASE + 4])
    await database.write(batch, { sync: true })
    expect(openChainReader(database).locate(first)).toEqual({ height: BASE + 4, index: 0 })
    expect(openChainReader(database).locate(second)).toEqual({ height: BASE + 14, index: 0 })
    expect(openChainReader(database).heightOf(blockHash)).toBe(BASE + 4)
    expect(openChainReader(database).heightOfConsensusHash(consensusHash)).toBe(BASE + 4)
    expect(openChainReader(database).locateNative(native)).toEqual({ height: BASE + 4, position: 0 })
    const similar = first.slice()
    similar[31]! ^= 1
    expect(openChainReader(database).locate(similar)).toBeUndefined()
    expect(openChainReader(database).heightOf(similar)).toBeUndefined()
  })

  it('do not leave while another block has the entry of their consensus hash', async () => {
    const wanted = openChainReader(database).blockId(BASE + 3)!.hash
    const key = columnKey(Column.consensusHash, wanted.subarray(0, 8))
    const batch = new WriteBatch()
    batch.put(key, heightBytes(HEAD))
    await database.write(batch, { sync: true })
    expect(openChainReader(database).heightOfConsensusHash(wanted)).toBeUndefined()
    await moveAll()
    expect(openChainReader(database).heightOfConsensusHash(wanted)).toBe(BASE + 3)
    expect(database.get(key)).toEqual(heightBytes(HEAD))
  })
})

describe('a segment that is damaged', () => {
  const damaged = expect.objectContaining({
    name: 'DatabaseError',
    code: 'corrupt',
    message: expect.stringContaining('000008096-000008191.segment'),
  })
  const path = () => join(directory, 'db', 'segments', files()[0]!)

  it('is named, wherever a byte is wrong or the file ends', async () => {
    const { encodedBlock } = openChainReader(database)
    const before = [BASE, BASE + 64].map(encodedBlock)
    await moveAll()
    const whole = new Uint8Array(readFileSync(path()))
    let refused = 0
    const places = 40
    for (let i = 0; i < places; i++) {
      const at = Math.floor((i * whole.length) / places)
      const flipped = whole.slice()
      flipped[at]! ^= 1 << (i % 8)
      for (const changed of [flipped, whole.slice(0, at)]) {
        writeFileSync(path(), changed)
        try {
          const chain = openChainReader(database)
          expect([BASE, BASE + 64].map((height) => chain.encodedBlock(height))).toEqual(before)
        } catch (error) {
          expect(error).toEqual(damaged)
          refused++
        }
      }
    }
    expect(refused).toBe(2 * places)
  })

  it('or missing, keeps the node from starting; what is not listed is removed', async () => {
    await moveAll()
    const [name, terms] = files()
    const whole = readFileSync(path())
    writeFileSync(join(directory, 'db', 'segments', `${name}.new`), 'left by a crash')
    await tidySegments(database)
    expect(files()).toEqual([name, terms])
    writeFileSync(path(), whole.subarray(1))
    await expect(tidySegments(database)).rejects.toEqual(damaged)
    rmSync(path())
    await expect(tidySegments(database)).rejects.toEqual(damaged)
    expect(() => openChainReader(database).header(BASE)).toThrow(damaged)
  })

  it('is not taken for another one', async () => {
    await moveAll()
    const other = mkdtempSync(join(tmpdir(), 'coind-segments-'))
    const second = await Database.open(join(other, 'db'))
    await writeOldChain(second, { base: BASE, head: HEAD, validators: 5 })
    await makeNextSegment(second, RULES, pause)
    await second.close()
    writeFileSync(path(), readFileSync(join(other, 'db', 'segments', files()[0]!)))
    rmSync(other, { recursive: true })
    expect(() => openChainReader(database).header(BASE)).toThrow(damaged)
  })
})
