import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { createRankedSet, MAX_TOTAL_POWER, updateValidators } from '../../../../src/chain/comet/validatorSet.ts'
import { mint } from '../../../../src/modules/bank/ledger.ts'
import type { ModuleContext } from '../../../../src/modules/context.ts'
import { DISTRIBUTION_PARAMS, DistributionParams } from '../../../../src/modules/distribution/params.ts'
import { BONDED_POOL } from '../../../../src/modules/moduleAccounts.ts'
import { getSigningRecord } from '../../../../src/modules/slashing/signingInfo.ts'
import { delegate } from '../../../../src/modules/staking/delegatorActions.ts'
import { endStaking } from '../../../../src/modules/staking/endStaking.ts'
import { initStaking } from '../../../../src/modules/staking/initStaking.ts'
import { poolSurplus, stakingInvariants } from '../../../../src/modules/staking/invariants.ts'
import { STAKING_PARAMS, setStakingParams } from '../../../../src/modules/staking/params.ts'
import { Description, Params } from '../../../../src/modules/staking/types.ts'
import {
  consensusAddressOf,
  getLastTotalPower,
  getOperator,
  getValidator,
  getValidatorByConsensus,
  jail,
  lastPowers,
  unjail,
  type Validator,
  validators,
} from '../../../../src/modules/staking/validators.ts'
import { takeValidatorUpdates } from '../../../../src/modules/staking/validatorUpdates.ts'
import { bytesKey } from '../../../../src/primitives/bytes.ts'
import { decimalOf } from '../../../../src/primitives/decimal.ts'
import { ed25519Address } from '../../../../src/primitives/ed25519.ts'
import { Journal } from '../../../../src/state/journal.ts'
import { runs } from '../../../propertyRuns.ts'
import { setPower } from '../../../support/modules/staking/setPower.ts'
import { ok } from '../../../support/modules/stakingChain.ts'
import { MemoryStateReader } from '../../../support/state/memoryReader.ts'

/** Power that consensus was last told of; 0 for a validator that it does not know. */
function getLastPower(native: Parameters<typeof lastPowers>[0], operator: Uint8Array): bigint {
  return [...lastPowers(native)].find((last) => bytesKey(last.operator) === bytesKey(operator))?.power ?? 0n
}

const COIN = 10n ** 18n
const operator = (index: number) => new Uint8Array(20).fill(index + 1)
const publicKey = (index: number) => new Uint8Array(32).fill(index + 1)

function validator(index: number, power: bigint): Validator {
  return {
    operator: operator(index),
    publicKey: publicKey(index),
    jailed: false,
    status: 'bonded',
    tokens: power * COIN,
    delegatorShares: decimalOf(power * COIN),
    description: Description.create({ moniker: `validator ${index}` }),
    unbondingHeight: 0,
    unbondingTimeMs: 0,
    commission: { rate: 0n, maxRate: 0n, maxChangeRate: 0n, updateTimeMs: 0 },
    minSelfDelegation: 1n,
    unbondingIds: [],
  }
}

let context: ModuleContext

beforeEach(() => {
  context = emptyContext()
})

function emptyContext(): ModuleContext {
  return { world: new Journal(new MemoryStateReader()), block: { height: 7, timeMs: 1_000_000 } }
}

function start(powers: readonly bigint[], maxValidators = 50): void {
  const all = powers.map((power, index) => validator(index, power))
  for (const { tokens } of all) mint(context.world, BONDED_POOL, tokens)
  DISTRIBUTION_PARAMS.set(context.world.native, DistributionParams.create())
  initStaking(context, {
    params: Params.create({ unbondingTime: 60_000_000_000n, maxValidators, maxEntries: 50, bondDenom: 'acoin' }),
    validators: all,
    delegations: all.map(({ operator, delegatorShares: shares }) => ({ delegator: operator, operator, shares })),
  })
}

function set(index: number, power: bigint): void {
  setPower(context, { operator: operator(index), publicKey: publicKey(index), power })
}

