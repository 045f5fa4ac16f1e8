import { type Address, BECH32_OPERATOR, toBech32 } from '../../primitives/address.ts'
import { decimalOf, truncate } from '../../primitives/decimal.ts'
import { sendCoins } from '../bank/send.ts'
import { BASE_DENOM, coinsOf, coinsText } from '../coin.ts'
import { event, type ModuleContext } from '../context.ts'
import { DISTRIBUTION } from '../moduleAccounts.ts'
import { isSdkError, type Outcome } from '../sdkError.ts'
import { getDelegation } from '../staking/delegations.ts'
import { stakingError } from '../staking/errors.ts'
import { getValidator, type Validator } from '../staking/validators.ts'
import { accrueRewards } from './accrueRewards.ts'
import { earnedByShares, startEarning } from './delegationRewards.ts'
import { distributionError } from './errors.ts'
import { addToCommunityPool } from './feePool.ts'
import { dropReference, getHistorical } from './historicalRewards.ts'
import { endPeriod } from './periods.ts'
import { deleteStartingInfo, getStartingInfo } from './startingInfo.ts'
import { getRewards, putRewards } from './validatorRewards.ts'
import { withdrawAddressOf } from './withdrawAddress.ts'

/**
 * MsgWithdrawDelegatorReward: pays what a delegation earned; it goes on earning from now on.
 * @returns acoin paid, also 0
 */
export function withdrawDelegationRewards(
  context: ModuleContext,
  delegator: Address,
  operator: Address,
): Outcome<bigint> {
  const { native } = context.world
  const validator = getValidator(native, operator)
  if (validator === undefined) return stakingError('noValidatorFound')
  const delegation = getDelegation(native, delegator, operator)
  if (delegation === undefined) return stakingError('noDelegation')
  const paid = payDelegation(context, validator, delegator, delegation.shares)
  if (!isSdkError(paid)) startEarning(context, operator, delegator)
  return paid
}

/**
 * Pays what a delegation earned and ends its record (x/distribution/keeper/delegation.go, withdrawDelegationRewards). The part
 * below 1 acoin becomes the community's.
 * @returns acoin paid
 */
export function payDelegation(
  context: ModuleContext,
  validator: Validator,
  delegator: Address,
  shares: bigint,
): Outcome<bigint> {
  const { world } = context
  const { native } = world
  const { operator } = validator
  const info = getStartingInfo(native, operator, delegator)
  if (info === undefined) return distributionError('emptyDelegationInfo')
  const to = getHistorical(native, operator, endPeriod(context, validator)).ratio
  const from = dropReference(native, operator, info.previousPeriod)
  const earned = earnedByShares(shares, from, to)
  const rewards = getRewards(native, operator)!
  const taken = earned < rewards.outstanding ? earned : rewards.outstanding
  const amount = truncate(taken)
  if (amount > 0n) {
    const failure = sendCoins(context, DISTRIBUTION, withdrawAddressOf(native, delegator), amount)
    if (failure !== undefined) return failure
  }
  putRewards(native, operator, { ...rewards, outstanding: rewards.outstanding - taken })
  addToCommunityPool(native, taken - decimalOf(amount))
  deleteStartingInfo(native, operator, delegator)
  world.emitEvent(
    event('withdraw_rewards', {
      amount: `${amount}${BASE_DENOM}`,
      validator: toBech32(operator, BECH32_OPERATOR),
      delegator: toBech32(delegator),
    }),
  )
  return amount
}

/**
 * MsgWithdrawValidatorCommission (x/distribution/keeper/keeper.go): the part below 1 acoin stays.
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
