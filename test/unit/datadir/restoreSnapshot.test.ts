import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { decodeLightBlock } from '../../../src/chain/comet/lightBlock.ts'
import { openChainReader } from '../../../src/chain/store/chainReader.ts'
import type { DecidedBlock } from '../../../src/consensus/application.ts'
import { advanceState, type ConsensusState } from '../../../src/consensus/consensusState.ts'
import { reindex } from '../../../src/datadir/reindex.ts'
import {
  begunHeight,
  FalseSnapshotError,
  type RestoreRequest,
  restoreSnapshot,
} from '../../../src/datadir/restoreSnapshot.ts'
import { rollback } from '../../../src/datadir/rollback.ts'
import { genesisStateOf } from '../../../src/execution/genesisBlock.ts'
import { bytesToHex, hexToBytes } from '../../../src/primitives/bytes.ts'
import { sha256 } from '../../../src/primitives/hash.ts'
import { decodeChunk, encodeChunk, packChunk, unpackChunk } from '../../../src/snapshot/chunk.ts'
import { makeSnapshot } from '../../../src/snapshot/makeSnapshot.ts'
import { chunkName, MANIFEST_NAME, type Manifest, readManifest } from '../../../src/snapshot/manifest.ts'
import { WriteBatch } from '../../../src/storage/batch.ts'
import { Column, columnKey } from '../../../src/storage/columns.ts'
import { damagedContents } from '../../../src/storage/damage.ts'
import { Database } from '../../../src/storage/database.ts'
import { contentsOf, expectSame, withDatabase } from '../../support/execution/busyChain.ts'
import {
  blockTimeMs,
  type NetworkNode,
  networkGenesis,
  openNetworkNode,
  proposeBlock,
  scriptedHooks,
  testValidator,
} from '../../support/execution/testNetwork.ts'
import { setPower } from '../../support/modules/staking/setPower.ts'

const HEAD = 80
const HEIGHT = 70
const CHANGES = [66, HEIGHT - 1, HEIGHT, 75]

/** The powers of validators change in some blocks, around the snapshot's too. */
const hooks = scriptedHooks((height, world) => {
  if (!CHANGES.includes(height)) return
  const { operator, key } = testValidator(height % 4)
  const context = { world, block: { height, timeMs: blockTimeMs(height) } }
  setPower(context, { operator, publicKey: key.publicKey, power: BigInt(100 + height) })
})
const genesis = networkGenesis(4)

let directory: string
let source: NetworkNode
let manifest: Manifest
const decided: DecidedBlock[] = []
const states: ConsensusState[] = []

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-restore-'))
  source = await openNetworkNode(genesis, { hooks })
  let state = await source.state()
  for (let height = 1; height <= HEAD; height++) {
    states[height - 1] = state
    const block = await proposeBlock(source, state)
    decided[height] = block
    state = advanceState(state, block, await source.executor.application.finalizeBlock(block))
  }
  const database = await Database.open(source.location, { readOnly: true })
  const snapshot = database.snapshot()
  const files = join(directory, 'snapshot')
  await makeSnapshot(snapshot, source.chain, { height: HEIGHT, directory: files, sizes: { chunkBytes: 4_000 } })
  await snapshot.close()
  await database.close()
  manifest = readManifest(readFileSync(join(files, MANIFEST_NAME)))
})

afterAll(async () => {
  await source.close()
  rmSync(directory, { recursive: true })
})

const fileOf = (hash: Uint8Array): Uint8Array =>
  new Uint8Array(readFileSync(join(directory, 'snapshot', chunkName({ sha256: hash }))))

let restores = 0
/** A restore into a directory of its own, as a light client would ask for it. */
function request(changes: Partial<RestoreRequest> = {}): RestoreRequest {
  const [at, next, afterNext] = manifest.lightBlocks.map(decodeLightBlock)
  return {
    location: join(directory, `node-${++restores}`, 'db'),
    manifest,
    headers: { at: at!, next: next!, afterNext: afterNext! },
    chain: source.chain,
    genesis: genesisStateOf(genesis),
    files: { fetch: async ({ sha256: hash }) => fileOf(hash) },
    onProgress: () => undefined,
    signal: new AbortController().signal,
    ...changes,
  }
}

