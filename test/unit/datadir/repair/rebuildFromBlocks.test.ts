import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { makeNextHashFile } from '../../../../src/chain/indexes/makeHashFiles.ts'
import { makeNextSegment, moveRules, readMoved } from '../../../../src/chain/segments/moveBlocks.ts'
import {
  findSegment,
  type ListedSegment,
  SEGMENT_BLOCKS,
  segmentPath,
  storedBlock,
  writeSegment,
} from '../../../../src/chain/segments/segments.ts'
import { findTerms } from '../../../../src/chain/segments/segmentTerms.ts'
import { openChainReader } from '../../../../src/chain/store/chainReader.ts'
import { advanceState } from '../../../../src/consensus/consensusState.ts'
import { gatherOwnBlocks } from '../../../../src/datadir/repair/ownBlocks.ts'
import { type RebuildRequest, rebuildFromBlocks } from '../../../../src/datadir/repair/rebuildFromBlocks.ts'
import { rollback } from '../../../../src/datadir/rollback.ts'
import { WriteBatch } from '../../../../src/storage/batch.ts'
import { Column, columnKey, heightBytes } from '../../../../src/storage/columns.ts'
import { Database } from '../../../../src/storage/database.ts'
import { GENESIS_HASH_KEY } from '../../../../src/storage/format.ts'
import { PROPERTY_RUNS } from '../../../propertyRuns.ts'
import { writeOldChain } from '../../../support/chain/segments/oldChain.ts'
import { contentsOf, expectSame, withDatabase } from '../../../support/execution/busyChain.ts'
import { networkGenesis, openNetworkNode, proposeBlock } from '../../../support/execution/testNetwork.ts'

const LAST = SEGMENT_BLOCKS - 1
const HEAD = LAST + 30

let directory: string
let location: string
let genesisHash: Uint8Array
let segment: ListedSegment
const progressOf = () => ({ update: () => undefined, end: () => undefined })
const { signal } = new AbortController()

/** A database with one file of old blocks, which is not listed. */
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-rebuild-'))
  location = join(directory, 'db')
  const database = await Database.open(location)
  await writeOldChain(database, { base: LAST - 40, head: HEAD, validators: 1 })
  genesisHash = database.get(GENESIS_HASH_KEY)!
  const lastCommit = openChainReader(database).seenCommit(LAST)!
  const source = { first: LAST - 40, last: LAST, genesisHash, lastCommit }
  segment = await writeSegment(
    location,
    { ...source, read: (height) => storedBlock(database, height) },
    async () => undefined,
  )
  await database.close()
})
afterEach(() => rmSync(directory, { recursive: true }))

const adopt = (target: string, path: string) => {
  const openExecutor = async (): Promise<never> => {
    throw new Error('nothing is to be executed')
  }
  const request: RebuildRequest = {
    target,
    chain: { chainId: 'coin_76287-1', genesisHash },
    openExecutor,
    progressOf,
    signal,
  }
  return rebuildFromBlocks(request, { files: [{ path, last: LAST, isSegment: true }], last: LAST, highest: HEAD })
}

async function using<T>(place: string, use: (database: Database) => Promise<T> | T): Promise<T> {
  const database = await Database.open(place)
  try {
    return await use(database)
  } finally {
    await database.close()
  }
}

it('a file of old blocks that says the same as the executed blocks becomes one of the new database, by a link', async () => {
  const target = join(directory, 'new')
  await using(target, (database) => writeOldChain(database, { base: LAST - 40, head: HEAD, validators: 1 }))
  const path = segmentPath(location, segment)
  for (let times = 0; times < 2; times++) {
    expect(await adopt(target, path)).toBe(HEAD)
    expect(statSync(segmentPath(target, segment)).ino).toBe(statSync(path).ino)
    await using(target, (database) => {
      expect(findSegment(database, LAST)).toEqual(segment)
      expect(findTerms(database, LAST)).toMatchObject({ first: segment.first, last: LAST })
    })
  }
})