/** The updates at a block's end, with validators by index; everything holds after it. */
function take(): (readonly [number, bigint])[] {
  const updates = takeValidatorUpdates(context).map(({ publicKey, power }) => [publicKey[0]! - 1, power] as const)
  expect(stakingInvariants(context)).toEqual([])
  expect(poolSurplus(context)).toEqual({ bonded: 0n, notBonded: 0n })
  return updates
}

const statusOf = (index: number) => getValidator(context.world.native, operator(index))!.status

describe('validators of the genesis', () => {
  it('are in order of their operators, findable by consensus address, and known to consensus', () => {
    start([7n, 5n])
    const { native } = context.world
    expect([...validators(native)]).toEqual([validator(0, 7n), validator(1, 5n)])
    expect([...validators(native, { start: operator(1) })]).toEqual([validator(1, 5n)])
    expect([...validators(native, { reverse: true })].map(({ tokens }) => tokens)).toEqual([5n * COIN, 7n * COIN])
    const address = ed25519Address(publicKey(1))
    expect(getOperator(native, address)).toEqual(operator(1))
    expect(getValidatorByConsensus(native, address)).toEqual(validator(1, 5n))
    expect([getLastPower(native, operator(0)), getLastTotalPower(native)]).toEqual([7n, 12n])
    expect(getSigningRecord(native, address)).toMatchObject({ startHeight: 7n })
    expect(take()).toEqual([])
  })

  it('share neither operators nor keys', () => {
    start([])
    const init = (...all: Validator[]) =>
      initStaking(context, { params: STAKING_PARAMS.get(context.world.native), validators: all, delegations: [] })
    expect(() => init(validator(2, 1n), validator(2, 1n))).toThrow('same operator')
    expect(() => init(validator(3, 1n), { ...validator(4, 1n), publicKey: publicKey(3) })).toThrow('same key')
  })
})