/** Opens the restored node, which must go on with the chain's blocks to the same application hashes. */
async function expectToFollow(location: string): Promise<void> {
  const node = await openNetworkNode(genesis, { hooks, directory: join(location, '..') })
  try {
    const info = await node.executor.application.info()
    expect(info).toMatchObject({ height: HEIGHT, appHash: decided[HEIGHT + 1]!.block.header.appHash })
    const expected = states[HEIGHT]!
    const state = await node.state()
    expect(state.lastBlockId).toEqual(expected.lastBlockId)
    expect(state.lastValidators.validators).toEqual(expected.lastValidators.validators)
    expect([state.validators, state.nextValidators]).toEqual([expected.validators, expected.nextValidators])
    for (let height = HEIGHT + 1; height <= HEAD; height++) {
      const { appHash } = await node.executor.application.finalizeBlock(decided[height]!)
      if (height < HEAD) expect(appHash).toEqual(decided[height + 1]!.block.header.appHash)
    }
    expect((await node.state()).nextValidators).toEqual((await source.state()).nextValidators)
  } finally {
    await node.close()
  }
}

test('a restored node has the chain’s state, newest blocks and validators, and goes on with it', async () => {
  const progress: number[] = []
  const asked = request({ onProgress: (done, total) => progress.push(done / total) })
  await restoreSnapshot(asked)
  expect(progress).toEqual(progress.toSorted((a, b) => a - b))
  expect([progress.length, progress.at(-1)]).toEqual([manifest.chunks.length, 1])
  await expectToFollow(asked.location)

  const database = await Database.open(asked.location, { readOnly: true })
  const reader = openChainReader(database)
  const whole = await Database.open(source.location, { readOnly: true })
  const original = openChainReader(whole)
  expect([reader.base, reader.oldestBlock, reader.headHeight]).toEqual([1, HEIGHT + 1, HEAD])
  for (let height = 1; height <= HEAD; height++) {
    expect(reader.header(height)).toEqual(original.header(height))
    expect(reader.consensusBlock(height)).toEqual(original.consensusBlock(height))
    expect(reader.seenCommit(height)).toEqual(original.seenCommit(height))
    expect(reader.heightOf(original.hash(height)!)).toBe(height)
  }
  expect([reader.hash(0), reader.heightOf(original.hash(0)!)]).toEqual([original.hash(0), 0])
  expect(reader.header(0)).toEqual(original.header(0))
  // Nobody can know the priorities of the block itself.
  expect([reader.validatorsAt(HEIGHT), reader.validatorsAt(HEIGHT + 1)?.priorities.length]).toEqual([undefined, 4])
  expect(reader.validatorSetAt(HEIGHT)).toEqual(original.validatorSetAt(HEIGHT))
  expect(reader.validatorsAt(HEAD + 2)).toEqual(original.validatorsAt(HEAD + 2))
  await database.close()
  await whole.close()
})

test('the indexes of a restored node are whole, and its blocks can be undone down to the snapshot', async () => {
  const asked = request()
  await restoreSnapshot(asked)
  const { location } = asked
  const atFirst = await contentsOf({ location })
  await expectToFollow(location)
  const progressOf = () => ({ update: () => undefined, end: () => undefined })
  await withDatabase(
    { location },
    async (database) => {
      expect(await reindex({ database, index: 'all', progressOf })).toEqual({})
      const batch = new WriteBatch()
      batch.del(columnKey(Column.blockHash, openChainReader(database).hash(0)!))
      await database.write(batch, { sync: true })
      expect(await reindex({ database, index: 'all', progressOf })).toEqual({
        blockHash: { missing: 1, changed: 0, extra: 0 },
      })
      expect(await rollback(database, HEIGHT)).toEqual({ from: HEAD, to: HEIGHT })
      await expect(rollback(database, HEIGHT - 1)).rejects.toThrow(`the earliest possible block is ${HEIGHT}`)
    },
    false,
  )
  expectSame(await contentsOf({ location }), atFirst)
  await expectToFollow(location)
})

