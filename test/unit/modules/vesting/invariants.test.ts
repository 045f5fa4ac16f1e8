import { beforeEach, expect, it } from 'vitest'
import { mint } from '../../../../src/modules/bank/ledger.ts'
import { isSdkError } from '../../../../src/modules/sdkError.ts'
import { delegate, undelegate } from '../../../../src/modules/staking/delegatorActions.ts'
import { vestingInvariants } from '../../../../src/modules/vesting/invariants.ts'
import { toBech32 } from '../../../../src/primitives/address.ts'
import {
  getDelegated,
  putDelegated,
  putSchedule,
  VESTING_FILTER_KEY,
  VESTING_KINDS,
  type VestingSchedule,
  vestingFilterOf,
} from '../../../../src/state/vesting.ts'
import { account, COIN, StakingChain } from '../../../support/modules/stakingChain.ts'

const OPERATOR = account(1)
const HOLDER = account(8)
const OTHER = account(9)
const NAME = `vesting account ${toBech32(HOLDER)}`
const DELAYED: VestingSchedule = {
  kind: VESTING_KINDS.DELAYED,
  originalVesting: 100n * COIN,
  startTime: 0n,
  endTime: 2_000_000_000n,
  periods: [],
}
const PERIODIC: VestingSchedule = {
  kind: VESTING_KINDS.PERIODIC,
  originalVesting: 5n,
  startTime: 1_000n,
  endTime: 1_030n,
  periods: [
    { length: 10n, amount: 2n },
    { length: 20n, amount: 3n },
  ],
}

let chain: StakingChain
const native = () => chain.context.world.native
const problems = () => vestingInvariants(chain.context)
/** A vesting account of 150 COIN that has 70 at stake, and 30 that unbond: all 100 that vest. */
beforeEach(() => {
  chain = new StakingChain({ validators: [{ operator: OPERATOR, stake: 100n * COIN }], holders: [OTHER] })
  putSchedule(native(), HOLDER, DELAYED)
  mint(chain.context.world, HOLDER, 150n * COIN)
  chain.context.world.setNonce(HOLDER, 1n)
  chain.begin()
  expect(isSdkError(delegate(chain.context, { delegator: HOLDER, operator: OPERATOR, amount: 100n * COIN }))).toBe(
    false,
  )
  expect(isSdkError(undelegate(chain.context, { delegator: HOLDER, operator: OPERATOR, amount: 30n * COIN }))).toBe(
    false,
  )
})

it('hold with several accounts, of which one delegates', () => {
  expect(problems()).toEqual([])
  putSchedule(native(), account(10), PERIODIC)
  putSchedule(native(), account(11), { ...DELAYED, kind: VESTING_KINDS.CONTINUOUS, startTime: 3_000_000_000n })
  putSchedule(native(), account(12), { ...DELAYED, kind: VESTING_KINDS.PERMANENT, endTime: 0n })
  expect(problems()).toEqual([])
})

it('hold where no account vests', () => {
  expect(vestingInvariants(new StakingChain({ validators: [] }).context)).toEqual([])
})

const setFilter = (accounts: readonly Uint8Array[]): void => {
  for (const [key, value] of vestingFilterOf(accounts)) native().set(key, value)
}

const stakeOf = (delegated: bigint): string =>
  `${NAME} has ${100n * COIN}acoin at stake, and has delegated ${delegated}acoin`
it.each<{ name: string; change: () => void; found: readonly string[] }>([
  {
    name: 'more delegated than vests',
    change: () => putDelegated(native(), HOLDER, { vesting: 100n * COIN + 1n, free: 0n }),
    found: [`${NAME} has delegated ${100n * COIN + 1n}acoin of ${100n * COIN}acoin that vested`],
  },
  {
    name: 'less delegated than is at stake and unbonds',
    change: () => putDelegated(native(), HOLDER, { vesting: 99n * COIN, free: 5n }),
    found: [stakeOf(99n * COIN + 5n)],
  },
  {
    name: 'a lost record',
    change: () => putDelegated(native(), HOLDER, { vesting: 0n, free: 0n }),
    found: [stakeOf(0n)],
  },
  {
    name: 'a record of another account',
    change: () => putDelegated(native(), OTHER, getDelegated(native(), HOLDER)),
    found: [`${toBech32(OTHER)} has delegated as a vesting account, but is not one`],
  },
  {
    name: 'a lost filter',
    change: () => native().delete(VESTING_FILTER_KEY),
    found: [`${NAME} is not in the filter: none of its coins are locked`],
  },
  {
    name: 'a filter of another account',
    change: () => {
      native().delete(VESTING_FILTER_KEY)
      setFilter([OTHER])
    },
    found: [`${NAME} is not in the filter: none of its coins are locked`],
  },
  {
    name: 'a filter of an account more',
    change: () => setFilter([HOLDER, OTHER]),
    found: ['the filter of vesting accounts is not that of the 1 that there are'],
  },
])('find $name', ({ change, found }) => {
  change()
  expect(problems()).toEqual(found)
})

it('allow stake of an address that has never signed, which may have been a contract', () => {
  chain.context.world.setNonce(HOLDER, 0n)
  putDelegated(native(), HOLDER, { vesting: 0n, free: 0n })
  expect(problems()).toEqual([])
})

it.each<{ schedule: VestingSchedule; found: readonly string[] }>([
  { schedule: { ...DELAYED, originalVesting: 0n }, found: ['has 0acoin that vest'] },
  { schedule: { ...DELAYED, startTime: 1n }, found: ['starts at 1, which its kind does not'] },
  { schedule: { ...DELAYED, endTime: 0n }, found: ['ends at 0, which its kind does not'] },
  {
    schedule: { ...DELAYED, kind: VESTING_KINDS.PERMANENT },
    found: ['ends at 2000000000, which its kind does not'],
  },
  { schedule: { ...DELAYED, periods: PERIODIC.periods }, found: ['has 2 periods, which its kind has not'] },
  {
    schedule: { ...PERIODIC, originalVesting: 6n },
    found: ['has periods of 5acoin, and 6acoin that vest'],
  },
  { schedule: { ...PERIODIC, endTime: 1_031n }, found: ['ends at 1031, its last period at 1030'] },
  {
    schedule: {
      ...PERIODIC,
      periods: [
        { length: 40n, amount: 7n },
        { length: -10n, amount: -2n },
      ],
    },
    found: ['ends its period 1 before it begins', 'gets -2acoin in its period 1'],
  },
])('find a schedule that $found.0', ({ schedule, found }) => {
  putSchedule(native(), OTHER, schedule)
  expect(problems()).toEqual(found.map((problem) => `vesting account ${toBech32(OTHER)} ${problem}`))
})
