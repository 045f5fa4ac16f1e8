import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { RankedValidatorSet } from '../../../../src/chain/comet/types.ts'
import { createRankedSet, incrementPriorities, updateValidators } from '../../../../src/chain/comet/validatorSet.ts'
import {
  readValidatorSet,
  readValidators,
  removeValidators,
  writeValidators,
} from '../../../../src/chain/store/validatorRecords.ts'
import { WriteBatch } from '../../../../src/storage/batch.ts'
import { Column } from '../../../../src/storage/columns.ts'
import { Database } from '../../../../src/storage/database.ts'
import { runs } from '../../../propertyRuns.ts'

const key = (index: number) => new Uint8Array(32).fill(index + 1)

let directory: string
let database: Database
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-validators-'))
  database = await Database.open(directory)
})
afterEach(async () => {
  await database.close()
  rmSync(directory, { recursive: true })
})

/** Stores the sets of heights from 1 on; `changeAt` gives the powers that change with a height. */
async function store(
  first: RankedValidatorSet,
  heights: number,
  changeAt: (height: number) => readonly (readonly [number, bigint])[],
): Promise<{ readonly sets: RankedValidatorSet[]; readonly bytes: number }> {
  const sets: RankedValidatorSet[] = []
  let set = first
  let bytes = 0
  for (let height = 1; height <= heights; height++) {
    const changes = changeAt(height).map(([index, power]) => ({ publicKey: key(index), power }))
    if (height > 1) set = incrementPriorities(updateValidators(set, changes), 1)
    const batch = new WriteBatch()
    writeValidators(batch, database, { height, set, isChanged: height === 1 || changes.length > 0 })
    bytes += batch.bytes
    await database.write(batch, { sync: false })
    sets.push(set)
  }
  return { sets, bytes }
}

it('gives every height its validators with their priorities, wherever the set changes', async () => {
  const change = fc.record({ height: fc.integer({ min: 2, max: 200 }), index: fc.nat(6), power: fc.bigInt(1n, 1000n) })
  await fc.assert(
    fc.asyncProperty(fc.array(change, { maxLength: 30 }), async (changes) => {
      await database.close()
      rmSync(directory, { recursive: true })
      database = await Database.open(directory)
      const byHeight = new Map<number, Map<number, bigint>>()
      for (const { height, index, power } of changes) {
        byHeight.set(height, (byHeight.get(height) ?? new Map()).set(index, power))
      }
      const first = createRankedSet([0, 1, 2].map((index) => ({ publicKey: key(index), power: 5n + BigInt(index) })))
      const { sets } = await store(first, 200, (height) => [...(byHeight.get(height) ?? [])])
      for (const [index, set] of sets.entries()) {
        expect(readValidators(database, index + 1)).toEqual(set)
        expect(readValidatorSet(database, index + 1)).toEqual({
          validators: set.validators,
          totalPower: set.totalPower,
        })
      }
    }),
    { numRuns: runs(6) },
  )
})

it('knows nothing of heights for which nothing is stored', async () => {
  expect(readValidators(database, 0)).toBeUndefined()
  await store(createRankedSet([{ publicKey: key(0), power: 1n }]), 3, () => [])
  expect(readValidators(database, 0)).toBeUndefined()
  expect(readValidatorSet(database, 0)).toBeUndefined()
  expect(readValidators(database, 64)).toBeUndefined()
})

it('takes at most a few bytes a height of a set of 50 that does not change', async () => {
  const many = Array.from({ length: 50 }, (_, index) => ({ publicKey: key(index), power: 10n ** 9n + BigInt(index) }))
  const { bytes } = await store(createRankedSet(many), 6_400, () => [])
  expect(bytes / 6_400).toBeLessThan(10)
})

it('takes back what it wrote, the highest height first', async () => {
  const first = createRankedSet([0, 1, 2].map((index) => ({ publicKey: key(index), power: 5n })))
  const entries = async () => {
    const found: [number, Buffer, Buffer][] = []
    const all = { start: Uint8Array.of(Column.proposerPriorities), end: Uint8Array.of(Column.consensusHash) }
    for await (const [name, value] of database.entries(all))
      found.push([name.length, Buffer.from(name), Buffer.from(value)])
    return found
  }
  const change = (height: number) => (height % 31 === 1 ? ([[height % 4, BigInt(height)]] as const) : [])
  await store(first, 100, change)
  const at100 = await entries()
  await database.close()
  rmSync(directory, { recursive: true })
  database = await Database.open(directory)
  await store(first, 200, change)
  for (let height = 200; height > 100; height--) {
    const batch = new WriteBatch()
    removeValidators(batch, database, height)
    await database.write(batch, { sync: false })
  }
  expect(await entries()).toEqual(at100)
})
