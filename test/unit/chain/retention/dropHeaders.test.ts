import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { encodeLightBlock } from '../../../../src/chain/comet/lightBlock.ts'
import { dropHeaders } from '../../../../src/chain/retention/dropHeaders.ts'
import type { HeaderRules } from '../../../../src/chain/retention/headerRetention.ts'
import { BlockUnavailable } from '../../../../src/chain/segments/segments.ts'
import { tidySegments } from '../../../../src/chain/segments/tidySegments.ts'
import { createBlockCache } from '../../../../src/chain/store/blockCache.ts'
import { type ChainReader, openChainReader } from '../../../../src/chain/store/chainReader.ts'
import { createPruner, pruneNow } from '../../../../src/execution/pruner.ts'
import { databaseLightBlocks, type LightBlockReader } from '../../../../src/p2p/lightExchange.ts'
import { bytesToHex } from '../../../../src/primitives/bytes.ts'
import { WriteBatch } from '../../../../src/storage/batch.ts'
import { Column, columnKey, readHeight } from '../../../../src/storage/columns.ts'
import { Database } from '../../../../src/storage/database.ts'
import { segmentFiles } from '../../../../src/storage/segmentFile.ts'
import { PeerSource } from '../../../../src/sync/light/peerSource.ts'
import { genesisState } from '../../../../src/sync/light/trustRoot.ts'
import { trustedStateOf, verifyHeader } from '../../../../src/sync/light/verifyHeader.ts'
import { APP_HASHES, writeServedChain } from '../../../support/chain/prunedChain.ts'
import { clientOf, lightChain } from '../../../support/sync/light/lightChain.ts'
import { keyOf, servedChain, verifyFake } from '../../../support/sync/servedChain.ts'

const BLOCKS = 1_120
/** of the segment */
const LAST = 1_087
const RULES: HeaderRules = {
  blockHistory: 8,
  ownBlocks: 8,
  evidence: { maxAgeBlocks: 20, maxAgeMs: 20 * 400 },
  trustPeriodMs: 10 * 400,
}

/** One of four validators is replaced now and then, all of them at height 632; and one leaves and comes back, so that a set returns. */
const SERVED = servedChain({
  blocks: BLOCKS,
  appHashes: APP_HASHES,
  updatesAt: (height) => {
    const replace = (index: number) => [
      { publicKey: keyOf(index), power: 0n },
      { publicKey: keyOf(index + 4), power: 1n },
    ]
    if (height >= 100 && height <= 400 && height % 60 === 40) return replace((height - 100) / 60)
    if (height === 630) return [6, 7, 8, 9].flatMap(replace)
    if (height === 700 || height === 1_060) return [{ publicKey: keyOf(13), power: 0n }]
    if (height === 720 || height === 1_100) return [{ publicKey: keyOf(13), power: 1n }]
    return []
  },
})
const CHAIN = lightChain(SERVED)
const at = (height: number) => CHAIN.blocks[height - 1]!

let directory: string
let copies = 0
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-headers-'))
  const database = await Database.open(join(directory, 'source'))
  await writeServedChain(database, SERVED, LAST)
  await database.close()
})
afterAll(() => rmSync(directory, { recursive: true }))

async function withCopy(use: (database: Database, path: string) => Promise<void>): Promise<void> {
  const path = join(directory, String(copies++))
  cpSync(join(directory, 'source'), path, { recursive: true })
  const database = await Database.open(path)
  try {
    await use(database, path)
  } finally {
    await database.close()
  }
}

/** One batch. @returns how much there was to drop, and the files that are to be removed */
async function drop(database: Database, count: number, { rules = RULES, cache = createBlockCache() } = {}) {
  const batch = new WriteBatch()
  const dropped = dropHeaders(database, batch, { rules, count, cache })
  await database.write(batch, { sync: false })
  return dropped
}

async function dropAll(database: Database, count: number): Promise<string> {
  const cache = createBlockCache()
  for (;;) {
    const { count: dropped, files } = await drop(database, count, { cache })
    expect(dropped).toBeGreaterThan(0)
    if (files[0] !== undefined) return files[0]
  }
}

async function keysOf(database: Database, column: number): Promise<string[]> {
  const entries = database.entries({ start: columnKey(column), end: columnKey(column + 1) })
  return (await Array.fromAsync(entries)).map(([key]) => bytesToHex(key.subarray(1)))
}

async function dump(database: Database): Promise<ReadonlyMap<string, string>> {
  const entries = await Array.fromAsync(database.entries({ start: Uint8Array.of(1), end: undefined }))
  return new Map(entries.map(([key, value]) => [bytesToHex(key), bytesToHex(value)]))
}

