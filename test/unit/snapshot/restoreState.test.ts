import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { bytesKey, EMPTY_BYTES } from '../../../src/primitives/bytes.ts'
import { EMPTY_TRIE_ROOT, type Hash, keccak256, sha256, ZERO_HASH } from '../../../src/primitives/hash.ts'
import { ChunkError, decodeChunk, encodeChunk, type StateChunk } from '../../../src/snapshot/chunk.ts'
import { IncompleteStateError, StateRestore } from '../../../src/snapshot/restoreState.ts'
import { readStateHead } from '../../../src/state/head.ts'
import { NATIVE_ACCOUNT, nativeSlot } from '../../../src/state/prepareChanges.ts'
import { proofAt } from '../../../src/state/proof.ts'
import { StateStore } from '../../../src/state/stateStore.ts'
import { Column } from '../../../src/storage/columns.ts'
import { Database, type WritableDatabase } from '../../../src/storage/database.ts'
import { firstSeed, runs } from '../../propertyRuns.ts'
import { addBlock, columnsOf, LARGE_ACCOUNTS, makeState, smallChunks } from '../../support/snapshot/sampleState.ts'
import {
  ACCOUNTS,
  createRandom,
  describeState,
  NATIVE_KEYS,
  randomBlock,
  SLOTS,
} from '../../support/state/randomChain.ts'

const HEIGHT = 8
const COMPARED = [Column.account, Column.slot, Column.slotCount, Column.native, Column.trieNode]

let directory: string
let source: Database
let store: StateStore
let target: Database
let chunks: StateChunk[]
let root: Hash

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-restore-'))
  mkdirSync(join(directory, 'sort'))
  source = await Database.open(join(directory, 'source'))
  target = await Database.open(join(directory, 'target'))
})
afterEach(async () => {
  await store.close()
  await source.close()
  await target.close()
  rmSync(directory, { recursive: true })
})

async function makeChunks(seed: number): Promise<void> {
  store = await makeState(source, seed)
  root = store.root
  chunks = await smallChunks(source, join(directory, 'sort'))
}

/** As after `kill -9`: nothing in memory is left. */
async function reopen(): Promise<void> {
  await target.close()
  target = await Database.open(join(directory, 'target'))
}

function nameOf(chunk: StateChunk): Hash {
  return sha256(encodeChunk(chunk))
}

async function writeAll(restore: StateRestore, some: readonly StateChunk[]): Promise<void> {
  for (const chunk of some) await restore.write(nameOf(chunk), chunk)
}

function shuffled<T>(items: readonly T[], random: (below: number) => number): T[] {
  const out = [...items]
  for (let i = out.length - 1; i > 0; i--) {
    const other = random(i + 1)
    const item = out[i]!
    out[i] = out[other]!
    out[other] = item
  }
  return out
}

/** Everything that a node needs of the restored state equals what the source has. */
async function expectSameState(): Promise<void> {
  expect(await columnsOf(target, COMPARED)).toEqual(await columnsOf(source, COMPARED))
  expect(await columnsOf(target, [Column.restore])).toEqual(new Map())
  const used = new Set<string>()
  for (const chunk of chunks) {
    if (chunk.kind === 'accounts') for (const { codeHash } of chunk.accounts) used.add(bytesKey(codeHash))
  }
  // No account has some of the source's codes any more: they are not part of the snapshot.
  const codes = await columnsOf(source, [Column.code], (key) => !used.has(bytesKey(key.slice(1))))
  expect(codes.size).toBeGreaterThan(10)
  expect(await columnsOf(target, [Column.code])).toEqual(codes)
  expect(readStateHead(target)).toEqual({ height: HEIGHT, root, oldestHeight: HEIGHT })
}

async function proofs(database: Database): Promise<unknown> {
  const snapshot = database.snapshot()
  const head = readStateHead(snapshot)!
  const found: unknown[] = []
  for (const address of [...ACCOUNTS.slice(0, 8), ...LARGE_ACCOUNTS]) {
    found.push(await proofAt(snapshot, head, HEIGHT, address, SLOTS))
  }
  found.push(await proofAt(snapshot, head, HEIGHT, NATIVE_ACCOUNT, NATIVE_KEYS.slice(0, 8).map(nativeSlot)))
  await snapshot.close()
  return found
}

