import type { Address } from '../../primitives/address.ts'
import type { ModuleContext } from '../context.ts'
import type { Validator } from '../staking/validators.ts'
import { accrueRewards } from './accrueRewards.ts'
import { addToCommunityPool } from './feePool.ts'
import { dropReference, putHistorical, RATIO_ONE } from './historicalRewards.ts'
import { putRewards, type ValidatorRewards } from './validatorRewards.ts'

/** What the current rewards are for each share of the validator's, 10^-54 acoin. */
export function currentRatio(
  { current }: ValidatorRewards,
  { delegatorShares }: Pick<Validator, 'delegatorShares'>,
): bigint {
  return delegatorShares === 0n ? 0n : (current * RATIO_ONE) / delegatorShares
}

/**
 * Ends the validator's period (x/distribution/keeper/validator.go, IncrementValidatorPeriod): what came in during it is divided
 * by its shares, and the next begins. Without shares there is nobody to have it: it becomes the community's.
 * @returns the number of the period that ended; its historical rewards have the new period's reference
 */
export function endPeriod(context: ModuleContext, validator: Validator): bigint {
  const { native } = context.world
  const { operator, delegatorShares } = validator
  const rewards = accrueRewards(context, validator)
  const { period } = rewards
  const ratio = dropReference(native, operator, period - 1n) + currentRatio(rewards, validator)
  putHistorical(native, operator, period, { ratio, references: 1 })
  let { outstanding } = rewards
  if (delegatorShares === 0n) {
    addToCommunityPool(native, rewards.current)
    outstanding -= rewards.current
  }
  putRewards(native, operator, { outstanding, commission: rewards.commission, current: 0n, period: period + 1n })
  return period
}

/** Creates the records of a new validator (InitializeValidator in the same file). */
export function beginFirstPeriod({ world: { native } }: ModuleContext, operator: Address): void {
  putHistorical(native, operator, 0n, { ratio: 0n, references: 1 })
  putRewards(native, operator, { outstanding: 0n, commission: 0n, current: 0n, period: 1n })
}
