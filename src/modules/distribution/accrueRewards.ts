import { type Address, BECH32_OPERATOR, toBech32 } from '../../primitives/address.ts'
import { type Decimal, multiply } from '../../primitives/decimal.ts'
import type { WorldState } from '../../state/world.ts'
import { decCoinsText } from '../coin.ts'
import { event, type ModuleContext, type ReadContext } from '../context.ts'
import { consensusAddressOf, type Validator } from '../staking/validators.ts'
import { getFeePool } from './feePool.ts'
import { earnedBy, getRewardShare, putRewardShare } from './rewardShares.ts'
import { getRewards, putRewards, type ValidatorRewards } from './validatorRewards.ts'

/** As much of a validator as its share of the fees needs. */
export type EarningValidator = Pick<Validator, 'operator' | 'publicKey' | 'commission'>

/**
 * A validator's rewards with its share of all fees so far, for queries: {@link accrueRewards} writes the same.
 * @throws Error (a bug) when the validator was never created
 */
export function accruedRewards({ world: { native } }: ReadContext, validator: EarningValidator): ValidatorRewards {
  const rewards = storedRewards(native, validator.operator)
  const share = getRewardShare(native, consensusAddressOf(validator))
  const earned = share === undefined ? 0n : earnedBy(share, getFeePool(native).accumulator)
  return withIncome(rewards, earned, commissionOn(earned, validator))
}

/**
 * Puts a validator's share of the fees since the last time into its rewards. Whatever changes its power, its commission rate
 * or anybody's part of its rewards does this first, and nothing else needs to: no block writes to every validator.
 */
export function accrueRewards(context: ModuleContext, validator: EarningValidator): ValidatorRewards {
  const { native } = context.world
  const address = consensusAddressOf(validator)
  const share = getRewardShare(native, address)
  if (share === undefined) return storedRewards(native, validator.operator)
  const { accumulator } = getFeePool(native)
  if (share.accumulator === accumulator) return storedRewards(native, validator.operator)
  putRewardShare(native, address, { ...share, accumulator })
  return receive(context, validator, earnedBy(share, accumulator))
}

/**
 * Income of a validator (x/distribution/keeper/allocation.go, AllocateTokensToValidator): its commission, the rest to its
 * delegators.
 */
export function receive({ world }: ModuleContext, validator: EarningValidator, amount: Decimal): ValidatorRewards {
  const rewards = storedRewards(world.native, validator.operator)
  if (amount === 0n) return rewards
  const commission = commissionOn(amount, validator)
  const received = withIncome(rewards, amount, commission)
  putRewards(world.native, validator.operator, received)
  emitIncome(world, 'commission', validator.operator, commission)
  emitIncome(world, 'rewards', validator.operator, amount)
  return received
}

function commissionOn(amount: Decimal, { commission }: EarningValidator): Decimal {
  return multiply(amount, commission.rate)
}

function withIncome(rewards: ValidatorRewards, amount: Decimal, commission: Decimal): ValidatorRewards {
  return {
    outstanding: rewards.outstanding + amount,
    commission: rewards.commission + commission,
    current: rewards.current + amount - commission,
    period: rewards.period,
  }
}

function storedRewards(native: Pick<WorldState['native'], 'get'>, operator: Address): ValidatorRewards {
  const rewards = getRewards(native, operator)
  if (rewards === undefined) throw new Error('the validator has no record of rewards')
  return rewards
}

function emitIncome(world: Pick<WorldState, 'emitEvent'>, type: string, operator: Address, amount: Decimal): void {
  world.emitEvent(event(type, { amount: decCoinsText(amount), validator: toBech32(operator, BECH32_OPERATOR) }))
}
