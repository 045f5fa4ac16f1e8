import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { WriteBatch } from '../../../src/storage/batch.ts'
import { BufferedDatabase } from '../../../src/storage/bufferedDatabase.ts'
import { Database, type DatabaseReader } from '../../../src/storage/database.ts'
import { runs } from '../../propertyRuns.ts'

const KEYS = 6

let directory: string
let stored: Database
let database: BufferedDatabase

async function open(): Promise<void> {
  directory = mkdtempSync(join(tmpdir(), 'coind-buffer-'))
  stored = await Database.open(directory)
  database = new BufferedDatabase(stored)
}
async function close(): Promise<void> {
  await stored.close()
  rmSync(directory, { recursive: true })
}
beforeEach(open)
afterEach(close)

/** Keys 1 to 6; a value of 0 deletes. */
function batchOf(entries: Readonly<Record<number, number>>): WriteBatch {
  const batch = new WriteBatch()
  for (const [key, value] of Object.entries(entries)) {
    if (value === 0) batch.del(Uint8Array.of(Number(key)))
    else batch.put(Uint8Array.of(Number(key)), Uint8Array.of(value))
  }
  return batch
}

function contentOf(reader: Pick<DatabaseReader, 'get'>): Record<number, number> {
  const found: Record<number, number> = {}
  for (let key = 1; key <= KEYS; key++) {
    const value = reader.get(Uint8Array.of(key))
    if (value !== undefined) found[key] = value[0]!
  }
  return found
}

const put = (entries: Readonly<Record<number, number>>) => database.write(batchOf(entries), { sync: true })
const putBehind = (entries: Readonly<Record<number, number>>) =>
  database.writeBehind(batchOf(entries), { late: { key: Uint8Array.of(KEYS + 1), value: () => Uint8Array.of(0) } })

