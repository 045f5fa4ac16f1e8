import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { ed25519Address } from '../../../../src/chain/consensus/ed25519.ts'
import { createRankedSet, updateValidators } from '../../../../src/chain/consensus/validatorPriorities.ts'
import { MAX_TOTAL_POWER } from '../../../../src/chain/consensus/validatorSet.ts'
import { initStaking } from '../../../../src/modules/staking/initStaking.ts'
import { getOperator } from '../../../../src/modules/staking/operators.ts'
import { getValidator, registerValidator, setPower, validators } from '../../../../src/modules/staking/validators.ts'
import { getLastPower, takeValidatorUpdates } from '../../../../src/modules/staking/validatorUpdates.ts'
import { Journal } from '../../../../src/state/journal.ts'
import { MemoryStateReader } from '../../../../src/state/memoryReader.ts'
import type { NativeStore } from '../../../../src/state/world.ts'

const operator = (index: number) => new Uint8Array(20).fill(index + 1)
const publicKey = (index: number) => new Uint8Array(32).fill(index + 1)
const validator = (index: number, power: bigint) => ({ operator: operator(index), publicKey: publicKey(index), power })

let native: NativeStore

beforeEach(() => {
  native = new Journal(new MemoryStateReader()).native
})

function start(powers: readonly bigint[], maxValidators = 50): void {
  initStaking(native, { validators: powers.map((power, index) => validator(index, power)), maxValidators })
}

/** The updates at a block's end, with validators by index. */
function take(): (readonly [number, bigint])[] {
  return takeValidatorUpdates(native).map(({ publicKey, power }) => [publicKey[0]! - 1, power] as const)
}

describe('validators', () => {
  it('are those of the genesis, in order of their operators, findable by consensus address', () => {
    start([7n, 5n])
    expect([...validators(native)]).toEqual([validator(0, 7n), validator(1, 5n)])
    expect(getValidator(native, operator(1))).toEqual(validator(1, 5n))
    expect(getOperator(native, ed25519Address(publicKey(1)))).toEqual(operator(1))
    expect(getLastPower(native, operator(0))).toBe(7n)
    expect(take()).toEqual([])
  })

  it('share neither operators nor keys, and a genesis in which they do is refused', () => {
    start([7n])
    expect(registerValidator(native, { ...validator(1, 1n), operator: operator(0) })).toEqual({
      ok: false,
      reason: 'operatorExists',
    })
    expect(registerValidator(native, { ...validator(1, 1n), publicKey: publicKey(0) })).toEqual({
      ok: false,
      reason: 'keyExists',
    })
    expect(take()).toEqual([])
    const twice = { validators: [validator(2, 1n), validator(2, 1n)], maxValidators: 50 }
    expect(() => initStaking(native, twice)).toThrow('operatorExists')
  })

  it.each([-1n, 1n << 63n])('cannot have a power of %s', (power) => {
    start([7n])
    expect(() => setPower(native, operator(0), power)).toThrow(RangeError)
  })
})

describe('validator updates', () => {
  it.each<[string, readonly (readonly [number, bigint])[], readonly (readonly [number, bigint])[]]>([
    ['another power', [[1, 9n]], [[1, 9n]]],
    ['a removal', [[1, 0n]], [[1, 0n]]],
    ['a newcomer', [[4, 3n]], [[4, 3n]]],
    ['a newcomer without power', [[4, 0n]], []],
    [
      'a change that is taken back',
      [
        [1, 9n],
        [1, 20n],
      ],
      [],
    ],
    [
      'a newcomer that has left again',
      [
        [4, 3n],
        [4, 0n],
      ],
      [],
    ],
    [
      'the end of everybody',
      [
        [0, 0n],
        [1, 0n],
        [2, 0n],
      ],
      [],
    ],
    [
      'the end of all but one',
      [
        [0, 0n],
        [2, 0n],
      ],
      [
        [0, 0n],
        [2, 0n],
      ],
    ],
  ])('tell of %s', (_, changes, expected) => {
    start([10n, 20n, 30n])
    for (const [index, power] of changes) {
      if (!setPower(native, operator(index), power)) registerValidator(native, validator(index, power))
    }
    expect(take()).toEqual(expected)
    expect(take()).toEqual([])
  })

  it('come when someone gets power again after all lost it: until then the present validators keep theirs', () => {
    start([10n, 20n])
    setPower(native, operator(0), 0n)
    setPower(native, operator(1), 0n)
    expect(take()).toEqual([])
    expect(getLastPower(native, operator(1))).toBe(20n)
    setPower(native, operator(1), 4n)
    expect(take()).toEqual([
      [0, 0n],
      [1, 4n],
    ])
  })

  it('keep the strongest when there are more than may be; equal ones in order of their operators', () => {
    start([10n, 20n, 20n], 3)
    registerValidator(native, validator(3, 10n))
    expect(take()).toEqual([])
    registerValidator(native, validator(4, 11n))
    expect(take()).toEqual([
      [0, 0n],
      [4, 11n],
    ])
    setPower(native, operator(1), 1n)
    expect(take()).toEqual([
      [0, 10n],
      [1, 0n],
    ])
  })

  it('cut the weakest where the total would exceed what consensus can count', () => {
    start([10n, 20n])
    setPower(native, operator(0), MAX_TOTAL_POWER - 5n)
    expect(take()).toEqual([
      [0, MAX_TOTAL_POWER - 5n],
      [1, 5n],
    ])
    setPower(native, operator(0), MAX_TOTAL_POWER + 5n)
    expect(take()).toEqual([
      [0, MAX_TOTAL_POWER],
      [1, 0n],
    ])
  })

  it('can always be followed by consensus, which then has just the powers that staking says it has', () => {
    const power = fc.oneof(fc.constant(0n), fc.bigInt(1n, 5n), fc.bigInt(MAX_TOTAL_POWER / 3n, 2n ** 63n - 1n))
    const block = fc.array(fc.tuple(fc.nat(11), power), { maxLength: 6 })
    fc.assert(
      fc.property(fc.array(block, { maxLength: 12 }), fc.integer({ min: 1, max: 8 }), (blocks, maxValidators) => {
        native = new Journal(new MemoryStateReader()).native
        start([3n], maxValidators)
        let set = createRankedSet([{ publicKey: publicKey(0), power: 3n }])
        for (const changes of blocks) {
          for (const [index, value] of changes) {
            if (!setPower(native, operator(index), value)) registerValidator(native, validator(index, value))
          }
          set = updateValidators(set, takeValidatorUpdates(native))
          expect(set.validators.length).toBeLessThanOrEqual(maxValidators)
          for (const { operator, publicKey } of validators(native)) {
            const counted = set.validators.find((other) => other.publicKey[0] === publicKey[0])?.power ?? 0n
            expect(counted).toBe(getLastPower(native, operator))
          }
        }
      }),
      { numRuns: 200 },
    )
  })
})
