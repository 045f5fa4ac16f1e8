import { type Address, BECH32_OPERATOR, toBech32 } from '../../primitives/address.ts'
import { type Decimal, decimalOf, multiply, truncate } from '../../primitives/decimal.ts'
import type { NativeStore, WorldState } from '../../state/world.ts'
import { sendCoins } from '../bank/send.ts'
import { coinsOf, coinsText, decCoinsText } from '../coin.ts'
import { event, type ModuleContext, type ReadContext } from '../context.ts'
import { DISTRIBUTION } from '../moduleAccounts.ts'
import type { Outcome, SdkError } from '../sdkError.ts'
import { stakingError } from '../staking/errors.ts'
import { consensusAddressOf, getValidator, type Validator } from '../staking/validators.ts'
import { addressEntries, addressesKey } from '../storeKey.ts'
import { distributionError } from './errors.ts'
import { getFeePool } from './feePool.ts'
import { packIntegers, REWARDS_PREFIX, unpackIntegers } from './keys.ts'
import { earnedBy, getRewardShare, putRewardShare } from './rewardShares.ts'
import { withdrawAddressOf } from './withdrawAddress.ts'

/*
 * F1 fee distribution (Ojha and Goes, 2019), as coind does it. The fees of a block belong to the
 * validators of the last commit by power. A validator takes the commission from its part, and its
 * delegators have the rest by their shares. All are paid when they withdraw. No block writes to
 * every validator or delegator, since two running sums are enough:
 *
 * 1. The **accumulator** A (in the fee pool) is the earnings of one unit of voting power since the
 *    genesis. A block with fees raises A, which is one write (`divideFees.ts`). The **reward share** of a validator
 *    has its power and the accumulator A0 at its last accrual; `accrueRewards` adds power x (A -
 *    A0) to the validator's rewards.
 * 2. The **ratio** R[n] of a validator is the earnings of one of its shares until the end of its
 *    period n. A period ends when a delegation begins or changes or is paid, or when the validator
 *    is slashed; `endPeriod` (`periods.ts`) then divides the rewards of the period by the shares. A
 *    delegation's **starting info** has the period n that ended last when it got its shares: at the
 *    end of period m it has earned shares x (R[m] - R[n]) (`delegationRewards.ts`).
 *
 * Differences from the SDK (x/distribution): there every block splits fees among all validators at
 * once (AllocateTokens); the accumulator makes the same amounts except for roundings, and events
 * come when rewards accrue. There a ratio is acoin per token with 18 decimals, each slash since its
 * start reduces a delegation's stake by a rounded fraction, and a withdrawal reads all these
 * slashes. Here a ratio is acoin per share with 54 decimals: a slash does not change the number of
 * shares, so a withdrawal reads two ratios. docs/native-layer.md has the formulas with every
 * rounding.
 */

/**
 * A validator's rewards, which the SDK stores in three records (ValidatorOutstandingRewards,
 * ValidatorAccumulatedCommission, ValidatorCurrentRewards) that always change together. Amounts are
 * acoin.
 */
export interface ValidatorRewards {
  /** all that it and its delegators may still withdraw */
  readonly outstanding: Decimal
  /** the validator's own part of the outstanding rewards */
  readonly commission: Decimal
  /** delegators' part that came in during the current period */
  readonly current: Decimal
  /** number of the current period */
  readonly period: bigint
}

/** As much of a validator as its part of the fees needs. */
type EarningValidator = Pick<Validator, 'operator' | 'publicKey' | 'commission'>

/**
 * Adds the earnings of a validator's reward share since the last accrual to its rewards. Code that
 * changes the validator's power, its commission rate or any part of its rewards must call this
 * first; no other code needs to.
 * @throws Error (a bug) when the validator was never created
 */
export function accrueRewards(context: ModuleContext, validator: EarningValidator): ValidatorRewards {
  const { native } = context.world
  const address = consensusAddressOf(validator)
  const share = getRewardShare(native, address)
  if (share === undefined) return storedRewards(native, validator.operator)
  const { accumulator } = getFeePool(native)
  if (share.accumulator === accumulator) return storedRewards(native, validator.operator)
  putRewardShare(native, address, { ...share, accumulator })
  return addIncome(context, validator, earnedBy(share, accumulator))
}

/**
 * Returns a validator's rewards as {@link accrueRewards} would make them, for queries: writes
 * nothing.
 */
