import type { Address } from '../../primitives/address.ts'
import { decimalOf, ONE } from '../../primitives/decimal.ts'
import type { ModuleContext } from '../context.ts'
import type { Validator } from '../staking/validators.ts'
import { addToCommunityPool } from './feePool.ts'
import { dropReference, getHistorical, putHistorical } from './historicalRewards.ts'
import { settle } from './settle.ts'
import { putRewards, type ValidatorRewards } from './validatorRewards.ts'

/** What the current rewards are for each acoin of the validator's, 10^-36 acoin. */
export function currentRatio({ current }: ValidatorRewards, tokens: bigint): bigint {
  return tokens === 0n ? 0n : (current * ONE * ONE) / decimalOf(tokens)
}

/**
 * Ends the validator's period (x/distribution/keeper/validator.go, IncrementValidatorPeriod): what came in during it is divided
 * by its tokens, and the next begins. Without tokens there is nobody to have it: it becomes the community's.
 * @returns the number of the period that ended; its historical rewards have the new period's reference
 */
export function endPeriod(context: ModuleContext, validator: Validator): bigint {
  const { native } = context.world
  const { operator, tokens } = validator
  const rewards = settle(context, validator)
  const { period } = rewards
  const { ratio } = getHistorical(native, operator, period - 1n)
  dropReference(native, operator, period - 1n)
  putHistorical(native, operator, period, { ratio: ratio + currentRatio(rewards, tokens), references: 1 })
  let { outstanding } = rewards
  if (tokens === 0n) {
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
