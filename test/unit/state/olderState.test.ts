import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { bytesToHex, hexToBytes } from '../../../src/primitives/bytes.ts'
import { readStateHead, StateUnavailable } from '../../../src/state/head.ts'
import { openOlderState, type StateColumns } from '../../../src/state/olderState.ts'
import { StateStore } from '../../../src/state/stateStore.ts'
import { WriteBatch } from '../../../src/storage/batch.ts'
import { Column, columnKey, prefixEnd } from '../../../src/storage/columns.ts'
import { Database } from '../../../src/storage/database.ts'
import { firstSeed, variants } from '../../propertyRuns.ts'
import { createRandom, randomBlock } from '../../support/state/randomChain.ts'

const STATE = [Column.account, Column.slot, Column.slotCount, Column.native, Column.nativePage, Column.trieNode]

let directory: string
let database: Database
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-older-'))
  database = await Database.open(directory)
})
afterEach(async () => {
  await database.close()
  rmSync(directory, { recursive: true })
})

/** All entries of the state's columns, in the order of their keys. */
async function contentOf(state: StateColumns): Promise<[string, string][]> {
  const found: [string, string][] = []
  for (const column of STATE) {
    const start = columnKey(column)
    for await (const [key, value] of state.entries({ start, end: prefixEnd(start) })) {
      found.push([bytesToHex(key), bytesToHex(value)])
    }
  }
  return found
}

describe('the columns of an older state', () => {
  it.each(variants([firstSeed(1), firstSeed(2), firstSeed(3)], 2))(
    'are those that the database had after its block (seed %i)',
    async (seed) => {
      const store = new StateStore(database)
      const random = createRandom(seed)
      const contents: [string, string][][] = []
      for (let height = 0; height < 25; height++) {
        const pending = await store.apply(randomBlock(store.reader(), random).changes(), height)
        const batch = new WriteBatch()
        if (height > 20) store.dropHistory(batch, 4, 1_000_000)
        pending.write(batch)
        await database.write(batch, { sync: false })
        pending.publish()
        contents.push(await contentOf(database))
      }
      await store.close()

      const snapshot = database.snapshot()
      const head = readStateHead(snapshot)!
      for (const height of [24, 23, 21, 15, 4]) {
        const older = (await openOlderState(snapshot, head, height, { maxEntries: 1_000_000 }))!
        const content = await contentOf(older)
        expect(content).toEqual(contents[height])
        // Single keys: all that there were at any height.
        const values = new Map(content)
        for (const key of new Set(contents.flat().map(([name]) => name))) {
          const value = older.get(hexToBytes(key))
          expect(value && bytesToHex(value)).toBe(values.get(key))
        }
      }
      await expect(openOlderState(snapshot, head, 3, { maxEntries: 1_000_000 })).rejects.toThrow(StateUnavailable)
      expect(await openOlderState(snapshot, head, 4, { maxEntries: 100 })).toBeUndefined()
      await snapshot.close()
    },
  )
})
