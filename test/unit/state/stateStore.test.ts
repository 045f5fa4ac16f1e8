import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { MerklePatriciaTrie, verifyMPTWithMerkleProof } from '@ethereumjs/mpt'
import { RLP } from '@ethereumjs/rlp'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { bigIntToMinimalBytes, bytesKey, EMPTY_BYTES, equalBytes } from '../../../src/primitives/bytes.ts'
import { EMPTY_TRIE_ROOT, keccak256 } from '../../../src/primitives/hash.ts'
import { readStateHead, StateUnavailable } from '../../../src/state/head.ts'
import { Journal } from '../../../src/state/journal.ts'
import { NATIVE_ACCOUNT, nativeSlot } from '../../../src/state/prepareChanges.ts'
import { proofAt } from '../../../src/state/proof.ts'
import { type PendingState, StateStore, type StateStoreOptions } from '../../../src/state/stateStore.ts'
import { StateTrie } from '../../../src/state/trie.ts'
import { createStateCaches, openStateAt } from '../../../src/state/view.ts'
import { WriteBatch } from '../../../src/storage/batch.ts'
import { Database, type DatabaseSnapshot } from '../../../src/storage/database.ts'
import { expectedRoot } from '../../support/state/expectedRoot.ts'
import { MemoryStateReader } from '../../support/state/memoryReader.ts'
import {
  ACCOUNTS,
  createRandom,
  describeState,
  NATIVE_KEYS,
  randomBlock,
  SLOTS,
} from '../../support/state/randomChain.ts'

async function verified(root: Uint8Array, key: Uint8Array, proof: readonly Uint8Array[]): Promise<Uint8Array> {
  const trie = new MerklePatriciaTrie({ useKeyHashing: true })
  return (await verifyMPTWithMerkleProof(trie, root, key, [...proof])) ?? EMPTY_BYTES
}