describe('validator updates', () => {
  it.each<[string, readonly (readonly [number, bigint])[], readonly (readonly [number, bigint])[]]>([
    ['another power', [[1, 29n]], [[1, 29n]]],
    ['a removal', [[1, 0n]], [[1, 0n]]],
    ['a newcomer', [[4, 3n]], [[4, 3n]]],
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
    [
      'the strongest first, then who falls out',
      [
        [0, 0n],
        [1, 40n],
        [2, 50n],
      ],
      [
        [2, 50n],
        [1, 40n],
        [0, 0n],
      ],
    ],
  ])('tell of %s', (_, changes, expected) => {
    start([10n, 20n, 30n])
    for (const [index, power] of changes) set(index, power)
    expect(take()).toEqual(expected)
    expect(take()).toEqual([])
  })

  it('do not come for less than a unit of power', () => {
    start([10n, 20n])
    mint(context.world, operator(0), 2n * COIN)
    const stake = (amount: bigint) => ok(delegate(context, { delegator: operator(0), operator: operator(0), amount }))
    stake(COIN - 1n)
    expect(take()).toEqual([])
    stake(1n)
    expect(take()).toEqual([[0, 11n]])
  })

  it('cost two look-ups, and no write, while nothing has changed and nothing is due', () => {
    start([10n, 20n])
    take()
    setPower(context, { operator: operator(1), publicKey: publicKey(1), power: 19n })
    take()
    let lookUps = 0
    const { native } = context.world
    const counted = {
      work: native.work,
      get: (key: Uint8Array) => {
        lookUps++
        return native.get(key)
      },
      *range(...walk: Parameters<typeof native.range>) {
        for (const entry of native.range(...walk)) {
          lookUps++
          yield entry
        }
      },
    }
    const readOnly = { ...context, world: { native: counted } } as unknown as ModuleContext
    expect(endStaking(readOnly)).toEqual([])
    expect(lookUps).toBe(2)
  })

  it('come when someone gets power again after all lost it: until then the present validators keep theirs', () => {
    start([10n, 20n])
    set(0, 0n)
    set(1, 0n)
    expect(take()).toEqual([])
    expect([statusOf(0), statusOf(1)]).toEqual(['bonded', 'bonded'])
    expect(getLastPower(context.world.native, operator(1))).toBe(20n)
    set(1, 4n)
    expect(take()).toEqual([
      [1, 4n],
      [0, 0n],
    ])
    expect([statusOf(0), statusOf(1)]).toEqual(['unbonding', 'bonded'])
  })

  it('keep the strongest when there are more than may be; equal ones in order of their operators', () => {
    start([10n, 20n, 20n], 3)
    set(3, 10n)
    expect(take()).toEqual([])
    expect(statusOf(3)).toBe('unbonded')
    set(4, 11n)
    expect(take()).toEqual([
      [4, 11n],
      [0, 0n],
    ])
    set(1, 1n)
    expect(take()).toEqual([
      [0, 10n],
      [1, 0n],
    ])
  })

  it('follow the number of validators that governance allows', () => {
    start([10n, 20n, 30n])
    const { native } = context.world
    const params = STAKING_PARAMS.get(native)
    setStakingParams(native, { ...params, maxValidators: 1 })
    expect(take()).toEqual([
      [0, 0n],
      [1, 0n],
    ])
    setStakingParams(native, { ...params, maxValidators: 2 })
    expect(take()).toEqual([[1, 20n]])
  })

  it('cut the weakest where the total would exceed what consensus can count', () => {
    start([10n, 20n])
    set(0, MAX_TOTAL_POWER - 5n)
    expect(take()).toEqual([
      [0, MAX_TOTAL_POWER - 5n],
      [1, 5n],
    ])
    set(0, MAX_TOTAL_POWER + 5n)
    expect(take()).toEqual([
      [0, MAX_TOTAL_POWER],
      [1, 0n],
    ])
  })

  it('leave out who is jailed, and take it back with its window of signatures begun anew', () => {
    start([10n, 20n])
    const address = consensusAddressOf(validator(0, 0n))
    jail(context, address)
    expect(take()).toEqual([[0, 0n]])
    const idsOf = () => getValidator(context.world.native, operator(0))!.unbondingIds
    expect(idsOf()).toEqual([1n])
    context = { ...context, block: { height: 9, timeMs: 1_000_800 } }
    unjail(context, address)
    expect(take()).toEqual([[0, 10n]])
    expect(statusOf(0)).toBe('bonded')
    expect(idsOf()).toEqual([])
    expect(getSigningRecord(context.world.native, address)).toMatchObject({ startHeight: 9n })
    // It waits for nothing any more.
    context = { ...context, block: { height: 10, timeMs: 10_000_000 } }
    expect(endStaking(context)).toEqual([])
    expect(statusOf(0)).toBe('bonded')
  })

  it('can always be followed by consensus, which then has just the powers that staking says it has', () => {
    const power = fc.oneof(fc.constant(0n), fc.bigInt(1n, 5n), fc.bigInt(MAX_TOTAL_POWER / 3n, 2n ** 63n - 1n))
    const block = fc.array(fc.tuple(fc.nat(11), power), { maxLength: 6 })
    fc.assert(
      fc.property(fc.array(block, { maxLength: 12 }), fc.integer({ min: 1, max: 8 }), (blocks, maxValidators) => {
        context = emptyContext()
        start([3n], maxValidators)
        let followed = createRankedSet([{ publicKey: publicKey(0), power: 3n }])
        for (const changes of blocks) {
          for (const [index, value] of changes)
            if (value > 0n || getValidator(context.world.native, operator(index))) set(index, value)
          followed = updateValidators(followed, takeValidatorUpdates(context))
          expect(stakingInvariants(context)).toEqual([])
          expect(poolSurplus(context)).toEqual({ bonded: 0n, notBonded: 0n })
          expect(followed.validators.length).toBeLessThanOrEqual(maxValidators)
          for (const { operator, publicKey } of validators(context.world.native)) {
            const counted = followed.validators.find((other) => other.publicKey[0] === publicKey[0])?.power ?? 0n
            expect(counted).toBe(getLastPower(context.world.native, operator))
          }
        }
      }),
      { numRuns: runs(60) },
    )
  })
})
