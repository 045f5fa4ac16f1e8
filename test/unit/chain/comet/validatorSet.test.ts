import { describe, expect, it } from 'vitest'
import type { RankedValidatorSet } from '../../../../src/chain/comet/types.ts'
import {
  createProposerLookup,
  createRankedSet,
  incrementPriorities,
  MAX_TOTAL_POWER,
  proposerAt,
  updateValidators,
  type ValidatorChange,
  validatorIndexOf,
} from '../../../../src/chain/comet/validatorSet.ts'
import { bytesToHex } from '../../../../src/primitives/bytes.ts'
import { ed25519Address } from '../../../../src/primitives/ed25519.ts'
import { sha256 } from '../../../../src/primitives/hash.ts'
import { firstSeed, runs } from '../../../propertyRuns.ts'
import { loadVectors } from '../../../support/chain/comet/goldenVectors.ts'
import { ModelValidators } from '../../../support/chain/comet/validatorPriorityModel.ts'

const keyOf = (key: number): Uint8Array => sha256(new TextEncoder().encode(`validator ${key}`))
const change = (key: number, power: bigint): ValidatorChange => ({ publicKey: keyOf(key), power })
const toChange = ({ key, power }: { key: number; power: string }): ValidatorChange => change(key, BigInt(power))
const proposerOf = (set: RankedValidatorSet): Uint8Array => set.validators[set.proposer]!.publicKey

describe('CometBFT gives the same', () => {
  const { sequences } = loadVectors('priorities')

  it.each(sequences)('for $name', ({ initial, first, steps }) => {
    let set = createRankedSet(initial.map(toChange))
    for (const step of [first, ...steps]) {
      const { changes = [], increment, error, keys } = step
      if (error) {
        expect(() => updateValidators(set, changes.map(toChange))).toThrow(TypeError)
        continue
      }
      if (step !== first) set = incrementPriorities(updateValidators(set, changes.map(toChange)), increment)
      expect(proposerOf(set)).toEqual(keyOf(step.proposer))
      if (keys === undefined) continue
      expect(set.validators.map(({ publicKey }) => publicKey)).toEqual(keys.map(keyOf))
      expect(set.priorities.map(String)).toEqual(step.priorities)
      expect(String(set.totalPower)).toBe(step.totalPower)
    }
  })
})

/** A small generator with a period long enough for the steps below. */
function createRandom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

describe('an independent model', () => {
  const addresses = Array.from({ length: 12 }, (_, key) => bytesToHex(ed25519Address(keyOf(key))))

  it('agrees over many turns with changes in between', () => {
    const random = createRandom(firstSeed(41))
    let turns = 0
    let refused = 0
    while (turns < runs(200_000)) {
      const initial = Array.from({ length: 1 + random(7) }, (_, key) => ({
        key,
        power: 1 + random(random(2) ? 5 : 1e6),
      }))
      const model = new ModelValidators()
      model.change(initial.map(({ key, power }) => ({ address: addresses[key]!, power })))
      model.turn(1)
      let set = createRankedSet(initial.map(({ key, power }) => change(key, BigInt(power))))
      for (let step = 0; step < 300; step++) {
        if (random(8) === 0) {
          const changes = Array.from({ length: 1 + random(3) }, () => ({
            key: random(12),
            power: random(3) === 0 ? 0 : 1 + random(random(2) ? 5 : 1e6),
          }))
          const accepted = model.change(changes.map(({ key, power }) => ({ address: addresses[key]!, power })))
          const update = (): RankedValidatorSet =>
            updateValidators(
              set,
              changes.map(({ key, power }) => change(key, BigInt(power))),
            )
          if (accepted) set = update()
          else {
            refused++
            expect(update).toThrow(TypeError)
          }
        }
        const times = random(10) === 0 ? 1 + random(40) : 1
        turns += times
        set = incrementPriorities(set, times)
        model.turn(times)
        const got = set.validators.map(({ address }, index) => `${bytesToHex(address)} ${set.priorities[index]}`).join()
        if (got !== model.toString() || bytesToHex(set.validators[set.proposer]!.address) !== model.proposer) {
          expect(got).toBe(model.toString())
          expect(bytesToHex(set.validators[set.proposer]!.address)).toBe(model.proposer)
        }
      }
    }
    expect(refused).toBeGreaterThan(1000)
  })
})

describe('the proposer of a round', () => {
  const set = createRankedSet([change(0, 1n), change(1, 5n), change(2, 3n)])

  it('is that of the set in round 0 and comes with so many turns later', () => {
    expect(proposerAt(set, 0).publicKey).toEqual(proposerOf(set))
    for (const round of [1, 2, 3, 9, 100]) {
      expect(proposerAt(set, round).publicKey).toEqual(proposerOf(incrementPriorities(set, round)))
    }
  })

  it('is the same whatever rounds were asked for before', () => {
    const lookup = createProposerLookup(set)
    for (const round of [3, 1, 7, 7, 0, 12, 5]) expect(lookup(round)).toBe(proposerAt(set, round))
  })

  it('has turns in proportion to power', () => {
    const turns = [0, 0, 0]
    for (let round = 0; round < 900; round++) turns[validatorIndexOf(set, proposerAt(set, round).address)]!++
    expect(turns).toEqual([500, 300, 100])
  })
})

describe('changes', () => {
  const set = createRankedSet([change(0, 10n), change(1, 10n)])

  it.each([
    { what: 'a validator twice', changes: [change(2, 1n), change(2, 2n)] },
    { what: 'a negative power', changes: [change(2, -1n)] },
    { what: 'a power that is too large', changes: [change(2, MAX_TOTAL_POWER + 1n)] },
    { what: 'a total that is too large', changes: [change(2, MAX_TOTAL_POWER - 10n)] },
    { what: 'the removal of an unknown one', changes: [change(2, 0n)] },
    { what: 'the removal of all', changes: [change(0, 0n), change(1, 0n)] },
    { what: 'a short key', changes: [{ publicKey: new Uint8Array(31), power: 1n }] },
  ])('with $what are refused', ({ changes }) => {
    expect(() => updateValidators(set, changes)).toThrow(TypeError)
  })

  it('may replace everybody', () => {
    const replaced = updateValidators(set, [change(0, 0n), change(1, 0n), change(2, MAX_TOTAL_POWER)])
    expect(replaced.validators.map(({ publicKey }) => publicKey)).toEqual([keyOf(2)])
  })

  it('put a new validator last: it cannot win by leaving and coming back', () => {
    const joined = incrementPriorities(updateValidators(set, [change(2, 10n)]), 1)
    expect(proposerOf(joined)).not.toEqual(keyOf(2))
    expect(joined.priorities.at(validatorIndexOf(joined, ed25519Address(keyOf(2))))).toBeLessThan(0n)
  })

  it('of nothing change nothing', () => {
    expect(updateValidators(set, [])).toBe(set)
  })

  it('do not make a first set of none, or of powers of 0', () => {
    expect(() => createRankedSet([])).toThrow(TypeError)
    expect(() => createRankedSet([change(0, 0n)])).toThrow(TypeError)
    expect(() => incrementPriorities(set, 0)).toThrow(RangeError)
  })
})
