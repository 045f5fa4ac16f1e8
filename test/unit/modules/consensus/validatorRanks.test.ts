import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { RankedValidatorSet, ValidatorSet } from '../../../../src/chain/comet/types.ts'
import { readValidators, writeValidators } from '../../../../src/chain/store/validatorRecords.ts'
import { advanceValidators, genesisHeadValidators } from '../../../../src/execution/chainHead.ts'
import { ranksAfter, recordRanks } from '../../../../src/modules/consensus/validatorRanks.ts'
import { bytesKey } from '../../../../src/primitives/bytes.ts'
import { WriteBatch } from '../../../../src/storage/batch.ts'
import { Database } from '../../../../src/storage/database.ts'
import { runs } from '../../../propertyRuns.ts'

type Change = readonly [validator: number, power: bigint]
/** the powers that change at the end of a block */
type Changes = (height: number) => readonly Change[]

const publicKey = (index: number) => new Uint8Array(32).fill(index + 1)
const GENESIS = [0, 1, 2, 3].map((index) => ({ publicKey: publicKey(index), power: 7n + 3n * BigInt(index) }))

let directory: string
let database: Database
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-ranks-'))
  database = await Database.open(directory)
})
afterEach(async () => {
  await database.close()
  rmSync(directory, { recursive: true })
})

/** What a verified header gives of a set. */
const withoutRanks = ({ validators, totalPower }: ValidatorSet): ValidatorSet => ({ validators, totalPower })

function createNative() {
  const entries = new Map<string, Uint8Array>()
  let written = 0
  return {
    get: (key: Uint8Array) => entries.get(bytesKey(key)),
    set: (key: Uint8Array, value: Uint8Array) => {
      entries.set(bytesKey(key), value)
      written++
    },
    written: () => written,
  }
}

/**
 * Runs a chain as `finish` of src/execution/blockRunner.ts and the publisher do, and reads the priorities from the state and from the
 * database after each of its blocks.
 * @returns how often the entry was written
 */
async function expectRanks(heights: number, enableHeight: number, changesOf: Changes): Promise<number> {
  const native = createNative()
  let validators = genesisHeadValidators(GENESIS)
  const store = async (height: number, set: RankedValidatorSet, isChanged: boolean) => {
    const batch = new WriteBatch()
    writeValidators(batch, database, { height, set, isChanged })
    await database.write(batch, { sync: false })
  }
  await store(1, validators.next, true)
  await store(2, validators.afterNext, false)
  for (let height = 1; height <= heights; height++) {
    const updates = changesOf(height).map(([index, power]) => ({ publicKey: publicKey(index), power }))
    validators = advanceValidators(validators, updates)
    const isChanged = updates.length > 0
    recordRanks(native, enableHeight, { ...validators, height, isChanged })
    await store(height + 2, validators.afterNext, isChanged)
    const { next, afterNext } = validators
    const sets = { next: withoutRanks(next), afterNext: withoutRanks(afterNext) }
    if (enableHeight === 0 || height < enableHeight) {
      expect(() => ranksAfter(native, height, sets)).toThrow('validator_ranks.enable_height')
      continue
    }
    const ranks = ranksAfter(native, height, sets)
    expect(ranks).toEqual({ next, afterNext })
    expect([ranks.next, ranks.afterNext]).toEqual([
      readValidators(database, height + 1),
      readValidators(database, height + 2),
    ])
  }
  return native.written()
}