/** By the light client's own rules: the first block, each thousandth, and on both sides of what the last one before does not prove. */
function expectedHeights(): readonly number[] {
  const { chainId, nowMs } = CHAIN
  const rules = { chainId, trustingPeriodMs: 3_600_000, maxClockDriftMs: 10_000, verifySignature: verifyFake }
  const kept: number[] = []
  let last = genesisState(CHAIN.root)
  const isProved = (height: number) => verifyHeader(last, at(height), rules, nowMs).kind === 'valid'
  for (let height = 1; height <= LAST; height++) {
    const isNext = height === last.height + 1
    const isAlone = !isProved(height + 1) || (isNext && !signsWithThird(last.validators, height))
    if (height !== 1 && height % 1_000 !== 0 && isProved(height) && !isAlone) continue
    kept.push(height)
    last = trustedStateOf(at(height))
  }
  return kept
}

/** Of validators with the same power. */
function signsWithThird({ validators }: { validators: readonly { address: Uint8Array }[] }, height: number): boolean {
  const signers = at(height).commit.signatures.map(({ validatorAddress }) => bytesToHex(validatorAddress))
  const known = validators.filter(({ address }) => signers.includes(bytesToHex(address)))
  return known.length * 3 > validators.length
}

it('headers that nobody needs go, with their hashes, validators and file; a few light blocks stay', async () => {
  await withCopy(async (database) => {
    const before = openChainReader(database)
    const hashes = [1, LAST].map((height) => [before.hash(height)!, before.blockId(height)!.hash] as const)
    const genesisHash = before.hash(0)!
    const view = database.snapshot()
    const older = openChainReader(view)
    expect(older.consensusBlock(1)?.header).toEqual(at(1).header)
    const setsBefore = await keysOf(database, Column.validatorSet)
    const file = await dropAll(database, 100)
    expect(file).toBe(segmentFiles(database.location)[0])
    expect(await drop(database, 100)).toEqual({ count: 0, files: [] })
    await tidySegments(database)
    expect(existsSync(file)).toBe(false)

    const after = openChainReader(database)
    expect([after.base, after.oldestBlock]).toEqual([LAST + 1, LAST + 10])
    for (const height of [1, 500, LAST]) {
      expect([after.header(height), after.consensusBlock(height), after.encodedBlock(height)]).toEqual(Array(3))
    }
    for (const [hash, consensusHash] of hashes) {
      expect([after.heightOf(hash), after.heightOfConsensusHash(consensusHash)]).toEqual(Array(2))
    }
    expect(await keysOf(database, Column.shortHash)).toEqual([])
    expect(after.heightOf(genesisHash)).toBe(0)
    expect(after.header(0)).toEqual(before.header(0))
    expect(await keysOf(database, Column.segment)).toEqual([])
    for (const height of [LAST + 1, BLOCKS]) {
      expect(encodeLightBlock(after.lightBlock(height)!)).toEqual(encodeLightBlock(at(height)))
      expect(after.validatorsAt(height)).toEqual(SERVED.states[height - 1]!.validators)
    }

    const inUse = new Set(CHAIN.blocks.slice(LAST).map(({ header }) => bytesToHex(header.validatorsHash)))
    expect(setsBefore.length).toBeGreaterThan(8)
    expect((await keysOf(database, Column.validatorSet)).sort()).toEqual([...inUse].sort())
    expect((await keysOf(database, Column.validatorSetUse)).sort()).toEqual([...inUse].sort())
    for (const column of [Column.proposerPriorities, Column.header] as const) {
      const heights = (await keysOf(database, column)).map((key) => readHeight(Buffer.from(key.slice(2), 'hex'), 0))
      expect(heights.filter((height) => height > 0 && height <= LAST)).toEqual([])
    }

    const expected = expectedHeights()
    expect(expected.length).toBeGreaterThan(4)
    expect(expected).toEqual(expect.arrayContaining([1, 631, 632, 1_000]))
    const found = keptHeights(after)
    expect(found).toEqual(expected)
    for (const height of found) {
      expect(encodeLightBlock(after.lightBlock(height)!)).toEqual(encodeLightBlock(at(height)))
    }
    await verifyFrom(databaseLightBlocks(database))
    // What another thread sees that reads the database while headers go: first where the chain begins, then no block there.
    const changing: Pick<Database, 'location' | 'get' | 'snapshot'> = {
      location: database.location,
      get: (key) => (key[0] === Column.chainMeta ? view : database).get(key),
      snapshot: () => database.snapshot(),
    }
    expect(databaseLightBlocks(changing as Database)(500)).toEqual(
      encodeLightBlock(at(found.find((height) => height >= 500)!)),
    )

    // Who still reads an older snapshot of the database.
    expect(() => older.consensusBlock(500)).toThrow(BlockUnavailable)
    expect(() => older.consensusBlock(500)).toThrow(/^pruned history unavailable: block 500 was dropped$/)
    await view.close()
  })
})

