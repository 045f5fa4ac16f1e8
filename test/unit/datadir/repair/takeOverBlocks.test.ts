import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { NO_BLOCK_EVENTS } from '../../../../src/chain/block/entries.ts'
import { encodeBlock } from '../../../../src/chain/comet/block.ts'
import { readCompleteFrom } from '../../../../src/chain/retention/completeBlocks.ts'
import { readFilled, readMoved } from '../../../../src/chain/segments/moveBlocks.ts'
import {
  findSegment,
  type HeightRange,
  segmentPath,
  storedBlock,
  writeSegment,
} from '../../../../src/chain/segments/segments.ts'
import { openChainReader } from '../../../../src/chain/store/chainReader.ts'
import { writeBlock } from '../../../../src/chain/store/writeBlock.ts'
import { reindex } from '../../../../src/datadir/reindex.ts'
import { type TakeOverRequest, takeOverBlocks } from '../../../../src/datadir/repair/takeOverBlocks.ts'
import { EMPTY_BYTES, equalBytes } from '../../../../src/primitives/bytes.ts'
import { type Ed25519Key, ed25519Key, signEd25519 } from '../../../../src/primitives/ed25519.ts'
import { sha256 } from '../../../../src/primitives/hash.ts'
import { WriteBatch } from '../../../../src/storage/batch.ts'
import { Column, readHeight } from '../../../../src/storage/columns.ts'
import { Database } from '../../../../src/storage/database.ts'
import { GENESIS_HASH_KEY } from '../../../../src/storage/format.ts'
import { APP_HASHES, writeServedChain } from '../../../support/chain/prunedChain.ts'
import { writeRestoredChain } from '../../../support/chain/restoredChain.ts'
import { writeOldChain } from '../../../support/chain/segments/oldChain.ts'
import { servedChain } from '../../../support/sync/servedChain.ts'

/** The chain of the damaged database: two files, and blocks after them in LevelDB. */
const LOWER = { first: 8_180, last: 8_191 }
const UPPER = { first: 8_192, last: 8_222 }
const HEAD = 8_240
const KEYS = Array.from({ length: 4 }, (_, index) => ed25519Key(sha256(Uint8Array.of(index))))
/** Other validators at once, in the middle of the upper file. */
const keysAt = (height: number): readonly Ed25519Key[] => (height < 8_210 ? KEYS.slice(0, 2) : KEYS.slice(2, 4))

let directory: string
/** with everything in LevelDB */
let full: Database
/** the same, without the blocks of the files in LevelDB */
let moved: string
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-takeover-'))
  full = await Database.open(join(directory, 'full'))
  await writeOldChain(full, { base: LOWER.first, head: HEAD, keysAt })
  moved = join(directory, 'moved')
  await using(moved, async (database) => {
    const batch = new WriteBatch()
    for await (const [key, value] of full.entries({ start: EMPTY_BYTES, end: undefined })) {
      const isBlock = key[0] === Column.header || key[0] === Column.consensusBlock
      if (!isBlock || readHeight(key, 1) > UPPER.last) batch.put(key, value)
    }
    await database.write(batch, { sync: false })
    for (const range of [LOWER, UPPER]) await writeRange(database, range)
  })
})
afterAll(async () => {
  await full.close()
  rmSync(directory, { recursive: true })
})

let homes = 0
let request: TakeOverRequest
beforeEach(() => begin(moved))

/** Begins with a copy of a database that LevelDB cannot open any more. */
function begin(original: string): void {
  const home = join(directory, `home-${++homes}`)
  const location = join(home, 'db')
  cpSync(original, location, { recursive: true })
  rmSync(join(location, 'CURRENT'))
  mkdirSync(join(home, 'work'))
  request = {
    location,
    target: join(home, 'new'),
    sortDirectory: join(home, 'work'),
    chain: { chainId: 'coin_76287-1', genesisHash: full.get(GENESIS_HASH_KEY)! },
    from: [],
    progressOf: () => ({ update: () => undefined, end: () => undefined }),
    signal: new AbortController().signal,
  }
}

