import type { Address } from '../../primitives/address.ts'
import type { Decimal } from '../../primitives/decimal.ts'
import {
  decimal,
  defineMessage,
  embedded,
  repeated,
  string,
  uint64,
  type ValueOf,
} from '../../primitives/protoSchema.ts'
import { DecCoin } from '../coin.ts'
import type { ReadContext } from '../context.ts'
import { isSdkError, type Outcome } from '../sdkError.ts'
import { delegationsOf } from '../staking/delegations.ts'
import { getValidator } from '../staking/validators.ts'
import { delegationRewards } from './delegationRewards.ts'
import { distributionError } from './errors.ts'
import { accruedRewards } from './rewards.ts'

/** Returns the acoin that a validator and its delegators may still withdraw. */
export function outstandingRewards(context: ReadContext, operator: Address): Outcome<Decimal> {
  const validator = getValidator(context.world.native, operator)
  return validator === undefined ? distributionError('noValidator') : accruedRewards(context, validator).outstanding
}

/** Returns the acoin that a validator may still withdraw itself, as commission. */
export function commissionOf(context: ReadContext, operator: Address): Outcome<Decimal> {
  const validator = getValidator(context.world.native, operator)
  return validator === undefined ? distributionError('noValidator') : accruedRewards(context, validator).commission
}

/** Yields the rewards that each delegation of a delegator could withdraw, in order of operators. */
export function* rewardsOfDelegations(
  context: ReadContext,
  delegator: Address,
): Iterable<{ readonly operator: Address; readonly rewards: Decimal }> {
  for (const { operator } of delegationsOf(context.world.native, delegator)) {
    const rewards = delegationRewards(context, delegator, operator)
    if (isSdkError(rewards)) throw new Error(`a delegation without rewards: ${rewards.message}`)
    yield { operator, rewards }
  }
}

// Types of cosmos/distribution/v1beta1/distribution.proto that queries show

export const ValidatorOutstandingRewards = defineMessage('cosmos.distribution.v1beta1.ValidatorOutstandingRewards', {
  rewards: repeated(embedded(1, DecCoin)),
})
export type ValidatorOutstandingRewards = ValueOf<typeof ValidatorOutstandingRewards>

export const ValidatorAccumulatedCommission = defineMessage(
  'cosmos.distribution.v1beta1.ValidatorAccumulatedCommission',
  { commission: repeated(embedded(1, DecCoin)) },
)
export type ValidatorAccumulatedCommission = ValueOf<typeof ValidatorAccumulatedCommission>

export const ValidatorSlashEvent = defineMessage('cosmos.distribution.v1beta1.ValidatorSlashEvent', {
  validatorPeriod: uint64(1),
  fraction: decimal(2),
})
export type ValidatorSlashEvent = ValueOf<typeof ValidatorSlashEvent>

export const DelegationDelegatorReward = defineMessage('cosmos.distribution.v1beta1.DelegationDelegatorReward', {
  validatorAddress: string(1),
  reward: repeated(embedded(2, DecCoin)),
})
export type DelegationDelegatorReward = ValueOf<typeof DelegationDelegatorReward>
