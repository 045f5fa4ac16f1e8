import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { bigIntToBytes } from '../../../src/primitives/bytes.ts'
import { slotKey } from '../../../src/state/flatState.ts'
import { indexKey, valueAt } from '../../../src/state/history.ts'
import { Journal } from '../../../src/state/journal.ts'
import { SlotFilter } from '../../../src/state/slotFilter.ts'
import { NAME_WORDS, writeName } from '../../../src/state/slotWords.ts'
import { StateStore } from '../../../src/state/stateStore.ts'
import { WriteBatch } from '../../../src/storage/batch.ts'
import { BufferedDatabase } from '../../../src/storage/bufferedDatabase.ts'
import { Database } from '../../../src/storage/database.ts'
import { createRandom } from '../../support/state/randomChain.ts'

const contractOf = (index: number) => new Uint8Array(20).fill(0xff - index)
const slotOf = (index: number) => bigIntToBytes(BigInt(index) << 200n, 32)

function nameOf(contract: number, slot: number): Int32Array {
  const name = new Int32Array(NAME_WORDS)
  writeName(name, contractOf(contract), slotOf(slot))
  return name
}

describe('SlotFilter', () => {
  let directory: string
  let database: Database
  let filter: SlotFilter
  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'coind-filter-'))
    database = await Database.open(directory)
    filter = new SlotFilter(7n)
  })
  afterEach(async () => {
    await database.close()
    rmSync(directory, { recursive: true })
  })

  /** Writes values, or records of former ones, and tells the filter. */
  async function write(contract: number, slots: readonly number[], keyOf = (key: Uint8Array) => key): Promise<void> {
    const batch = new WriteBatch()
    for (const slot of slots) batch.put(keyOf(slotKey(contractOf(contract), slotOf(slot))), Uint8Array.of(1))
    await database.write(batch, { sync: false })
    for (const slot of slots) filter.add(nameOf(contract, slot))
  }

  function miss(contract: number, times: number): void {
    for (let i = 0; i < times; i++) filter.noteMissed(nameOf(contract, 1_000_000 + i))
  }

  const extend = (slotCount = 0) => filter.extend(database, () => slotCount)
  const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i)
  const absent = (contract: number, slots: readonly number[]) =>
    slots.filter((slot) => filter.isAbsent(nameOf(contract, slot)))

  it('knows what a contract lacks once enough was looked up in vain', async () => {
    await write(1, range(0, 100))
    expect(absent(1, range(100, 200))).toEqual([])
    miss(1, 15)
    await extend()
    expect(absent(1, range(100, 200))).toEqual([])
    miss(1, 50)
    await extend()
    expect(absent(1, range(0, 200))).toEqual(range(100, 200))
    // of another contract nothing
    expect(absent(2, range(0, 200))).toEqual([])
  })

  it('takes a slot that was deleted but has a history for one that may be there', async () => {
    await write(1, range(0, 10))
    await write(1, range(10, 20), indexKey)
    await write(0, [3], indexKey)
    miss(1, 50)
    await extend()
    expect(absent(1, range(0, 30))).toEqual(range(20, 30))
  })

  it('reads a large contract in parts, and misses nothing that is written meanwhile', async () => {
    const random = createRandom(5)
    const written = new Set<number>()
    const writeRandom = async () => {
      const slots = range(0, 10).map(() => random(2_000))
      for (const slot of slots) written.add(slot)
      await write(1, slots, random(2) === 0 ? indexKey : undefined)
    }
    for (let i = 0; i < 60; i++) await writeRandom()
    let parts = 0
    for (; absent(1, [5_000]).length === 0; parts++) {
      await writeRandom()
      miss(1, 20)
      const reading = extend()
      await writeRandom()
      await reading
      expect(absent(1, [...written])).toEqual([])
    }
    expect(parts).toBeGreaterThan(5)
    await writeRandom()
    expect(absent(1, range(0, 2_000))).toEqual(range(0, 2_000).filter((slot) => !written.has(slot)))
  })

  it('does not begin with a contract that has too many slots, and begins anew when it is full', async () => {
    miss(1, 50)
    await extend(1e9)
    expect(absent(1, [1])).toEqual([])
    filter = new SlotFilter(7n, 100)
    miss(1, 50)
    miss(2, 50)
    await extend()
    await write(1, range(0, 100))
    expect(absent(1, [99, 100])).toEqual([100])
    expect(absent(2, [1])).toEqual([1])
    await write(2, [0])
    expect(absent(1, [99, 100])).toEqual([])
    expect(absent(2, [0, 1])).toEqual([])
    miss(2, 50)
    await extend()
    expect(absent(2, [0, 1])).toEqual([1])
  })

  it('reads nothing where that would flush delayed writes, of few contracts at a time, and no more for a few look-ups', async () => {
    miss(1, 50)
    await filter.extend({ entries: (asked) => database.entries(asked), rangesFlush: true }, () => 0)
    miss(1, 15)
    await extend()
    expect(absent(1, [1])).toEqual([])
    const contracts = range(1, 41)
    for (const contract of contracts) miss(contract, 16)
    await extend()
    expect(contracts.filter((contract) => absent(contract, [1]).length > 0)).toEqual(range(1, 33))
  })

  it('reads on after a failure', async () => {
    await write(1, range(0, 10))
    miss(1, 50)
    const failing = {
      entries: () => {
        throw new Error('cannot be read')
      },
    }
    await expect(filter.extend(failing, () => 0)).rejects.toThrow('cannot be read')
    miss(1, 50)
    await extend()
    expect(absent(1, range(0, 12))).toEqual([10, 11])
  })

  it('fills up also where each block is written while the next one is executed', async () => {
    const isAbsent = vi.spyOn(SlotFilter.prototype, 'isAbsent')
    const buffered = new BufferedDatabase(database)
    const store = new StateStore(buffered)
    for (let height = 0; height < 6; height++) {
      const journal = new Journal(store.reader())
      const contract = contractOf(height === 0 ? 0 : 1)
      for (const slot of range(100 * height, 100 * (height + 1))) {
        journal.getStorage(contract, slotOf(slot))
        journal.setStorage(contract, slotOf(slot), Uint8Array.of(1))
      }
      const pending = await store.apply(journal.changes(), height)
      const batch = new WriteBatch()
      pending.write(batch)
      const late = { key: Uint8Array.of(0xff), value: () => Uint8Array.of(height) }
      const { done } = await buffered.writeBehind(batch, { late })
      pending.publish()
      await done
    }
    expect(isAbsent.mock.results.filter(({ value }) => value === true).length).toBeGreaterThan(200)
    isAbsent.mockRestore()
    await store.close()
  })

  it('changes neither roots nor what is read, at the head and before', async () => {
    const random = createRandom(9)
    const address = contractOf(1)
    const values = new Map<number, number>()
    let store = new StateStore(database)
    const addBlock = async (): Promise<Uint8Array> => {
      const journal = new Journal(store.reader())
      for (let i = 0; i < 40; i++) {
        const slot = random(1_500)
        expect(journal.getStorage(address, slotOf(slot))).toEqual(
          Uint8Array.from(values.has(slot) ? [values.get(slot)!] : []),
        )
        const value = random(4)
        journal.setStorage(address, slotOf(slot), value === 0 ? new Uint8Array(0) : Uint8Array.of(value))
        if (value === 0) values.delete(slot)
        else values.set(slot, value)
      }
      const pending = await store.apply(journal.changes(), store.height + 1)
      const batch = new WriteBatch()
      pending.write(batch)
      await database.write(batch, { sync: false })
      pending.publish()
      return pending.root
    }
    let root: Uint8Array | undefined
    let before: Map<number, number> | undefined
    for (let height = 0; height < 60; height++) {
      root = await addBlock()
      if (height === 30) before = new Map(values)
      if (height === 20) {
        await store.close()
        store = new StateStore(database)
      }
    }
    for (let slot = 0; slot < 1_500; slot++) {
      const value = valueAt(database, slotKey(address, slotOf(slot)), 30)
      expect([...(value ?? [])]).toEqual(before!.has(slot) ? [before!.get(slot)] : [])
    }
    // The same slots, set by one block of another chain.
    const otherDirectory = mkdtempSync(join(tmpdir(), 'coind-filter-'))
    const other = await Database.open(otherDirectory)
    const fresh = new StateStore(other)
    const journal = new Journal(fresh.reader())
    for (const [slot, value] of values) journal.setStorage(address, slotOf(slot), Uint8Array.of(value))
    expect((await fresh.apply(journal.changes(), 0)).root).toEqual(root)
    await fresh.close()
    await other.close()
    rmSync(otherDirectory, { recursive: true })
    await store.close()
  })
})
