import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { keccak256 } from '../../../src/primitives/hash.ts'
import { storedTries } from '../../../src/state/checkAbsent.ts'
import { accountKey, nativeKey, slotCountKey, slotKey } from '../../../src/state/flatState.ts'
import { readStateHead } from '../../../src/state/head.ts'
import { Journal } from '../../../src/state/journal.ts'
import { NATIVE_ACCOUNT, nativeSlot } from '../../../src/state/prepareChanges.ts'
import type { StateReader } from '../../../src/state/reader.ts'
import { StateStore } from '../../../src/state/stateStore.ts'
import { StateTrie } from '../../../src/state/trie.ts'
import { storageTrie } from '../../../src/state/trieNode.ts'
import { createStateCaches, openStateAt } from '../../../src/state/view.ts'
import { WriteBatch } from '../../../src/storage/batch.ts'
import { Database, type DatabaseError } from '../../../src/storage/database.ts'
import { createRandom } from '../../support/state/randomChain.ts'

const address = (index: number): Uint8Array => new Uint8Array(20).fill(index + 1)
const slot = (index: number): Uint8Array => new Uint8Array(32).fill(index)
const nativeEntry = (index: number): Uint8Array => Uint8Array.of(7, index)
const COUNT = 40
const CONTRACT = address(3)
const DAMAGED = {
  name: 'DatabaseError',
  code: 'corrupt',
  message: expect.stringMatching(/^the database is damaged \(.*: check the disk/),
}

describe('an entry that the flat state lacks and the trie has', () => {
  let directory: string
  let database: Database
  /** what the thread that opened the database is told, whatever the request does with the error */
  let told: DatabaseError[]
  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'coind-absent-'))
    told = []
    database = await Database.open(directory, { onDamage: (error) => told.push(error) })
    const store = new StateStore(database)
    for (let height = 0; height < 3; height++) {
      const journal = new Journal(store.reader())
      for (let i = 0; i < COUNT; i++) {
        if (height === 0) {
          journal.setBalance(address(i), 5n)
          journal.native.set(nativeEntry(i), Uint8Array.of(1))
        }
        // The second half of the slots is set by the newest block.
        if (height === 0 || (height === 2 && i >= COUNT / 2)) {
          journal.setStorage(CONTRACT, slot(height * COUNT + i), Uint8Array.of(9))
        }
      }
      const pending = await store.apply(journal.changes(), height)
      const batch = new WriteBatch()
      pending.write(batch)
      await database.write(batch, { sync: false })
      pending.publish()
    }
    await store.close()
  })
  afterEach(async () => {
    await database.close()
    rmSync(directory, { recursive: true })
  })

  /** Runs `read` on the state of a view at the head, and of a view at an older height. */
  async function eachView(read: (state: StateReader) => void): Promise<void> {
    const snapshot = database.snapshot()
    for (const height of [2, 1]) read(openStateAt(snapshot, createStateCaches(), readStateHead(snapshot)!, height))
    await snapshot.close()
  }

  const entries: readonly [string, Uint8Array, (state: StateReader) => unknown][] = [
    ['account', accountKey(address(20)), (state) => state.getAccount(address(20))],
    ['slot', slotKey(CONTRACT, slot(5)), (state) => state.getStorage(CONTRACT, slot(5))],
    ['number of slots', slotCountKey(CONTRACT), (state) => state.storageCount(CONTRACT)],
    ['native entry', nativeKey(nativeEntry(6)), (state) => state.getNative(nativeEntry(6))],
  ]

  it.each(entries)('is damage, not nothing: %s', async (_, key, read) => {
    const batch = new WriteBatch()
    batch.del(key)
    await database.write(batch, { sync: false })
    await eachView((state) => {
      let error: unknown
      try {
        read(state)
      } catch (thrown) {
        error = thrown
      }
      // An older number of slots is in the history.
      if (error === undefined && key[0] === slotCountKey(CONTRACT)[0]) return
      expect(error).toMatchObject({ name: 'StateReadError', cause: DAMAGED })
      expect(told.pop()).toMatchObject(DAMAGED)
    })
  })

  it.each(entries)('fails the block that reads it: %s', async (_, key, read) => {
    const batch = new WriteBatch()
    batch.del(key)
    await database.write(batch, { sync: false })
    const store = new StateStore(database)
    const journal = new Journal(store.reader())
    read(store.reader())
    await expect(store.apply(journal.changes(), 3)).rejects.toMatchObject(DAMAGED)
    await store.close()
  })

  it.each<[string, Uint8Array, (journal: Journal) => void]>([
    ['account', accountKey(address(20)), (journal) => journal.addBalance(address(20), 1n)],
    ['slot', slotKey(CONTRACT, slot(5)), (journal) => journal.setStorage(CONTRACT, slot(5), Uint8Array.of(1))],
    ['native entry', nativeKey(nativeEntry(6)), (journal) => journal.native.set(nativeEntry(6), Uint8Array.of(2))],
  ])('fails the block that writes it: %s', async (_, key, write) => {
    const batch = new WriteBatch()
    batch.del(key)
    await database.write(batch, { sync: false })
    const store = new StateStore(database)
    const journal = new Journal(store.reader())
    write(journal)
    await expect(store.apply(journal.changes(), 3)).rejects.toMatchObject(DAMAGED)
    await store.close()
  })

  it('does not look for what the block writes, and looks once for what it does not', async () => {
    const store = new StateStore(database)
    const has = vi.spyOn(StateTrie.prototype, 'has')
    for (let height = 3; height < 5; height++) {
      const journal = new Journal(store.reader())
      for (let i = 0; i < 10; i++) {
        journal.addBalance(new Uint8Array(20).fill(100 + i, height), 1n)
        journal.getBalance(new Uint8Array(20).fill(50 + i, 10))
      }
      const pending = await store.apply(journal.changes(), height)
      const batch = new WriteBatch()
      pending.write(batch)
      await database.write(batch, { sync: false })
      pending.publish()
      expect(has).toHaveBeenCalledTimes(10)
    }
    has.mockRestore()
    await store.close()
  })

  it('is looked for in tries of every form', async () => {
    const random = createRandom(5)
    const store = new StateStore(database)
    // Contracts with 0 to 300 slots: tries without nodes, of one leaf, with extensions, of several levels.
    const slots = (contract: number): Uint8Array[] =>
      Array.from({ length: [0, 1, 2, 17, 300][contract]! }, (_, i) => keccak256(Uint8Array.of(contract, i, i >> 8)))
    const journal = new Journal(store.reader())
    for (let contract = 0; contract < 5; contract++) {
      for (const key of slots(contract)) journal.setStorage(address(60 + contract), key, Uint8Array.of(1))
    }
    const pending = await store.apply(journal.changes(), 3)
    const batch = new WriteBatch()
    pending.write(batch)
    await database.write(batch, { sync: false })
    pending.publish()
    await store.close()
    const tries = storedTries(database)
    for (let contract = 0; contract < 5; contract++) {
      const owner = storageTrie(address(60 + contract))
      expect(tries.has(owner, undefined)).toBe(contract > 0)
      for (const key of slots(contract)) {
        const path = keccak256(key)
        expect(tries.has(owner, path)).toBe(true)
        // Another path that parts from it anywhere, which is how most end.
        path[random(32)]! ^= 1 << random(8)
        expect(tries.has(owner, path)).toBe(false)
      }
    }
  })

  it('is none of those that were never there, nor a native entry read as a slot', async () => {
    await eachView((state) => {
      for (let i = 0; i < 3 * COUNT; i++) {
        expect(state.getAccount(new Uint8Array(20).fill(200).fill(i, 10))).toBeUndefined()
        expect(state.getStorage(CONTRACT, new Uint8Array(32).fill(255).fill(i, 10))).toEqual(new Uint8Array())
        expect(state.getStorage(address(4), slot(i))).toEqual(new Uint8Array())
        expect(state.storageCount(address(4))).toBe(0)
        expect(state.getNative(Uint8Array.of(8, i))).toBeUndefined()
      }
      expect(state.getStorage(NATIVE_ACCOUNT, nativeSlot(nativeEntry(6)))).toEqual(new Uint8Array())
      expect(state.storageCount(NATIVE_ACCOUNT)).toBe(0)
      expect(state.getAccount(address(20))?.balance).toBe(5n)
    })
  })
})
