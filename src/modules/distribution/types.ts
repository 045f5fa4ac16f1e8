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

/** Types of cosmos/distribution/v1beta1/distribution.proto that queries show. */

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
