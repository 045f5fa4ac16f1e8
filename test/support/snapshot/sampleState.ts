import { bytesKey } from '../../../src/primitives/bytes.ts'
import { keccak256 } from '../../../src/primitives/hash.ts'
import type { StateChunk } from '../../../src/snapshot/chunk.ts'
import { type CutOptions, cutChunks } from '../../../src/snapshot/cutChunks.ts'
import { Journal } from '../../../src/state/journal.ts'
import { StateStore } from '../../../src/state/stateStore.ts'
import { WriteBatch } from '../../../src/storage/batch.ts'
import type { Database } from '../../../src/storage/database.ts'
import { createRandom, randomBlock } from '../state/randomChain.ts'

/** Accounts whose storage is too large to be with them, when `SMALL_CHUNKS` are cut. */
export const LARGE_ACCOUNTS = [1, 2].map((byte) => new Uint8Array(20).fill(0xa0 + byte))
const LARGE_SLOTS = 250

/** So that a small state has several chunks of each kind. */
export const SMALL_CHUNKS: Pick<CutOptions, 'chunkBytes' | 'inlineSlots'> = { chunkBytes: 6000, inlineSlots: 40 }

export async function addBlock(database: Database, store: StateStore, journal: Journal): Promise<void> {
  const pending = await store.apply(journal.changes(), store.height + 1)
  const batch = new WriteBatch()
  pending.write(batch)
  await database.write(batch, { sync: false })
  pending.publish()
}

/** The state of some random blocks, and of one with many accounts, two large storages, codes and native entries. */
export async function makeState(database: Database, seed: number): Promise<StateStore> {
  const store = new StateStore(database)
  const random = createRandom(seed)
  for (let i = 0; i < 8; i++) await addBlock(database, store, randomBlock(store.reader(), random))
  const journal = new Journal(store.reader())
  for (let i = 0; i < 120; i++) {
    const address = keccak256(Uint8Array.of(seed, i)).slice(0, 20)
    journal.addBalance(address, BigInt(1 + random(1000)) ** 5n)
    if (i % 4 === 0) journal.setCode(address, Uint8Array.of(0x60, i, ...new Uint8Array(300 + random(400))))
    for (let slot = i % 8 === 0 ? random(10) : 0; slot > 0; slot--) setSlot(journal, address, slot, random)
    journal.native.set(Uint8Array.of(7, i % 5, ...new Uint8Array(i % 30), i), new Uint8Array(1 + random(200)).fill(i))
  }
  for (const address of LARGE_ACCOUNTS) {
    journal.setNonce(address, 1n)
    for (let slot = 0; slot < LARGE_SLOTS; slot++) setSlot(journal, address, slot, random)
  }
  await addBlock(database, store, journal)
  return store
}

function setSlot(journal: Journal, address: Uint8Array, slot: number, random: (below: number) => number): void {
  const key = new Uint8Array(32)
  key[31] = slot
  key[0] = slot % 3
  journal.setStorage(address, key, Uint8Array.of(1 + random(255), ...new Uint8Array(random(2) * 31)))
}

/** @param directory for the files of sorts */
export async function smallChunks(database: Database, directory: string): Promise<StateChunk[]> {
  return Array.fromAsync(cutChunks(database, { directory, ...SMALL_CHUNKS }))
}

/** The entries of these columns, without the ones that `omit` says, by hex of the key. */
export async function columnsOf(
  database: Database,
  columns: readonly number[],
  omit: (key: Uint8Array) => boolean = () => false,
): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  for (const column of columns) {
    const range = { start: Uint8Array.of(column), end: Uint8Array.of(column + 1) }
    for await (const [key, value] of database.entries(range)) if (!omit(key)) found.set(bytesKey(key), bytesKey(value))
  }
  return found
}