describe('the priorities in the state are those of the database', () => {
  const power = (height: number): readonly Change[] => [[height % 4, BigInt(1 + (height % 50))]]
  const CASES: readonly (readonly [string, Changes])[] = [
    ['without a change', () => []],
    ['with a change in the first block', (height) => (height === 1 ? power(height) : [])],
    ['with a change in every block', power],
    ['with changes in two blocks that follow each other', (height) => (height % 10 < 2 ? power(height) : [])],
    ['with changes of multiples of 64', (height) => ((height + 2) % 64 === 0 ? power(height) : [])],
    ['with changes before multiples of 64', (height) => ((height + 3) % 64 === 0 ? power(height) : [])],
    ['with changes after multiples of 64', (height) => ((height + 1) % 64 === 0 ? power(height) : [])],
    ['with a validator that comes and goes', (height) => (height % 9 === 0 ? [[9, BigInt(height % 2)]] : [])],
  ]
  it.each(CASES)('%s', async (_, changes) => {
    await expectRanks(132, 1, changes)
  })

  it.each([2, 62, 63, 64, 100])('from block %d on, where the genesis names it', async (enableHeight) => {
    await expectRanks(105, enableHeight, (height) => (height % 7 < 2 ? power(height) : []))
  })

  it('through hundreds of blocks with any changes', async () => {
    const change = fc.record({
      height: fc.integer({ min: 1, max: 300 }),
      index: fc.nat(5),
      power: fc.bigInt(1n, 10n ** 9n),
    })
    const input = fc.record({
      enableHeight: fc.integer({ min: 1, max: 200 }),
      changes: fc.array(change, { maxLength: 60 }),
    })
    await fc.assert(
      fc.asyncProperty(input, async ({ enableHeight, changes }) => {
        await database.close()
        rmSync(directory, { recursive: true })
        database = await Database.open(directory)
        await expectRanks(300, enableHeight, (height) => [
          ...new Map(changes.filter((made) => made.height === height).map((made): Change => [made.index, made.power])),
        ])
      }),
      { numRuns: runs(1) },
    )
  })

  it('and are written once in 64 blocks where nothing changes, or never', async () => {
    expect(await expectRanks(190, 1, () => [])).toBe(4)
    expect(await expectRanks(70, 0, power)).toBe(0)
  })
})

describe('ranksAfter', () => {
  const native = createNative()
  const validators = advanceValidators(genesisHeadValidators(GENESIS), [{ publicKey: publicKey(1), power: 20n }])
  recordRanks(native, 1, { ...validators, height: 1, isChanged: true })
  const sets = { next: withoutRanks(validators.next), afterNext: withoutRanks(validators.afterNext) }

  it('reads the validators of both blocks', () => {
    expect(ranksAfter(native, 1, sets)).toEqual({ next: validators.next, afterNext: validators.afterNext })
  })

  const others = advanceValidators(genesisHeadValidators(GENESIS), [{ publicKey: publicKey(2), power: 1n }])
  it.each([
    ['other validators of the next block', 1, { ...sets, next: sets.afterNext }, 'block 2'],
    ['other validators of the block after it', 1, { ...sets, afterNext: sets.next }, 'block 3'],
    ['validators with other powers', 1, { ...sets, afterNext: withoutRanks(others.afterNext) }, 'block 3'],
    ['a block before', 0, sets, 'block 1'],
    ['a block to which no record leads', 66, { next: sets.afterNext, afterNext: sets.afterNext }, 'block 67'],
    [
      'a block that is far away',
      2 ** 50,
      { next: sets.afterNext, afterNext: sets.afterNext },
      'block 1125899906842625',
    ],
  ])('refuses %s', (_, height, given, block) => {
    expect(() => ranksAfter(native, height, given)).toThrow(
      `the state after block ${height} does not hold the proposer priorities of the validators of ${block}`,
    )
  })
})

it('starts to record where the state has no record after the height of the first', () => {
  const native = createNative()
  const validators = advanceValidators(genesisHeadValidators(GENESIS), [])
  recordRanks(native, 1, { ...validators, height: 62, isChanged: false })
  expect(native.written()).toBe(1)
  const { next, afterNext } = validators
  const sets = { next: withoutRanks(next), afterNext: withoutRanks(afterNext) }
  expect(ranksAfter(native, 62, sets)).toEqual({ next, afterNext })
})