/** Light blocks of such a node alone prove the newest header from the genesis, and others that it has. */
async function verifyFrom(read: LightBlockReader): Promise<void> {
  for (const target of [BLOCKS, LAST + 1, 1_000]) {
    const asked: number[] = []
    const source = new PeerSource('pruned', async (height) => {
      asked.push(height)
      return read(height)
    })
    const client = clientOf(CHAIN, { sources: [source] })
    const verified = await client.verify(target, new AbortController().signal)
    expect(encodeLightBlock(verified)).toEqual(encodeLightBlock(at(target)))
    expect(asked.length).toBeLessThan(40)
  }
}

/** All that `nextLightBlock` leads to below the base. */
function keptHeights(reader: ChainReader): readonly number[] {
  const heights: number[] = []
  for (let height = reader.nextLightBlock(1); height < reader.base; height = reader.nextLightBlock(height + 1)) {
    heights.push(height)
  }
  return heights
}

it('the same is left wherever a crash interrupts it, however much each batch drops', async () => {
  let whole: ReadonlyMap<string, string> | undefined
  for (const counts of [[LAST + 1], [1, 62, 3, 64, 130, 700]]) {
    await withCopy(async (database) => {
      const cache = createBlockCache()
      for (let step = 0; ; step++) {
        const { files } = await drop(database, counts[step % counts.length]!, { cache })
        if (files.length > 0) break
        // After any batch the chain is whole from its base on.
        const reader = openChainReader(database)
        expect([reader.lightBlock(reader.base - 1) === undefined, reader.base < LAST]).toEqual([
          !expectedSome(reader),
          true,
        ])
        expect(reader.validatorsAt(reader.base)).toEqual(SERVED.states[reader.base - 1]!.validators)
        expect(reader.heightOf(reader.hash(reader.base)!)).toBe(reader.base)
      }
      const left = await dump(database)
      whole ??= left
      expect([...left.keys()]).toEqual([...whole.keys()])
      expect(left).toEqual(whole)
    })
  }
  function expectedSome({ base }: ChainReader): boolean {
    return expectedKept.has(base - 1)
  }
})
const expectedKept = new Set(expectedHeights())

it('nothing goes while anything of the first block after the segment is needed', async () => {
  await withCopy(async (database) => {
    // The block after the segment is the 32nd before the head.
    for (const other of [
      { evidence: { maxAgeBlocks: 32, maxAgeMs: 20 * 400 } },
      { evidence: { maxAgeBlocks: 1, maxAgeMs: 32 * 400 } },
      { trustPeriodMs: 32 * 400 },
      { ownBlocks: 32 },
      { blockHistory: 32 },
      // All blocks are kept.
      { blockHistory: 0 },
    ]) {
      expect(await drop(database, 100, { rules: { ...RULES, ...other } })).toEqual({ count: 0, files: [] })
    }
    const bare = {
      evidence: { maxAgeBlocks: 31, maxAgeMs: 1 },
      trustPeriodMs: 31 * 400,
      ownBlocks: 31,
      blockHistory: 31,
    }
    expect((await drop(database, 100, { rules: { ...RULES, ...bare } })).count).toBe(100)
  })
})

it('the batches of blocks drop them, and then the file, when its batch is on stable storage', async () => {
  await withCopy(async (database) => {
    const [file] = segmentFiles(database.location)
    let durable = BLOCKS
    const state = { dropHistory: () => undefined }
    const settings = { pruning: 8, blockHistory: 8, headers: RULES }
    const pruner = createPruner({ database, state, ...settings, durableHeight: () => durable })
    let height = BLOCKS
    const next = async (): Promise<number> => {
      height++
      pruner.prepare(height)
      const batch = new WriteBatch()
      pruner.drop(batch, height)
      await database.write(batch, { sync: false })
      return openChainReader(database).base
    }
    let base = 0
    while (base <= LAST) {
      const rises = await next()
      expect(rises).toBeLessThanOrEqual(base + 16)
      base = rises
    }
    await next()
    expect(existsSync(file!)).toBe(true)
    // So long requests may still read older snapshots.
    durable = height + 254
    await next()
    expect(existsSync(file!)).toBe(true)
    durable += 1
    await next()
    expect(existsSync(file!)).toBe(false)
    await tidySegments(database)
  })
})

it('an offline command drops them at once', async () => {
  await withCopy(async (database) => {
    const titles: string[] = []
    const pruned = await pruneNow({
      database,
      pruning: 'archive',
      blockHistory: 8,
      headers: RULES,
      index: 'all',
      step: { entries: 100, bodies: 300 },
      progressOf: ({ title, total }) => {
        titles.push(`${title} ${total}`)
        return { update: () => undefined, end: () => undefined }
      },
    })
    expect(pruned.headers).toBe(LAST + 1)
    expect(titles).toContain(`deleting old headers ${LAST + 1}`)
    expect(segmentFiles(database.location)).toEqual([])
    expect(openChainReader(database).base).toBe(LAST + 1)
  })
})
