import type { Address } from '../../primitives/address.ts'
import { type Decimal, multiplyTruncated, ONE } from '../../primitives/decimal.ts'
import type { NativeStore } from '../../state/world.ts'
import type { ModuleContext, ReadContext } from '../context.ts'
import type { Outcome } from '../sdkError.ts'
import { getDelegation } from '../staking/delegations.ts'
import { tokensFromSharesTruncated } from '../staking/shares.ts'
import { getValidator, type Validator } from '../staking/validators.ts'
import { distributionError } from './errors.ts'
import { addReference, getHistorical } from './historicalRewards.ts'
import { currentRatio } from './periods.ts'
import { settledRewards } from './settle.ts'
import { slashEventsFrom } from './slashEvents.ts'
import { type DelegatorStartingInfo, getStartingInfo, putStartingInfo } from './startingInfo.ts'
import { getRewards } from './validatorRewards.ts'

const RATIO_ONE = ONE * ONE

/** A delegation earns from the period that ended last on (x/distribution/keeper/delegation.go, initializeDelegation). */
export function startEarning(
  { world: { native }, block }: ModuleContext,
  validator: Validator,
  delegator: Address,
  shares: Decimal,
): void {
  const { operator } = validator
  const previousPeriod = getRewards(native, operator)!.period - 1n
  addReference(native, operator, previousPeriod)
  const stake = tokensFromSharesTruncated(validator, shares)
  putStartingInfo(native, operator, delegator, { previousPeriod, stake, height: BigInt(block.height) })
}

/**
 * What a delegation earned from its start to an end (CalculateDelegationRewards in the same file): at every slash in between its
 * stake falls.
 * @param endRatio the validator's ratio at that end, 10^-36 acoin per acoin
 */
export function rewardsUntil(
  native: Pick<NativeStore, 'get' | 'range'>,
  validator: Validator,
  shares: Decimal,
  info: DelegatorStartingInfo,
  endRatio: bigint,
): Decimal {
  const { operator } = validator
  let { stake } = info
  let from = getHistorical(native, operator, info.previousPeriod).ratio
  let rewards = 0n
  for (const { period, fraction } of slashEventsFrom(native, operator, info.previousPeriod + 1n)) {
    const { ratio } = getHistorical(native, operator, period)
    rewards += (stake * (ratio - from)) / RATIO_ONE
    stake = multiplyTruncated(stake, ONE - fraction)
    from = ratio
  }
  // Roundings at slashes may leave a few 10^-18 more than there are: the sum of stakes must not pass the tokens.
  const present = tokensFromSharesTruncated(validator, shares)
  if (stake > present) stake = present
  return rewards + (stake * (endRatio - from)) / RATIO_ONE
}

/** What a delegation could withdraw, before the part below 1 acoin is cut off. Writes nothing. */
export function delegationRewards(context: ReadContext, delegator: Address, operator: Address): Outcome<Decimal> {
  const { native } = context.world
  const validator = getValidator(native, operator)
  if (validator === undefined) return distributionError('noValidator')
  const delegation = getDelegation(native, delegator, operator)
  const info = getStartingInfo(native, operator, delegator)
  if (delegation === undefined || info === undefined) return distributionError('noDelegation')
  const rewards = settledRewards(context, validator)
  const endRatio = getHistorical(native, operator, rewards.period - 1n).ratio + currentRatio(rewards, validator.tokens)
  const earned = rewardsUntil(native, validator, delegation.shares, info, endRatio)
  return earned < rewards.outstanding ? earned : rewards.outstanding
}