test('a restore goes on where it was, whichever file was the last', async () => {
  const location = join(directory, 'interrupted', 'db')
  let fetched = 0
  let attempts = 0
  for (; ; attempts++) {
    let left = 7
    const files = {
      fetch: async ({ sha256: hash }: { sha256: Uint8Array }) => {
        if (--left < 0) throw new Error('the cable was pulled')
        fetched++
        return fileOf(hash)
      },
    }
    const done = await restoreSnapshot(request({ location, files })).then(
      () => true,
      (error: Error) => {
        expect(error.message).toBe('the cable was pulled')
        return false
      },
    )
    expect(await begunHeight(location)).toBe(HEIGHT)
    if (done) break
    expect(attempts).toBeLessThan(manifest.chunks.length)
  }
  // Only those that were under way when another failed are fetched twice.
  expect(fetched).toBeLessThanOrEqual(manifest.chunks.length + 3 * attempts)
  // A finished one is not touched again.
  await restoreSnapshot(request({ location, files: { fetch: () => Promise.reject(new Error('not needed')) } }))
  await expectToFollow(location)
})

test('what was begun for another block is begun anew', async () => {
  const location = join(directory, 'other', 'db')
  const other = await Database.open(location)
  await other.close()
  expect(await begunHeight(location)).toBeUndefined()
  await restoreSnapshot(request({ location }))
  await expectToFollow(location)
})

test('what was begun and was damaged is begun anew', async () => {
  const location = join(directory, 'damaged', 'db')
  const bad = { fetch: () => Promise.reject(new Error('the cable was pulled')) }
  await expect(restoreSnapshot(request({ location, files: bad }))).rejects.toThrow('cable')
  writeFileSync(join(location, 'CURRENT'), 'nonsense')
  expect(await begunHeight(location)).toBeUndefined()
  await restoreSnapshot(request({ location }))
  await expectToFollow(location)
})

test('damage that shows while it is restored ends it, and nothing of it is left', async () => {
  const location = join(directory, 'damage', 'db')
  const damage = damagedContents('a test')
  const files = { fetch: () => Promise.reject(damage) }
  const failed = restoreSnapshot(request({ location, files }))
  await expect(failed).rejects.toThrow(`${location} was damaged during the restore of a snapshot and has been removed`)
  expect(existsSync(location)).toBe(false)
})

test('a disk with too little room is refused before anything is fetched', async () => {
  const location = join(directory, 'room', 'db')
  const files = { fetch: () => Promise.reject(new Error('not to be fetched')) }
  const needed = manifest.chunks.reduce((sum, { unpackedBytes }) => sum + unpackedBytes, 0)
  const small = restoreSnapshot(request({ location, files, freeBytes: async () => needed >> 1 }))
  await expect(small).rejects.toThrow(
    /^restoring the snapshot needs at least \d+ MB in .*: free some space and start again/,
  )
  await restoreSnapshot(request({ location, freeBytes: async () => needed }))
})

test('an abort ends it', async () => {
  const abort = new AbortController()
  const asked = request({ signal: abort.signal })
  const files = {
    fetch: async ({ sha256: hash }: { sha256: Uint8Array }) => {
      abort.abort(new Error('stopped'))
      return fileOf(hash)
    },
  }
  await expect(restoreSnapshot({ ...asked, files })).rejects.toThrow('stopped')
})