describe('StateStore', () => {
  let directory: string
  let database: Database
  let store: StateStore
  let model: MemoryStateReader
  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'coind-state-'))
    database = await Database.open(directory)
    store = new StateStore(database)
    model = new MemoryStateReader()
  })
  afterEach(async () => {
    await store.close()
    await database.close()
    rmSync(directory, { recursive: true })
  })

  async function persist(pending: PendingState, drop?: (batch: WriteBatch) => void): Promise<void> {
    const batch = new WriteBatch()
    drop?.(batch)
    pending.write(batch)
    await database.write(batch, { sync: false })
    pending.publish()
  }

  async function reopen(options?: StateStoreOptions): Promise<void> {
    await store.close()
    await database.close()
    database = await Database.open(directory)
    store = new StateStore(database, options)
  }

  /** @param drop adds deletes of history to the block's batch */
  async function addBlock(journal: Journal, drop?: (batch: WriteBatch) => void): Promise<void> {
    const changes = journal.changes()
    const height = store.height + 1
    const pending = await store.apply(changes, height)
    await persist(pending, drop)
    model.apply(changes)
    if (changes.native.length > 0 && model.getAccount(NATIVE_ACCOUNT) === undefined) {
      model.setAccount(NATIVE_ACCOUNT, { nonce: 1n })
    }
  }

  it.each([1, 2, 3])('has the state and root of a model, with little memory and restarts (seed %i)', async (seed) => {
    const random = createRandom(seed)
    await reopen({ cacheBytes: 20_000, codeCacheBytes: 500, residentBytes: 8_000 })
    for (let height = 0; height < 45; height++) {
      const abandoned = await store.apply(randomBlock(store.reader(), random).changes(), height)
      await addBlock(randomBlock(store.reader(), random))
      expect(() => abandoned.publish()).toThrow('no longer the head')
      if (random(10) === 0) await reopen({ cacheBytes: 20_000, codeCacheBytes: 500, residentBytes: 8_000 })
      expect(describeState(store.reader())).toEqual(describeState(model))
      expect(store.root).toEqual(await expectedRoot(model))
    }
  })

  it('has the state and root of a model where a block changes hundreds of accounts and slots', async () => {
    const random = createRandom(4)
    const addresses = Array.from({ length: 1_500 }, (_, i) => keccak256(Uint8Array.of(i >> 8, i)).slice(0, 20))
    const slots = Array.from({ length: 600 }, (_, i) => keccak256(Uint8Array.of(9, i >> 8, i)))
    const states: string[] = []
    for (let height = 0; height < 5; height++) {
      if (height > 0) await reopen({ residentBytes: 30_000 })
      const journal = new Journal(store.reader())
      for (let i = 0; i < 400; i++) journal.addBalance(addresses[random(addresses.length)]!, BigInt(height * 1_000 + i))
      for (let i = 0; i < 300; i++) {
        const value = random(3) === 0 ? EMPTY_BYTES : Uint8Array.of(1 + random(200))
        journal.setStorage(addresses[random(3)]!, slots[random(slots.length)]!, value)
        journal.setNonce(addresses[random(addresses.length)]!, BigInt(1 + i))
      }
      await addBlock(journal)
      expect(store.root).toEqual(await expectedRoot(model))
      states.push(JSON.stringify(addresses.map((address) => String(model.getAccount(address)?.balance))))
    }
    for (const [height, expected] of states.entries()) {
      const state = openStateAt(database, createStateCaches(), readStateHead(database)!, height)
      expect(JSON.stringify(addresses.map((address) => String(state.getAccount(address)?.balance)))).toBe(expected)
    }
  })

  it('lets several pending states of one head coexist', async () => {
    const random = createRandom(7)
    await addBlock(randomBlock(store.reader(), random))
    await addBlock(randomBlock(store.reader(), random))
    const journals = [1, 2, 3].map((seed) => randomBlock(store.reader(), createRandom(seed)))
    const pendings = await Promise.all(journals.map((journal) => store.apply(journal.changes(), 2)))
    const again = await store.apply(journals[0]!.changes(), 2)
    expect(again.root).toEqual(pendings[0]!.root)
    expect(new Set(pendings.map(({ root }) => bytesKey(root))).size).toBe(3)
    const [, second] = pendings
    model.apply(journals[1]!.changes())
    expect(second!.root).toEqual(await expectedRoot(model))
    await persist(second!)
    expect(store.root).toEqual(second!.root)
    expect(describeState(store.reader())).toEqual(describeState(model))
  })

  it.each([21, 22])('gives readers that share a cache the state of their own head (seed %i)', async (seed) => {
    const random = createRandom(seed)
    const caches = createStateCaches(1000, 40_000)
    const read = (snapshot: DatabaseSnapshot) => {
      const head = readStateHead(snapshot)!
      return describeState(openStateAt(snapshot, caches, head, head.height))
    }
    for (let round = 0; round < 30; round++) {
      // from time to time more blocks than the cache follows
      const blocks = round % 10 === 9 ? 40 : 1 + random(3)
      for (let i = 0; i < blocks; i++) await addBlock(randomBlock(store.reader(), random))
      const former = database.snapshot()
      const formerState = describeState(model)
      expect(read(former)).toEqual(formerState)
      await addBlock(randomBlock(store.reader(), random))
      const newer = database.snapshot()
      expect(read(newer)).toEqual(describeState(model))
      expect(read(former)).toEqual(formerState)
      expect(read(newer)).toEqual(describeState(model))
      await Promise.all([former.close(), newer.close()])
    }
  })

  it('writes the same when it was prepared ahead, also when history is dropped', async () => {
    const build = async (name: string, prepares: boolean) => {
      const other = await Database.open(join(directory, name))
      const built = new StateStore(other)
      const random = createRandom(31)
      for (let height = 0; height < 60; height++) {
        const pending = await built.apply(randomBlock(built.reader(), random).changes(), height)
        const early = random(2) === 0
        if (prepares && early) pending.prepare()
        const batch = new WriteBatch()
        if (random(3) === 0) built.dropHistory(batch, height - 10, 1_000)
        if (prepares && !early) pending.prepare()
        pending.write(batch)
        await other.write(batch, { sync: false })
        pending.publish()
      }
      const entries: string[] = []
      const all = { start: Uint8Array.of(0), end: undefined }
      for await (const [key, value] of other.entries(all)) entries.push(`${bytesKey(key)}=${bytesKey(value)}`)
      await built.close()
      await other.close()
      return entries
    }
    const plain = await build('plain', false)
    expect(plain.length).toBeGreaterThan(100)
    expect(await build('prepared', true)).toEqual(plain)
  })

  it('gives the state of every height, and after pruning of every height in the window', async () => {
    const random = createRandom(11)
    const states: unknown[] = []
    const add = async (journal = randomBlock(store.reader(), random), oldest = 0, budget = 200) => {
      await addBlock(journal, (batch) => store.dropHistory(batch, oldest, budget))
      states.push(describeState(model))
    }
    for (let height = 0; height < 120; height++) await add()
    const expectAll = (from: number) => {
      const snapshot = database.snapshot()
      const head = readStateHead(snapshot)!
      expect(head).toEqual({ height: states.length - 1, oldestHeight: from, root: store.root })
      const caches = createStateCaches(1000, 4000)
      for (let height = 0; height < states.length; height++) {
        if (height >= from) expect(describeState(openStateAt(snapshot, caches, head, height))).toEqual(states[height])
        else expect(() => openStateAt(snapshot, caches, head, height)).toThrow(new StateUnavailable(height, from))
      }
      return snapshot.close()
    }
    await expectAll(0)
    await add(undefined, 10, 1)
    await expectAll(1)
    while (store.oldestHeight < 90) await add(undefined, 90)
    expect(states.length).toBeGreaterThan(123)
    await expectAll(90)
    await reopen()
    expect(store.oldestHeight).toBe(90)
    // A block that changes nothing has no history of its own.
    await add(new Journal(store.reader()), 1000, 1_000_000)
    await expectAll(states.length - 2)
    for await (const [key] of database.entries({ start: Uint8Array.of(0x10), end: Uint8Array.of(0x15) })) {
      throw new Error(`left after pruning all history: column ${key[0]}`)
    }
  })

  it('proves accounts, slots and native entries, present or not, at the head and before', async () => {
    const random = createRandom(5)
    const roots: Uint8Array[] = []
    const values: (readonly (string | undefined)[])[] = []
    for (let height = 0; height < 40; height++) {
      await addBlock(randomBlock(store.reader(), random))
      roots.push(store.root)
      values.push([
        ...ACCOUNTS.slice(0, 12).map((address) => {
          const account = model.getAccount(address)
          return account && `${account.nonce} ${account.balance}`
        }),
        ...NATIVE_KEYS.slice(0, 8).map((key) => bytesKey(model.getNative(key) ?? EMPTY_BYTES)),
        ...SLOTS.map((slot) => bytesKey(model.getStorage(ACCOUNTS[3]!, slot))),
      ])
    }
    const snapshot = database.snapshot()
    const head = readStateHead(snapshot)!
    for (let height = 0; height < 40; height += 3) {
      const found: (string | undefined)[] = []
      for (const address of ACCOUNTS.slice(0, 12)) {
        const proof = await proofAt(snapshot, head, height, address, [])
        const leaf = await verified(roots[height]!, address, proof.accountProof)
        found.push(leaf.length === 0 ? undefined : `${proof.nonce} ${proof.balance}`)
        if (leaf.length > 0) {
          const fields = [bigIntToMinimalBytes(proof.nonce), bigIntToMinimalBytes(proof.balance)]
          expect(leaf).toEqual(RLP.encode([...fields, proof.storageRoot, proof.codeHash]))
        }
      }
      for (const [address, slots] of [
        [NATIVE_ACCOUNT, NATIVE_KEYS.slice(0, 8).map(nativeSlot)],
        [ACCOUNTS[3]!, SLOTS],
      ] as const) {
        const { storageRoot, storageProofs } = await proofAt(snapshot, head, height, address, slots)
        for (const { slot, value, proof } of storageProofs) {
          if (equalBytes(storageRoot, EMPTY_TRIE_ROOT)) expect(proof).toEqual([])
          else expect(await verified(storageRoot, slot, proof)).toEqual(value.length ? RLP.encode(value) : EMPTY_BYTES)
          found.push(bytesKey(value))
        }
      }
      expect(found).toEqual(values[height])
    }
    let pauses = 0
    const many = Array.from({ length: 10 }, () => SLOTS)
      .flat()
      .slice(0, 33)
    await proofAt(snapshot, head, head.height, ACCOUNTS[3]!, many, async () => void pauses++)
    expect(pauses).toBe(5)
    const stop = () => Promise.reject(new Error('time is over'))
    await expect(proofAt(snapshot, head, head.height, ACCOUNTS[3]!, many, stop)).rejects.toThrow('time is over')
    await snapshot.close()
  })

  it('is read by another thread at its heights while blocks are written', async () => {
    const random = createRandom(3)
    await addBlock(randomBlock(store.reader(), random))
    const worker = new Worker(new URL('../../support/state/readerThread.ts', import.meta.url), {
      workerData: { directory },
    })
    const reports: { from: number; states: unknown[] }[] = []
    const states: unknown[] = [describeState(model)]
    worker.on('message', (report) => reports.push(report))
    const failed = new Promise<never>((_, reject) => worker.once('error', reject))
    while (reports.length < 5 || store.height < 40) {
      await addBlock(randomBlock(store.reader(), random))
      states.push(describeState(model))
      await Promise.race([failed, new Promise((resolve) => setTimeout(resolve, 2))])
    }
    worker.postMessage('stop')
    await Promise.race([failed, new Promise((resolve) => worker.once('exit', resolve))])
    for (const { from, states: seen } of reports) expect(seen).toEqual(states.slice(from, from + seen.length))
  })

  it('keeps one array for each code', async () => {
    const journal = new Journal(store.reader())
    journal.setCode(ACCOUNTS[0]!, Uint8Array.of(1, 2, 3))
    await addBlock(journal)
    const hash = keccak256(Uint8Array.of(1, 2, 3))
    const code = store.reader().getCode(hash)
    expect(code).toEqual(Uint8Array.of(1, 2, 3))
    expect(store.reader().getCode(hash)).toBe(code)
    expect(() => store.reader().getCode(new Uint8Array(32))).toThrow('missing')
  })

  it('refuses to be used out of order', async () => {
    const journal = new Journal(store.reader())
    journal.addBalance(ACCOUNTS[0]!, 1n)
    await addBlock(journal)
    expect(() => journal.getBalance(ACCOUNTS[5]!)).toThrow('no longer the head')
    const empty = new Journal(store.reader()).changes()
    await expect(store.apply(empty, 2)).rejects.toThrow('does not follow')
    const pending = await store.apply(empty, 1)
    expect(() => pending.publish()).toThrow('before its batch')
    const batch = new WriteBatch()
    pending.write(batch)
    const other = await store.apply(empty, 1)
    expect(() => other.write(new WriteBatch())).toThrow('being written')
    await database.write(batch, { sync: true })
    pending.publish()
    expect(store.height).toBe(1)
    const native = new Journal(store.reader())
    native.setStorage(NATIVE_ACCOUNT, SLOTS[0]!, Uint8Array.of(1))
    await expect(store.apply(native.changes(), 2)).rejects.toThrow('native entries only')
  })

  it('computes the root of a state in memory', async () => {
    const random = createRandom(9)
    for (let i = 0; i < 10; i++) {
      const journal = randomBlock(model, random)
      model.apply({ ...journal.changes(), native: [] })
    }
    const changes = [...model.accounts()].map(({ address, account, slots }) => ({
      address,
      current: account,
      slots: slots.map(([slot, current]) => ({ slot, current })),
    }))
    const withoutDatabase = new StateTrie({ get: () => undefined }, 0)
    expect(withoutDatabase.compute(changes).root).toEqual(await expectedRoot(model))
  })
})