/** @param source has the blocks */
async function writeRange(database: Database, range: HeightRange, source = full): Promise<void> {
  const lastCommit = openChainReader(source).seenCommit(range.last)!
  const genesisHash = source.get(GENESIS_HASH_KEY)!
  const read = (height: number) => storedBlock(source, height)
  await writeSegment(database.location, { ...range, genesisHash, lastCommit, read }, async () => undefined)
}

/** Makes the database that a restore leaves. */
async function restore(restored: number, base: number): Promise<void> {
  await using(request.target, (database) => writeRestoredChain(database, full, { base, restored, head: restored }))
}

/** What of LevelDB is lost. */
function loseTables(): void {
  for (const name of readdirSync(request.location)) if (name.endsWith('.log')) rmSync(join(request.location, name))
}

async function using<T>(location: string, use: (database: Database) => Promise<T> | T): Promise<T> {
  const database = await Database.open(location)
  try {
    return await use(database)
  } finally {
    await database.close()
  }
}

/** All blocks from a height on are those of the chain, with their validators and hashes. */
async function expectChain(lowest: number, original = full): Promise<void> {
  await using(request.target, async (database) => {
    const [chain, whole] = [openChainReader(database), openChainReader(original)]
    expect([chain.base, readCompleteFrom(database)]).toEqual([lowest, lowest])
    expect(chain.heightOf(whole.hash(lowest)!)).toBe(lowest)
    expect(chain.header(lowest)).toEqual(whole.header(lowest))
    for (let height = Math.max(1, lowest); height <= chain.headHeight; height++) {
      expect(chain.header(height)).toEqual(whole.header(height))
      expect(bodiless(chain, height)).toEqual(bodiless(whole, height))
      expect(chain.validatorSetAt(height)).toEqual(whole.validatorSetAt(height))
      expect(chain.lightBlock(height)).toEqual(whole.lightBlock(height))
      expect(chain.heightOf(whole.hash(height)!)).toBe(height)
      expect(chain.heightOfConsensusHash(whole.blockId(height)!.hash)).toBe(height)
    }
    expect(chain.oldestBlock).toBe(chain.headHeight + 1)
    // Every block is in LevelDB or in a listed file.
    const [filled, moved] = [readFilled(database), readMoved(database)]
    for (let height = filled; height < moved; height++) expect(findSegment(database, height)).toBeDefined()
    const progressOf = request.progressOf
    expect(await reindex({ database, index: 'all', progressOf })).toEqual({})
  })
}

function bodiless(chain: ReturnType<typeof openChainReader>, height: number): Uint8Array {
  return encodeBlock({ ...chain.consensusBlock(height)!, txs: [] })
}

const isLinked = (range: HeightRange): boolean => {
  const paths = [request.location, request.target].map((location) => segmentPath(location, range))
  const [one, other] = paths.map((path) => statSync(path, { throwIfNoEntry: false })?.ino)
  return one !== undefined && one === other
}