describe('a snapshot is refused', () => {
  const at = (name: 'at' | 'next' | 'afterNext', change: object): Partial<RestoreRequest> => {
    const { headers } = request()
    const { header } = headers[name]
    return { headers: { ...headers, [name]: { ...headers[name], header: { ...header, ...change } } } }
  }

  test.each<[string, () => Partial<RestoreRequest>, RegExp]>([
    [
      'of another chain',
      () => ({ manifest: { ...manifest, chainId: 'coin_7628-1' } }),
      /belongs to the chain coin_7628-1/,
    ],
    [
      'of another genesis',
      () => ({ manifest: { ...manifest, genesisHash: new Uint8Array(32) } }),
      /its genesis is 0x00/,
    ],
    [
      'where the state has no priorities',
      () => ({ chain: { ...source.chain, validatorRanksHeight: 0 } }),
      /proposer priorities/,
    ],
    [
      'of a forged header',
      () => ({ manifest: { ...manifest, consensusHash: new Uint8Array(32) } }),
      /block 70 differs/,
    ],
    [
      'of a forged state',
      () => at('next', { appHash: new Uint8Array(32).fill(1) }),
      /Ethereum header of block 70 differs/,
    ],
  ])('%s', async (_, change, reason) => {
    const refused = restoreSnapshot(request(change()))
    await expect(refused).rejects.toThrow(FalseSnapshotError)
    await expect(refused).rejects.toThrow(reason)
  })

  /** The snapshot with one chunk replaced by whoever made the manifest, so that the file has the hash that the manifest says. */
  function forged(index: number, change: (content: Uint8Array) => Uint8Array): Partial<RestoreRequest> {
    const listed = manifest.chunks[index]!
    const content = change(unpackChunk(fileOf(listed.sha256)))
    const packed = packChunk(content)
    const chunk = { ...listed, sha256: sha256(packed), bytes: packed.length, unpackedBytes: content.length }
    const name = bytesToHex(chunk.sha256)
    return {
      manifest: { ...manifest, chunks: manifest.chunks.with(index, chunk) },
      files: {
        fetch: async ({ sha256: hash }) => (bytesToHex(hash) === name ? packed : fileOf(hash)),
      },
    }
  }
  const indexOf = (kind: string) => manifest.chunks.findIndex((chunk) => chunk.kind === kind)
  const edit = (content: Uint8Array, change: (chunk: ReturnType<typeof decodeChunk>) => object): Uint8Array =>
    encodeChunk({ ...decodeChunk(content), ...change(decodeChunk(content)) } as ReturnType<typeof decodeChunk>)

  test.each<[string, () => Partial<RestoreRequest>]>([
    [
      'that leaves an account out',
      () =>
        forged(indexOf('accounts'), (content) =>
          edit(content, (chunk) => ({ accounts: chunk.kind === 'accounts' ? chunk.accounts.slice(1) : [] })),
        ),
    ],
    [
      'that gives somebody coins',
      () =>
        forged(indexOf('accounts'), (content) =>
          edit(content, (chunk) => ({
            accounts:
              chunk.kind === 'accounts' ? chunk.accounts.map((account) => ({ ...account, balance: 10n ** 30n })) : [],
          })),
        ),
    ],
    [
      'with another native entry',
      () =>
        forged(indexOf('native'), (content) =>
          edit(content, (chunk) => ({
            entries:
              chunk.kind === 'native' ? chunk.entries.map((entry) => ({ ...entry, value: hexToBytes('0x01') })) : [],
          })),
        ),
    ],
    ['without its native entries', () => ({ manifest: without('native') })],
    ['without the last blocks', () => ({ manifest: without('blocks') })],
    [
      'with a block of another chain',
      () =>
        forged(indexOf('blocks'), (content) =>
          edit(content, (chunk) => ({
            blocks: chunk.kind === 'blocks' ? chunk.blocks.map(({ block }) => ({ block, header: block })) : [],
          })),
        ),
    ],
    ['with bytes that are no chunk', () => forged(0, () => new Uint8Array(100).fill(0xc0))],
    [
      'with a chunk of another kind',
      () => forged(0, () => unpackChunk(fileOf(manifest.chunks[indexOf('native')]!.sha256))),
    ],
    ['whose files are others of its own than it says', () => ({ manifest: withSwapped('native') })],
  ])('%s', async (_, change) => {
    await expect(restoreSnapshot(request(change()))).rejects.toThrow(FalseSnapshotError)
  })

  /** Two chunks of a kind under each other's range: all of the state is there. */
  function withSwapped(kind: string): Manifest {
    const [i, j] = [indexOf(kind), indexOf(kind) + 1]
    const [first, second] = [manifest.chunks[i]!, manifest.chunks[j]!]
    expect(second.kind).toBe(kind)
    const fileIn = ({ sha256, bytes, unpackedBytes }: typeof first) => ({ sha256, bytes, unpackedBytes })
    const chunks = manifest.chunks.with(i, { ...first, ...fileIn(second) }).with(j, { ...second, ...fileIn(first) })
    return { ...manifest, chunks }
  }

  function without(kind: string): Manifest {
    return { ...manifest, chunks: manifest.chunks.filter((chunk) => chunk.kind !== kind) }
  }
})