describe('a restored state', () => {
  const seeds = Array.from({ length: runs(1) }, (_, i) => firstSeed(21) + i)
  it.each(seeds)('is the same byte by byte, from chunks in any order, with cuts between them (%i)', async (seed) => {
    await makeChunks(seed)
    const random = createRandom(seed)
    const isCode = ({ kind }: StateChunk): boolean => kind === 'codes'
    const codes = shuffled(chunks.filter(isCode), random)
    for (const chunk of [
      ...shuffled(
        chunks.filter((chunk) => !isCode(chunk)),
        random,
      ),
      ...codes,
    ]) {
      const restore = await StateRestore.open(target, HEIGHT, root)
      expect(restore.has(nameOf(chunk))).toBe(false)
      const received = decodeChunk(encodeChunk(chunk)) as StateChunk
      await restore.write(nameOf(chunk), received)
      // Sent twice: nothing happens.
      await restore.write(nameOf(chunk), received)
      expect(readStateHead(target)).toBeUndefined()
      await reopen()
    }
    const restore = await StateRestore.open(target, HEIGHT, root)
    for (const chunk of chunks) expect(restore.has(nameOf(chunk))).toBe(true)
    await restore.finish()
    await restore.finish()
    await expectSameState()
    expect(await proofs(target)).toEqual(await proofs(source))
    await reopen()

    const restored = new StateStore(target)
    for (let block = 0; block < 10; block++) {
      expect(describeState(restored.reader())).toEqual(describeState(store.reader()))
      expect(nativeWalks(restored)).toEqual(nativeWalks(store))
      for (const [database, state] of [
        [source, store],
        [target, restored],
      ] as const) {
        const journal = randomBlock(state.reader(), createRandom(seed * 100 + block))
        if (block === 4) journal.clearStorage(LARGE_ACCOUNTS[0]!)
        if (block === 5) for (const key of state.reader().nativeRange(Uint8Array.of(7, 3))) journal.native.delete(key)
        await addBlock(database, state, journal)
      }
      expect(restored.root).toEqual(store.root)
    }
    expect(await columnsOf(target, COMPARED)).toEqual(await columnsOf(source, COMPARED))
    await restored.close()
  })

  it('is whole wherever the writing was cut off, in its completion too', async () => {
    await makeChunks(firstSeed(31))
    for (let attempt = 0; ; attempt++) {
      const cut = cutOff(target, attempt % 4, attempt % 3 === 0)
      try {
        const restore = await StateRestore.open(cut, HEIGHT, root)
        await writeAll(restore, chunks)
        await restore.finish()
        break
      } catch (error) {
        expect((error as Error).message).toBe('cut off')
      }
      await reopen()
    }
    await expectSameState()
  })

  it('is refused while anything is missing, and complete when that came too', async () => {
    await makeChunks(firstSeed(41))
    const missing = new Map(
      (['accounts', 'native', 'storage', 'codes'] as const).flatMap((kind) => {
        const some = chunks.filter((chunk) => chunk.kind === kind)
        return [some.at(-1)!, some[0]!].map((chunk) => [chunk, kind] as const)
      }),
    )
    // They come after all accounts.
    for (const chunk of chunks) if (chunk.kind === 'codes') missing.set(chunk, 'codes')
    const restore = await StateRestore.open(target, HEIGHT, root)
    await expect(restore.finish()).rejects.toThrow('no chunk of accounts begins at 0x0000')
    await writeAll(
      restore,
      chunks.filter((chunk) => !missing.has(chunk)),
    )
    const reasons = {
      accounts: /no chunk of accounts begins at 0x/,
      storage: /no chunk of storage of 0x/,
      native: /no chunk of native entries begins at 0x/,
      codes: /the code with the hash 0x.* is missing/,
    }
    for (const [chunk, kind] of missing) {
      const error: unknown = await restore.finish().catch((reason: unknown) => reason)
      expect(error).toBeInstanceOf(IncompleteStateError)
      expect((error as Error).message).toMatch(reasons[kind])
      expect(readStateHead(target)).toBeUndefined()
      await restore.write(nameOf(chunk), chunk)
    }
    await restore.finish()
    await expectSameState()
  })

  it('has nothing of a chunk that is not true', async () => {
    await makeChunks(firstSeed(51))
    const restore = await StateRestore.open(target, HEIGHT, root)
    const before = await allEntries()
    for (const chunk of chunks) {
      const bad = spoilt(chunk)
      await expect(restore.write(nameOf(bad), bad)).rejects.toThrow(ChunkError)
      expect(restore.has(nameOf(bad))).toBe(false)
    }
    expect(await allEntries()).toEqual(before)
  })

  it('has no codes but those of its accounts, each once', async () => {
    await makeChunks(firstSeed(56))
    const codes = chunks.filter((chunk) => chunk.kind === 'codes')
    const restore = await StateRestore.open(target, HEIGHT, root)
    const early = restore.write(nameOf(codes[0]!), codes[0]!)
    await expect(early).rejects.toThrow(/^it has contract code that no account has$/)
    await writeAll(restore, chunks)
    const before = await allEntries()
    const extra: StateChunk = { kind: 'codes', codes: [new Uint8Array(1 << 20).fill(7)] }
    await expect(restore.write(nameOf(extra), extra)).rejects.toThrow(/^it has contract code that no account has$/)
    const twice: StateChunk = { kind: 'codes', codes: codes[0]!.codes.slice(0, 1) }
    await expect(restore.write(ZERO_HASH, twice)).rejects.toThrow(/^it has contract code that another chunk has$/)
    expect(await allEntries()).toEqual(before)
    await restore.finish()
    await expectSameState()
  })

  it('is not mixed with another state', async () => {
    await makeChunks(firstSeed(61))
    await expect(StateRestore.open(source, HEIGHT, ZERO_HASH)).rejects.toThrow('has another state')
    await expect(StateRestore.open(source, HEIGHT + 1, root)).rejects.toThrow('has another state')
    await StateRestore.open(target, HEIGHT, root)
    await expect(StateRestore.open(target, HEIGHT, keccak256(root))).rejects.toThrow('has another state')
    await expect(StateRestore.open(target, HEIGHT - 1, root)).rejects.toThrow('has another state')
  })

  it('can be empty', async () => {
    await makeChunks(firstSeed(71))
    const restore = await StateRestore.open(target, 0, EMPTY_TRIE_ROOT)
    const highest = new Uint8Array(32).fill(255)
    const empty: StateChunk = { kind: 'accounts', first: ZERO_HASH, last: highest, accounts: [], proof: [] }
    await restore.write(nameOf(empty), empty)
    await restore.finish()
    expect(readStateHead(target)).toEqual({ height: 0, root: EMPTY_TRIE_ROOT, oldestHeight: 0 })
  })
})

