import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bytesKey, compareBytes, equalBytes } from '../../../src/primitives/bytes.ts'
import { EMPTY_TRIE_ROOT, type Hash, keccak256, ZERO_HASH } from '../../../src/primitives/hash.ts'
import {
  type AccountEntry,
  type AccountsChunk,
  ChunkError,
  type CodesChunk,
  decodeChunk,
  encodeChunk,
  type NativeChunk,
  packChunk,
  type StateChunk,
  type StorageChunk,
} from '../../../src/snapshot/chunk.ts'
import { cutChunks } from '../../../src/snapshot/cutChunks.ts'
import { verifyChunk } from '../../../src/snapshot/verifyChunk.ts'
import { NATIVE_ACCOUNT } from '../../../src/state/prepareChanges.ts'
import { proveRange } from '../../../src/state/rangeProof.ts'
import { ACCOUNT_TRIE, trieNodeKey } from '../../../src/state/trieNode.ts'
import { Column } from '../../../src/storage/columns.ts'
import { Database } from '../../../src/storage/database.ts'
import { firstSeed } from '../../propertyRuns.ts'
import { columnsOf, LARGE_ACCOUNTS, makeState, SMALL_CHUNKS, smallChunks } from '../../support/snapshot/sampleState.ts'

let directory: string
let database: Database
let root: Hash
let chunks: StateChunk[]

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-chunks-'))
  mkdirSync(join(directory, 'sort'))
  database = await Database.open(join(directory, 'db'))
  const store = await makeState(database, firstSeed(5))
  root = store.root
  await store.close()
  chunks = await smallChunks(database, join(directory, 'sort'))
})
afterAll(async () => {
  await database.close()
  rmSync(directory, { recursive: true })
})

function ofKind<Kind extends StateChunk['kind']>(kind: Kind): Extract<StateChunk, { kind: Kind }>[] {
  return chunks.filter((chunk) => chunk.kind === kind) as Extract<StateChunk, { kind: Kind }>[]
}

function reasonOf(chunk: StateChunk): string {
  try {
    verifyChunk(chunk, root)
  } catch (error) {
    expect(error).toBeInstanceOf(ChunkError)
    return (error as Error).message
  }
  return 'accepted'
}

describe('cutChunks', () => {
  it('makes chunks of each kind, in order, whose ranges cover all keys', () => {
    const kinds = ['accounts', 'storage', 'native', 'codes'] as const
    expect([...new Set(chunks.map(({ kind }) => kind))]).toEqual(kinds)
    for (const kind of kinds) expect(ofKind(kind).length).toBeGreaterThan(1)
    const storages = Map.groupBy(ofKind('storage'), ({ address }) => bytesKey(address))
    const inOrder = LARGE_ACCOUNTS.toSorted((a, b) => compareBytes(keccak256(a), keccak256(b)))
    expect([...storages.keys()]).toEqual(inOrder.map(bytesKey))
    for (const ranges of [ofKind('accounts'), ofKind('native'), ...storages.values()]) {
      let next = BigInt(0)
      for (const { first, last } of ranges) {
        expect(BigInt(`0x${Buffer.from(first).toString('hex')}`)).toBe(next)
        next = BigInt(`0x${Buffer.from(last).toString('hex')}`) + 1n
      }
      expect(next).toBe(1n << 256n)
    }
    for (const chunk of chunks) expect(encodeChunk(chunk).length).toBeLessThan(2 * SMALL_CHUNKS.chunkBytes!)
  })

  it('makes the same chunks again, with sorts on disk too, and one of each kind where they fit', async () => {
    const options = { directory: join(directory, 'sort'), ...SMALL_CHUNKS, memoryBytes: 2000 }
    const again = await Array.fromAsync(cutChunks(database, options))
    expect(again.map((chunk) => packChunk(encodeChunk(chunk)))).toEqual(
      chunks.map((one) => packChunk(encodeChunk(one))),
    )
    const whole = await Array.fromAsync(cutChunks(database, { directory: options.directory }))
    expect(whole.map(({ kind }) => kind)).toEqual(['accounts', 'native', 'codes'])
    for (const chunk of whole) verifyChunk(chunk, root)
  })

  it('makes one chunk of an empty state', async () => {
    const empty = await Database.open(join(directory, 'empty'))
    const [chunk, ...others] = await Array.fromAsync(cutChunks(empty, { directory }))
    await empty.close()
    expect(others).toEqual([])
    expect(chunk).toMatchObject({ kind: 'accounts', accounts: [], proof: [] })
    verifyChunk(chunk!, EMPTY_TRIE_ROOT)
  })
})