it('a file that says something else is not taken over: the node makes it anew', async () => {
  const target = join(directory, 'new')
  await using(target, async (database) => {
    await writeOldChain(database, { base: LAST - 40, head: HEAD, validators: 1 })
    const batch = new WriteBatch()
    const height = LAST - (LAST % 10)
    batch.put(columnKey(Column.results, heightBytes(height)), Uint8Array.of(1))
    await database.write(batch, { sync: true })
  })
  expect(await adopt(target, segmentPath(location, segment))).toBe(HEAD)
  await using(target, (database) => expect(findSegment(database, LAST)).toBeUndefined())
})

it('blocks are gathered from the first one on only', async () => {
  const sortDirectory = join(directory, 'work')
  mkdirSync(sortDirectory)
  const gather = (from: string[] = []) =>
    gatherOwnBlocks({ location, sortDirectory, chain: { genesisHash }, from, progressOf, signal })
  expect(await gather()).toEqual({ files: [], last: 0, highest: HEAD })

  const other = join(directory, 'other')
  mkdirSync(join(other, 'segments'), { recursive: true })
  const name = '000000000-000008191.segment'
  // Neither a file of other blocks under this name nor a damaged one is taken.
  for (const bytes of [readFileSync(segmentPath(location, segment)), Buffer.from('COINDSEG')]) {
    writeFileSync(join(other, 'segments', name), bytes)
    expect(await gather([other])).toEqual({ files: [], last: 0, highest: HEAD })
  }
})

it.runIf(PROPERTY_RUNS > 1)(
  'a chain with a file of old blocks is the same again, and the file is taken over',
  async () => {
    const genesis = networkGenesis(1)
    const open = (place: string) => openNetworkNode(genesis, { directory: place })
    const old = join(directory, 'old')
    mkdirSync(old)
    const node = await open(old)
    const end = LAST + 1_024 + 250
    let state = await node.state()
    const decideUpTo = async (height: number): Promise<void> => {
      while (state.lastHeight < height) {
        // Every block is written at once where others have to see it.
        const catchingUp = state.lastHeight + 1 < height
        const decided = { ...(await proposeBlock(node, state)), catchingUp }
        state = advanceState(state, decided, await node.executor.application.finalizeBlock(decided))
      }
    }
    await decideUpTo(LAST + 1_024)
    await withDatabase(node, (database) => makeNextSegment(database, moveRules('archive', 0), async () => undefined))
    await decideUpTo(LAST + 1_030)
    for (let made = 0; made < 2; made++) {
      await withDatabase(node, (database) => makeNextHashFile(database, async () => undefined))
    }
    await decideUpTo(end)
    await node.close()
    const path = segmentPath(node.location, { first: 0, last: LAST })
    await withDatabase(node, async (database) => expect(readMoved(database)).toBe(LAST + 1))

    const former = join(directory, 'former')
    cpSync(node.location, former, { recursive: true })
    await withDatabase({ location: former }, (database) => rollback(database, end - 1), false)
    rmSync(join(node.location, 'CURRENT'))
    const sortDirectory = join(directory, 'work')
    const home = join(directory, 'home')
    for (const made of [sortDirectory, home]) mkdirSync(made)
    const { chain } = node
    const blocks = await gatherOwnBlocks({
      location: node.location,
      sortDirectory,
      chain,
      from: [],
      progressOf,
      signal,
    })
    expect(blocks.files.map(({ last }) => last)).toEqual([LAST, end - 1])
    const target = join(home, 'db')
    const openExecutor = async () => {
      const { executor, close } = await open(home)
      return { application: executor.application, close }
    }
    expect(await rebuildFromBlocks({ target, chain, openExecutor, progressOf, signal }, blocks)).toBe(end - 1)
    expect(statSync(segmentPath(target, { first: 0, last: LAST })).ino).toBe(statSync(path).ino)
    expectSame(await contentsOf({ location: former }), await contentsOf({ location: target }))
  },
  900_000,
)
