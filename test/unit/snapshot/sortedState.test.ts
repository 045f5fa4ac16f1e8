import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createMPT } from '@ethereumjs/mpt'
import { RLP } from '@ethereumjs/rlp'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { bigIntToMinimalBytes, bytesKey, bytesToHex, compareBytes, EMPTY_BYTES } from '../../../src/primitives/bytes.ts'
import { keccak256 } from '../../../src/primitives/hash.ts'
import {
  type SortedAccount,
  type StateSortOptions,
  sortedAccounts,
  sortedCodes,
  sortedNative,
  sortedSlots,
} from '../../../src/snapshot/sortedState.ts'
import { slotCountKey } from '../../../src/state/flatState.ts'
import { NATIVE_ACCOUNT } from '../../../src/state/prepareChanges.ts'
import { StateStore } from '../../../src/state/stateStore.ts'
import { storageTrie, trieNodeKey } from '../../../src/state/trieNode.ts'
import { WriteBatch } from '../../../src/storage/batch.ts'
import { Database } from '../../../src/storage/database.ts'
import { firstSeed, runs } from '../../propertyRuns.ts'
import { createRandom, randomBlock } from '../../support/state/randomChain.ts'

let directory: string
let database: Database
let sort: StateSortOptions
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-sorted-'))
  sort = { directory: join(directory, 'sort'), memoryBytes: 300 }
  mkdirSync(sort.directory)
  database = await Database.open(join(directory, 'db'))
})
afterEach(async () => {
  await database.close()
  rmSync(directory, { recursive: true })
})

/** A state that a few random blocks made. Gives its root. */
async function makeState(seed: number): Promise<Uint8Array> {
  const store = new StateStore(database)
  const random = createRandom(seed)
  for (let height = 0; height < 12; height++) {
    const pending = await store.apply(randomBlock(store.reader(), random).changes(), height)
    const batch = new WriteBatch()
    pending.write(batch)
    await database.write(batch, { sync: false })
    pending.publish()
  }
  const { root } = store
  await store.close()
  return root
}

function expectAscending(paths: readonly Uint8Array[]): void {
  for (let i = 1; i < paths.length; i++) expect(compareBytes(paths[i - 1]!, paths[i]!)).toBeLessThan(0)
}

/** The root of a trie with these leaves, as @ethereumjs/mpt computes it. */
async function rootOf(leaves: readonly (readonly [Uint8Array, Uint8Array])[]): Promise<Uint8Array> {
  const trie = await createMPT()
  for (const [path, leaf] of leaves) await trie.put(path, leaf)
  return trie.root()
}

async function storageLeaves({ address }: SortedAccount): Promise<(readonly [Uint8Array, Uint8Array])[]> {
  const isNative = bytesKey(address) === bytesKey(NATIVE_ACCOUNT)
  if (!isNative) {
    const slots = await Array.fromAsync(sortedSlots(database, address, sort))
    for (const { path, slot } of slots) expect(path).toEqual(keccak256(slot))
    return slots.map(({ path, value }) => [path, RLP.encode(value)])
  }
  const entries = await Array.fromAsync(sortedNative(database, sort))
  for (const { path, key } of entries) expect(path).toEqual(keccak256(keccak256(key)))
  return entries.map(({ path, value }) => [path, RLP.encode(value)])
}

describe('the sorted state', () => {
  it('holds all leaves of all tries in their order', async () => {
    for (let run = 0; run < runs(3); run++) {
      const root = await makeState(firstSeed(60) + run)
      const accounts = await Array.fromAsync(sortedAccounts(database, sort))
      expect(accounts.length).toBeGreaterThan(10)
      expectAscending(accounts.map(({ path }) => path))
      const leaves: (readonly [Uint8Array, Uint8Array])[] = []
      for (const account of accounts) {
        expect(account.path).toEqual(keccak256(account.address))
        const storage = await storageLeaves(account)
        expectAscending(storage.map(([path]) => path))
        if (account.slotCount > 0) expect(storage).toHaveLength(account.slotCount)
        const storageRoot = await rootOf(storage)
        expect(bytesToHex(account.storageRoot)).toBe(bytesToHex(storageRoot))
        const { nonce, balance, codeHash } = account
        const integers = [bigIntToMinimalBytes(nonce), bigIntToMinimalBytes(balance)]
        leaves.push([account.path, RLP.encode([...integers, storageRoot, codeHash])])
      }
      expect(bytesToHex(await rootOf(leaves))).toBe(bytesToHex(root))

      const hashes = new Set(accounts.map(({ codeHash }) => bytesToHex(codeHash)))
      hashes.delete(bytesToHex(keccak256(EMPTY_BYTES)))
      const codes = await Array.fromAsync(sortedCodes(database, sort))
      expect(codes.map((code) => bytesToHex(keccak256(code)))).toEqual([...hashes].sort())
      expect(readdirSync(sort.directory)).toEqual([])
      await database.close()
      rmSync(join(directory, 'db'), { recursive: true })
      database = await Database.open(join(directory, 'db'))
    }
  })

  it('refuses a storage without its account or trie', async () => {
    await makeState(7)
    const accounts = await Array.fromAsync(sortedAccounts(database, sort))
    const withStorage = accounts.find(({ slotCount }) => slotCount > 0)!
    const { address } = withStorage
    const batch = new WriteBatch()
    batch.del(trieNodeKey(storageTrie(address), '', 0))
    await database.write(batch, { sync: false })
    await expect(Array.fromAsync(sortedAccounts(database, sort))).rejects.toThrow(/damaged.*trie of a storage/)

    const other = new WriteBatch()
    other.put(slotCountKey(new Uint8Array(20).fill(0xee)), Uint8Array.of(1))
    await database.write(other, { sync: false })
    await expect(Array.fromAsync(sortedAccounts(database, sort))).rejects.toThrow(/damaged.*account with storage/)
    expect(readdirSync(sort.directory)).toEqual([])
  })
})