export function accruedRewards({ world: { native } }: ReadContext, validator: EarningValidator): ValidatorRewards {
  const rewards = storedRewards(native, validator.operator)
  const share = getRewardShare(native, consensusAddressOf(validator))
  const earned = share === undefined ? 0n : earnedBy(share, getFeePool(native).accumulator)
  return withIncome(rewards, earned, multiply(earned, validator.commission.rate))
}

/**
 * Income of a validator (x/distribution/keeper/allocation.go, AllocateTokensToValidator): its commission, the rest to its
 * delegators.
 */
function addIncome({ world }: ModuleContext, validator: EarningValidator, amount: Decimal): ValidatorRewards {
  const rewards = storedRewards(world.native, validator.operator)
  if (amount === 0n) return rewards
  const commission = multiply(amount, validator.commission.rate)
  const received = withIncome(rewards, amount, commission)
  putRewards(world.native, validator.operator, received)
  emitIncome(world, 'commission', validator.operator, commission)
  emitIncome(world, 'rewards', validator.operator, amount)
  return received
}

function withIncome(rewards: ValidatorRewards, amount: Decimal, commission: Decimal): ValidatorRewards {
  return {
    outstanding: rewards.outstanding + amount,
    commission: rewards.commission + commission,
    current: rewards.current + amount - commission,
    period: rewards.period,
  }
}

function emitIncome(world: Pick<WorldState, 'emitEvent'>, type: string, operator: Address, amount: Decimal): void {
  world.emitEvent(event(type, { amount: decCoinsText(amount), validator: toBech32(operator, BECH32_OPERATOR) }))
}

/**
 * Executes MsgDepositValidatorRewardsPool: `amount` acoin become income of a validator, as if they
 * were its share of fees.
 */
export function depositValidatorRewards(
  context: ModuleContext,
  from: Address,
  operator: Address,
  amount: bigint,
): SdkError | undefined {
  const failure = sendCoins(context, from, DISTRIBUTION, amount)
  if (failure !== undefined) return failure
  const validator = getValidator(context.world.native, operator)
  if (validator === undefined) return stakingError('noValidatorFound')
  addIncome(context, validator, decimalOf(amount))
  return undefined
}

/**
 * Reads the stored rewards, without those that have not accrued yet; see {@link accruedRewards}.
 */
export function getRewards(native: Pick<NativeStore, 'get'>, operator: Address): ValidatorRewards | undefined {
  const value = native.get(addressesKey(REWARDS_PREFIX, operator))
  return value && decodeRewards(value)
}

function storedRewards(native: Pick<NativeStore, 'get'>, operator: Address): ValidatorRewards {
  const rewards = getRewards(native, operator)
  if (rewards === undefined) throw new Error('the validator has no record of rewards')
  return rewards
}

export function putRewards(native: Pick<NativeStore, 'set'>, operator: Address, rewards: ValidatorRewards): void {
  const { outstanding, commission, current, period } = rewards
  native.set(addressesKey(REWARDS_PREFIX, operator), packIntegers(outstanding, commission, current, period))
}

/** Yields the rewards of all validators, in order of operators. */
export function* allRewards(
  native: Pick<NativeStore, 'range'>,
): IterableIterator<readonly [operator: Address, rewards: ValidatorRewards]> {
  for (const [[operator], value] of addressEntries(native, REWARDS_PREFIX)) yield [operator!, decodeRewards(value)]
}

function decodeRewards(value: Uint8Array): ValidatorRewards {
  const [outstanding = 0n, commission = 0n, current = 0n, period = 0n] = unpackIntegers(value)
  return { outstanding, commission, current, period }
}

/**
 * Executes MsgWithdrawValidatorCommission (x/distribution/keeper/keeper.go): the part below 1 acoin
 * stays.
 * @returns acoin paid
 */
export function withdrawCommission(context: ModuleContext, operator: Address): Outcome<bigint> {
  const { world } = context
  const { native } = world
  const validator = getValidator(native, operator)
  if (validator === undefined) return distributionError('noValidatorCommission')
  const rewards = accrueRewards(context, validator)
  if (rewards.commission === 0n) return distributionError('noValidatorCommission')
  const amount = truncate(rewards.commission)
  const taken = decimalOf(amount)
  putRewards(native, operator, {
    ...rewards,
    commission: rewards.commission - taken,
    outstanding: rewards.outstanding - taken,
  })
  if (amount > 0n) {
    const failure = sendCoins(context, DISTRIBUTION, withdrawAddressOf(native, operator), amount)
    if (failure !== undefined) return failure
  }
  world.emitEvent(event('withdraw_commission', { amount: coinsText(coinsOf(amount)) }))
  return amount
}