describe('a database that was restored from a snapshot', () => {
  it('takes over whole files by links, and the blocks between them and the snapshot from what can be read', async () => {
    await restore(8_235, 8_230)
    for (let times = 0; times < 2; times++) {
      expect(await takeOverBlocks(request)).toEqual({
        lowest: LOWER.first,
        files: times === 0 ? 2 : 0,
        left: undefined,
      })
      rmSync(join(request.sortDirectory, 'older'), { recursive: true })
      expect([isLinked(LOWER), isLinked(UPPER)]).toEqual([true, true])
    }
    await expectChain(LOWER.first)
  })

  it('takes over a file that has blocks of the snapshot too', async () => {
    await restore(8_235, 8_205)
    expect(await takeOverBlocks(request)).toEqual({ lowest: LOWER.first, files: 2, left: undefined })
    expect([isLinked(LOWER), isLinked(UPPER)]).toEqual([true, true])
    await expectChain(LOWER.first)
  })

  it('takes over the blocks of a file that goes on above the snapshot, one by one', async () => {
    await restore(8_215, 8_212)
    expect(await takeOverBlocks(request)).toEqual({ lowest: LOWER.first, files: 1, left: undefined })
    expect([isLinked(LOWER), isLinked(UPPER)]).toEqual([true, false])
    await expectChain(LOWER.first)
  })

  it('ends at a gap, and where nobody knows the validators, and says what is left', async () => {
    await restore(8_235, 8_230)
    loseTables()
    const left = { files: 2, last: UPPER.last }
    expect(await takeOverBlocks(request)).toEqual({ lowest: 8_230, files: 0, left })
    await expectChain(8_230)
    begin(moved)
    // The set that was replaced in the middle of the upper file was in LevelDB alone.
    await restore(8_235, 8_218)
    loseTables()
    expect(await takeOverBlocks(request)).toEqual({ lowest: 8_218, files: 0, left })
    await expectChain(8_218)
  })

  it('takes nothing of a damaged file, but the same one of another place', async () => {
    const path = segmentPath(request.location, LOWER)
    const whole = readFileSync(path)
    const flipped = Uint8Array.from(whole)
    flipped[whole.length >> 1]! ^= 1
    writeFileSync(path, flipped)
    await restore(8_235, 8_230)
    const left = { files: 1, last: LOWER.last }
    expect(await takeOverBlocks(request)).toEqual({ lowest: UPPER.first, files: 1, left })
    await expectChain(UPPER.first)
    rmSync(join(request.sortDirectory, 'older'), { recursive: true })
    const other = join(request.sortDirectory, 'other')
    mkdirSync(other)
    writeFileSync(join(other, basename(path)), whole)
    expect(await takeOverBlocks({ ...request, from: [other] })).toMatchObject({ lowest: LOWER.first, files: 1 })
    await expectChain(LOWER.first)
  })

  it('takes nothing of a whole file with other blocks', async () => {
    const other = join(directory, `other-${homes}`)
    await using(other, async (database) => {
      const isFull = (height: number) => height === LOWER.last - 3
      await writeOldChain(database, { base: LOWER.first, head: HEAD, keysAt, isFull })
      await writeRange(database, LOWER, database)
    })
    cpSync(segmentPath(other, LOWER), segmentPath(request.location, LOWER))
    await restore(8_235, 8_230)
    const left = { files: 1, last: LOWER.last }
    expect(await takeOverBlocks(request)).toEqual({ lowest: UPPER.first, files: 1, left })
    await expectChain(UPPER.first)
  })

  it('takes over the blocks of a damaged file that are in LevelDB too', async () => {
    begin(full.location)
    await restore(8_235, 8_230)
    expect(await takeOverBlocks(request)).toEqual({ lowest: LOWER.first, files: 0, left: undefined })
    await expectChain(LOWER.first)
  })

  it('takes over block 0 with the others', async () => {
    const keys = KEYS.map(({ publicKey }) => publicKey)
    const sign = (publicKey: Uint8Array, message: Uint8Array): Uint8Array =>
      signEd25519(KEYS.find((key) => equalBytes(key.publicKey, publicKey))!, message)
    const original = await Database.open(join(directory, 'served'))
    await writeServedChain(original, servedChain({ blocks: 30, sign, keys, appHashes: APP_HASHES }), 15)
    begin(original.location)
    const genesisHash = original.get(GENESIS_HASH_KEY)!
    await using(request.target, async (database) => {
      await writeRestoredChain(database, original, { base: 22, restored: 28, head: 28 })
      const [header, hash] = [openChainReader(original).header(0)!, openChainReader(original).hash(0)!]
      const batch = new WriteBatch()
      writeBlock(batch, { header, hash, consensus: undefined, entries: [], events: NO_BLOCK_EVENTS, isIndexed: false })
      await database.write(batch, { sync: false })
    })
    const chain = { ...request.chain, genesisHash }
    expect(await takeOverBlocks({ ...request, chain })).toEqual({ lowest: 0, files: 1, left: undefined })
    expect(isLinked({ first: 0, last: 15 })).toBe(true)
    await expectChain(0, original)
    await original.close()
  })

  it('goes on where it was, after it was interrupted anywhere', async () => {
    await restore(8_235, 8_205)
    for (let steps = 0; ; steps++) {
      const stop = new AbortController()
      let left = steps
      const update = () => {
        if (left-- === 0) stop.abort(new Error('stopped'))
      }
      const progressOf = () => ({ update, end: () => undefined })
      const result = await takeOverBlocks({ ...request, progressOf, signal: stop.signal }).catch(String)
      rmSync(join(request.sortDirectory, 'older'), { recursive: true })
      if (result !== 'Error: stopped') break
    }
    await expectChain(LOWER.first)
  })
})