describe('verifyChunk', () => {
  it('takes all chunks, decoded, and gets all nodes of all tries from them', async () => {
    const nodes = new Map<string, string>()
    for (const chunk of chunks) {
      verifyChunk(decodeChunk(encodeChunk(chunk)) as StateChunk, root, (owner) => (path, depth, rlp) => {
        nodes.set(bytesKey(trieNodeKey(owner, path, depth)), bytesKey(rlp))
      })
    }
    const stored = await columnsOf(database, [Column.trieNode])
    expect(new Map([...nodes].sort())).toEqual(new Map([...stored].sort()))
  })

  it('refuses every chunk under another root, and each of whose entries one is left out or changed', () => {
    for (const chunk of chunks) {
      if (chunk.kind === 'codes') continue
      expect(() => verifyChunk(chunk, keccak256(root))).toThrow(ChunkError)
      expect(() => verifyChunk(chunk, EMPTY_TRIE_ROOT)).toThrow(ChunkError)
      for (const bad of spoilt(chunk)) expect(reasonOf(bad)).not.toBe('accepted')
    }
  })

  it('refuses an account with other fields or other slots', () => {
    const chunk = ofKind('accounts').find(({ accounts }) => accounts.some(({ slots }) => (slots?.length ?? 0) > 2))!
    const index = chunk.accounts.findIndex(({ slots }) => (slots?.length ?? 0) > 2)
    const account = chunk.accounts[index]!
    const slots = account.slots!
    const withAccount = (change: Partial<AccountEntry>): AccountsChunk => ({
      ...chunk,
      accounts: chunk.accounts.with(index, { ...account, ...change }),
    })
    const another = /another value|not those of the trie/
    expect(reasonOf(withAccount({ nonce: account.nonce + 1n }))).toMatch(another)
    expect(reasonOf(withAccount({ balance: account.balance + 1n }))).toMatch(another)
    expect(reasonOf(withAccount({ codeHash: keccak256(account.codeHash) }))).toMatch(another)
    expect(reasonOf(withAccount({ storageRoot: ZERO_HASH }))).toMatch(another)
    const otherSlots = /do not match its storage root/
    expect(reasonOf(withAccount({ slots: slots.slice(1) }))).toMatch(otherSlots)
    expect(reasonOf(withAccount({ slots: [] }))).toMatch(otherSlots)
    expect(
      reasonOf(withAccount({ slots: [{ ...slots[0]!, value: Uint8Array.of(1, 1, 1) }, ...slots.slice(1)] })),
    ).toMatch(otherSlots)
    expect(reasonOf(withAccount({ slots: slots.toReversed() }))).toContain('order of their hashes')
    expect(reasonOf(withAccount({ slots: [slots[0]!, ...slots] }))).toContain('order of their hashes')
  })

  it('refuses an account without storage that is said to have chunks of it, and one with native entries of its own', () => {
    for (const chunk of ofKind('accounts')) {
      const index = chunk.accounts.findIndex(({ storageRoot }) => equalBytes(storageRoot, EMPTY_TRIE_ROOT))
      const plain = chunk.accounts[index]!
      const changed = { ...chunk, accounts: chunk.accounts.with(index, { ...plain, slots: undefined }) }
      expect(reasonOf(changed)).toContain('should have chunks of storage')
      const native = chunk.accounts.findIndex(({ address }) => equalBytes(address, NATIVE_ACCOUNT))
      if (native < 0) continue
      const own = { ...chunk.accounts[native]!, slots: [] }
      expect(reasonOf({ ...chunk, accounts: chunk.accounts.with(native, own) })).toContain('chunks of their own')
    }
  })

  it('refuses storage of another account, of none, and native entries as slots', () => {
    const [chunk] = ofKind('storage') as [StorageChunk]
    const [native] = ofKind('native') as [NativeChunk]
    const other = ofKind('storage').find(({ address }) => !equalBytes(address, chunk.address))!
    expect(reasonOf({ ...chunk, address: other.address })).toContain('another hash')
    expect(reasonOf({ ...chunk, address: other.address, accountProof: other.accountProof })).not.toBe('accepted')
    expect(reasonOf({ ...chunk, accountProof: chunk.accountProof.slice(0, -1) })).toContain('missing in the proof')
    expect(reasonOf({ ...chunk, accountProof: [...chunk.accountProof, ZERO_HASH] })).toContain('1 more nodes')
    const slots = native.entries.map(({ key, value }) => ({ slot: keccak256(key), value }))
    expect(reasonOf({ ...native, kind: 'storage', address: NATIVE_ACCOUNT, slots })).toContain('another kind')
    const address = new Uint8Array(20).fill(0xee)
    const path = keccak256(address)
    const absent = proveRange(database, ACCOUNT_TRIE, path, path)
    expect(reasonOf({ ...chunk, address, accountProof: absent })).toContain('storage of the account 0xeeee')
  })

  it('refuses codes that are out of order or doubled', () => {
    const [chunk] = ofKind('codes') as [CodesChunk]
    expect(reasonOf({ ...chunk, codes: chunk.codes.toReversed() })).toContain('order of its hashes')
    expect(reasonOf({ ...chunk, codes: [chunk.codes[0]!, ...chunk.codes] })).toContain('order of its hashes')
  })
})

/** The chunk with its first, a middle and its last entry left out or changed. */
function* spoilt(chunk: Exclude<StateChunk, CodesChunk>): Generator<StateChunk> {
  const { length } = chunk.kind === 'accounts' ? chunk.accounts : chunk.kind === 'storage' ? chunk.slots : chunk.entries
  for (const i of new Set([0, length >> 1, length - 1])) {
    if (chunk.kind === 'accounts') {
      const { accounts } = chunk
      yield { ...chunk, accounts: accounts.toSpliced(i, 1) }
      yield { ...chunk, accounts: accounts.with(i, { ...accounts[i]!, balance: accounts[i]!.balance ^ 1n }) }
    } else if (chunk.kind === 'storage') {
      yield { ...chunk, slots: chunk.slots.toSpliced(i, 1) }
      yield { ...chunk, slots: chunk.slots.with(i, { ...chunk.slots[i]!, value: Uint8Array.of(9, 9) }) }
    } else {
      yield { ...chunk, entries: chunk.entries.toSpliced(i, 1) }
      yield { ...chunk, entries: chunk.entries.with(i, { ...chunk.entries[i]!, value: Uint8Array.of(9, 9) }) }
      yield { ...chunk, entries: chunk.entries.with(i, { ...chunk.entries[i]!, key: Uint8Array.of(9, 9) }) }
    }
  }
  for (let i = 0; i < chunk.proof.length; i++) yield { ...chunk, proof: chunk.proof.toSpliced(i, 1) }
}