function nativeWalks(state: StateStore): unknown {
  return [EMPTY_BYTES, Uint8Array.of(7), Uint8Array.of(7, 3)].flatMap((prefix) =>
    [false, true].map((reverse) => [...state.reader().nativeRange(prefix, undefined, reverse)].map(bytesKey)),
  )
}

/** A database whose writes fail after the first `count`; the one that fails first is in the database when `isWritten`. */
function cutOff(database: Database, count: number, isWritten: boolean): WritableDatabase {
  let left = count
  return {
    location: database.location,
    get: (key) => database.get(key),
    entries: (range) => database.entries(range),
    snapshot: () => database.snapshot(),
    write: async (batch, options) => {
      expect(options.sync).toBe(true)
      if (left > 0 || isWritten) await database.write(batch, options)
      if (left-- <= 0) throw new Error('cut off')
    },
  }
}

async function allEntries(): Promise<Map<string, string>> {
  return columnsOf(
    target,
    Array.from({ length: 255 }, (_, column) => column),
  )
}

/** The chunk with a small lie at its end. */
function spoilt(chunk: StateChunk): StateChunk {
  if (chunk.kind === 'accounts') return { ...chunk, accounts: chunk.accounts.slice(0, -1) }
  if (chunk.kind === 'storage') return { ...chunk, slots: chunk.slots.slice(0, -1) }
  if (chunk.kind === 'native') return { ...chunk, entries: chunk.entries.slice(0, -1) }
  return { ...chunk, codes: [...chunk.codes, chunk.codes[0]!] }
}