describe('database with a buffer', () => {
  it('writes through while nothing is put off', async () => {
    await put({ 1: 1, 2: 2 })
    await put({ 2: 0 })
    expect(contentOf(stored)).toEqual({ 1: 1 })
    expect(contentOf(database)).toEqual({ 1: 1 })
  })

  it('reads what it has put off, deletes too, and nobody else does before the flush', async () => {
    await put({ 1: 1, 2: 2 })
    database.startBuffering()
    await put({ 1: 7, 3: 3 })
    await put({ 2: 0, 3: 4 })
    expect(contentOf(database)).toEqual({ 1: 7, 3: 4 })
    expect(contentOf(database.snapshot())).toEqual({ 1: 7, 3: 4 })
    expect(contentOf(stored)).toEqual({ 1: 1, 2: 2 })
    expect(database.bufferedBytes).toBe(7)
    await database.flush()
    expect(contentOf(stored)).toEqual({ 1: 7, 3: 4 })
    expect(database.bufferedBytes).toBe(0)
  })

  it('reads what is on its way to the disk, beneath what was put off since', async () => {
    database.startBuffering()
    await put({ 1: 1, 2: 2 })
    const { done } = await database.startFlush()
    await put({ 2: 3 })
    expect(contentOf(database)).toEqual({ 1: 1, 2: 3 })
    await done
    expect(contentOf(stored)).toEqual({ 1: 1, 2: 2 })
    expect(contentOf(database)).toEqual({ 1: 1, 2: 3 })
    await database.stopBuffering()
    expect(contentOf(stored)).toEqual({ 1: 1, 2: 3 })
    await put({ 4: 4 })
    expect(contentOf(stored)).toEqual({ 1: 1, 2: 3, 4: 4 })
  })

  it('reads a batch that is being written behind it, and writes one at a time', async () => {
    await put({ 1: 1, 2: 2 })
    const first = await putBehind({ 2: 0, 3: 3 })
    expect(contentOf(database)).toEqual({ 1: 1, 3: 3 })
    const head = database.snapshot()
    const second = putBehind({ 1: 4 })
    expect(contentOf(head)).toEqual({ 1: 1, 3: 3 })
    await second
    await first.done
    expect(contentOf(database)).toEqual({ 1: 4, 3: 3 })
    await (await second).done
    expect(contentOf(stored)).toEqual({ 1: 4, 3: 3 })
    database.startBuffering()
    await expect(putBehind({ 1: 1 })).rejects.toThrow('delayed')
  })

  it('writes nothing else before a batch that is being written behind it', async () => {
    const { done } = await putBehind({ 1: 1, 2: 1 })
    await put({ 2: 2 })
    expect(contentOf(stored)).toEqual({ 1: 1, 2: 2 })
    await done
  })

  it('reads many keys at once wherever they are', async () => {
    const many = async () => {
      const values = await database.snapshot().getMany([6, 5, 1, 2, 3].map((key) => Uint8Array.of(key)))
      return values.map((value) => value?.[0])
    }
    await put({ 1: 1, 2: 2, 3: 3 })
    expect(await many()).toEqual([undefined, undefined, 1, 2, 3])
    database.startBuffering()
    await put({ 2: 0, 5: 5 })
    expect(await many()).toEqual([undefined, 5, 1, undefined, 3])
    const { done } = await database.startFlush()
    const reading = many()
    await put({ 1: 4, 6: 6 })
    expect(await reading).toEqual([undefined, 5, 1, undefined, 3])
    expect(await many()).toEqual([6, 5, 4, undefined, 3])
    await done
  })

  it('makes the value of a late entry for the disk and for reads, not for each batch', async () => {
    const key = Uint8Array.of(6)
    const made: number[] = []
    const put = (value: number, entries = {}) => {
      const late = { key, value: () => Uint8Array.of(made[made.push(value) - 1]!) }
      return database.write(batchOf(entries), { sync: true, late })
    }
    await put(1, { 1: 1 })
    expect(contentOf(stored)).toEqual({ 1: 1, 6: 1 })
    database.startBuffering()
    await put(2)
    await put(3, { 1: 2 })
    expect(made).toEqual([1])
    expect(database.get(key)).toEqual(Uint8Array.of(3))
    const { done } = await database.startFlush()
    await put(4)
    await done
    expect(contentOf(stored)).toEqual({ 1: 2, 6: 3 })
    await database.write(batchOf({ 6: 0 }), { sync: true })
    expect(database.get(key)).toBeUndefined()
    await put(5)
    await database.stopBuffering()
    expect(contentOf(stored)).toEqual({ 1: 2, 6: 5 })
    expect(made).toEqual([1, 3, 3, 4, 5])
  })

  it('has everything on the disk before it reads a range', async () => {
    database.startBuffering()
    await put({ 3: 3, 1: 1 })
    const keys = await Array.fromAsync(database.entries({ start: Uint8Array.of(0), end: undefined }), ([key]) => key[0])
    expect(keys).toEqual([1, 3])
    expect(contentOf(stored)).toEqual({ 1: 1, 3: 3 })
  })

  it('gives real snapshots while nothing is put off', async () => {
    await put({ 1: 1 })
    const snapshot = database.snapshot()
    await put({ 1: 2 })
    expect(contentOf(snapshot)).toEqual({ 1: 1 })
    await snapshot.close()
  })

  it('goes on failing after a flush has failed, and still reads what it could not write', async () => {
    database.startBuffering()
    await put({ 1: 1 })
    await stored.close()
    const { done } = await database.startFlush()
    await expect(done).rejects.toThrow('not open')
    await expect(put({ 2: 2 })).rejects.toThrow('not open')
    await expect(database.flush()).rejects.toThrow('not open')
    expect(database.get(Uint8Array.of(1))).toEqual(Uint8Array.of(1))
    stored = await Database.open(directory)
    expect(contentOf(stored)).toEqual({})
  })

  it('shows its owner the newest state and others a former one that was whole, whatever the order of calls', async () => {
    type Step =
      | { readonly kind: 'put' | 'behind'; readonly entries: Record<number, number> }
      | { readonly kind: 'flush' | 'start' | 'stop' | 'begin' }
    const step: fc.Arbitrary<Step> = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({
          kind: fc.constantFrom('put' as const, 'behind' as const),
          entries: fc.dictionary(fc.integer({ min: 1, max: KEYS }).map(String), fc.nat(3)) as fc.Arbitrary<
            Record<number, number>
          >,
        }),
      },
      {
        weight: 2,
        arbitrary: fc.record({
          kind: fc.constantFrom('flush' as const, 'start' as const, 'stop' as const, 'begin' as const),
        }),
      },
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        await close()
        await open()
        let model: Record<number, number> = {}
        const history = [JSON.stringify(model)]
        let seen = 0
        let isBuffering = false
        for (const taken of steps) {
          if (taken.kind === 'begin' || taken.kind === 'stop') isBuffering = taken.kind === 'begin'
          if (taken.kind === 'put' || taken.kind === 'behind') {
            // As the publisher does: a block that is written through waits for the one before.
            if (taken.kind === 'put' && !isBuffering) await database.flush()
            await (taken.kind === 'put' || isBuffering ? put(taken.entries) : putBehind(taken.entries))
            model = { ...model }
            for (const [key, value] of Object.entries(taken.entries)) {
              if (value === 0) delete model[Number(key)]
              else model[Number(key)] = value
            }
            history.push(JSON.stringify(model))
          } else if (taken.kind === 'flush') await database.flush()
          else if (taken.kind === 'begin') database.startBuffering()
          else if (taken.kind === 'stop') await database.stopBuffering()
          else await database.startFlush()
          expect(contentOf(database)).toEqual(model)
          // A flush may go on between two reads: a snapshot is of one moment.
          const snapshot = stored.snapshot()
          const others = history.indexOf(JSON.stringify(contentOf(snapshot)), seen)
          await snapshot.close()
          expect(others).toBeGreaterThanOrEqual(seen)
          seen = others
          if (taken.kind === 'flush' || taken.kind === 'stop') expect(contentOf(stored)).toEqual(model)
        }
      }),
      { numRuns: runs(60) },
    )
  })
})
