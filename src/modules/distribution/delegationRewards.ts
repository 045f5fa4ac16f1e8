import type { Address } from '../../primitives/address.ts'
import type { Decimal } from '../../primitives/decimal.ts'
import type { ModuleContext, ReadContext } from '../context.ts'
import type { Outcome } from '../sdkError.ts'
import { getDelegation } from '../staking/delegations.ts'
import { stakingError } from '../staking/errors.ts'
import { getValidator } from '../staking/validators.ts'
import { accruedRewards } from './accrueRewards.ts'
import { distributionError } from './errors.ts'
import { addReference, getHistorical, RATIO_ONE } from './historicalRewards.ts'
import { currentRatio } from './periods.ts'
import { getStartingInfo, putStartingInfo } from './startingInfo.ts'
import { getRewards } from './validatorRewards.ts'

/** A delegation earns from the period that ended last on (x/distribution/keeper/delegation.go, initializeDelegation). */
export function startEarning({ world: { native } }: ModuleContext, operator: Address, delegator: Address): void {
  const previousPeriod = getRewards(native, operator)!.period - 1n
  addReference(native, operator, previousPeriod)
  putStartingInfo(native, operator, delegator, { previousPeriod })
}

/**
 * What shares earned between two ends of periods (CalculateDelegationRewards in the same file). A delegation's shares are the
 * same all the time between: whatever changes them pays its rewards first. A slash makes shares worth less, but each
 * keeps its part of the validator's stake, so that there is nothing to go through.
 */
export function earnedByShares(shares: Decimal, fromRatio: bigint, toRatio: bigint): Decimal {
  return (shares * (toRatio - fromRatio)) / RATIO_ONE
}

/** What a delegation could withdraw, before the part below 1 acoin is cut off. Writes nothing. */
export function delegationRewards(context: ReadContext, delegator: Address, operator: Address): Outcome<Decimal> {
  const { native } = context.world
  const validator = getValidator(native, operator)
  if (validator === undefined) return distributionError('noValidator')
  const delegation = getDelegation(native, delegator, operator)
  const info = getStartingInfo(native, operator, delegator)
  if (delegation === undefined || info === undefined) return stakingError('noDelegation')
  const rewards = accruedRewards(context, validator)
  const from = getHistorical(native, operator, info.previousPeriod).ratio
  const to = getHistorical(native, operator, rewards.period - 1n).ratio + currentRatio(rewards, validator)
  const earned = earnedByShares(delegation.shares, from, to)
  return earned < rewards.outstanding ? earned : rewards.outstanding
}
