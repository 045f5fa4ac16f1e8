import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { bytesToHex } from '../../../src/primitives/bytes.ts'
import { readStateHead, StateUnavailable } from '../../../src/state/head.ts'
import { Journal } from '../../../src/state/journal.ts'
import { proofAt } from '../../../src/state/proof.ts'
import { openStateRange, type StateRange } from '../../../src/state/stateRange.ts'
import { StateStore } from '../../../src/state/stateStore.ts'
import { WriteBatch } from '../../../src/storage/batch.ts'
import { Database, type DatabaseReader } from '../../../src/storage/database.ts'
import { firstSeed, variants } from '../../propertyRuns.ts'
import { ACCOUNTS, createRandom, randomBlock, SLOTS } from '../../support/state/randomChain.ts'

const NO_ADDRESS = new Uint8Array(20)
const HEIGHTS = [4, 15, 21, 23, 24]
const NO_SLOT = new Uint8Array(32)

let directory: string
let database: Database
let store: StateStore
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-range-'))
  database = await Database.open(directory)
  store = new StateStore(database)
})
afterEach(async () => {
  await database.close()
  rmSync(directory, { recursive: true })
})

async function write(journal: Journal, height: number, oldest = 0): Promise<void> {
  const pending = await store.apply(journal.changes(), height)
  const batch = new WriteBatch()
  if (oldest > 0) store.dropHistory(batch, oldest, 1_000_000)
  pending.write(batch)
  await database.write(batch, { sync: false })
  pending.publish()
}

/** Accounts and slots that were there, as text. */
async function contentOf(range: StateRange): Promise<string[]> {
  const found: string[] = []
  for await (const [address, account] of range.accounts(NO_ADDRESS)) {
    if (account === undefined) continue
    found.push(`${bytesToHex(address)} ${account.nonce} ${account.balance} ${bytesToHex(account.codeHash)}`)
    for await (const [slot, value] of range.slots(address, NO_SLOT)) {
      if (value.length > 0) found.push(`${bytesToHex(slot)} ${bytesToHex(value)}`)
    }
    found.push(bytesToHex(await range.storageRoot(address)))
  }
  return found
}

/** A reader that counts what is read of the database. */
function counted(reader: DatabaseReader): { readonly reader: DatabaseReader; reads(): number } {
  let reads = 0
  return {
    reads: () => reads,
    reader: {
      location: reader.location,
      get: (key) => {
        reads++
        return reader.get(key)
      },
      entries: async function* (range) {
        for await (const entry of reader.entries(range)) {
          reads++
          yield entry
        }
      },
    },
  }
}

describe('the ranges of an older state', () => {
  it.each(variants([firstSeed(1), firstSeed(2)], 1))(
    'are those that the database had after its block (seed %i)',
    async (seed) => {
      const random = createRandom(seed)
      const contents = new Map<number, string[]>()
      for (let height = 0; height < 25; height++) {
        await write(randomBlock(store.reader(), random), height, height > 20 ? 4 : 0)
        if (!HEIGHTS.includes(height)) continue
        contents.set(height, await contentOf(openStateRange(database, readStateHead(database)!, height)))
      }
      await store.close()
      const snapshot = database.snapshot()
      const head = readStateHead(snapshot)!
      for (const height of HEIGHTS) {
        const range = openStateRange(snapshot, head, height)
        expect(await contentOf(range)).toEqual(contents.get(height))
        for (const address of ACCOUNTS) {
          const { storageRoot } = await proofAt(snapshot, head, height, address, [])
          expect(await range.storageRoot(address)).toEqual(storageRoot)
        }
      }
      expect(() => openStateRange(snapshot, head, 3)).toThrow(StateUnavailable)
      await snapshot.close()
    },
  )

  it('cost the same a few and many blocks below the head', async () => {
    const [watched, other] = [ACCOUNTS[0]!, ACCOUNTS[1]!]
    const reads: number[] = []
    for (let height = 0; height < 120; height++) {
      const journal = new Journal(store.reader())
      const address = height === 0 ? watched : other
      journal.setNonce(address, BigInt(height + 1))
      for (const slot of SLOTS) journal.setStorage(address, slot, Uint8Array.of(1 + (height % 200)))
      journal.endTransaction({ clearEmpty: true })
      await write(journal, height)
      if (height !== 3 && height !== 119) continue
      const { reader, reads: count } = counted(database)
      const range = openStateRange(reader, readStateHead(database)!, 2)
      const slots: string[] = []
      for await (const [slot, value] of range.slots(watched, NO_SLOT)) slots.push(bytesToHex(slot) + bytesToHex(value))
      expect(slots).toHaveLength(SLOTS.length)
      reads.push(count())
    }
    await store.close()
    expect(reads[1]).toBe(reads[0])
  })
})
