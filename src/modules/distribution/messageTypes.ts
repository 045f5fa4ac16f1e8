import { defineMessage, embedded, repeated, string, type ValueOf } from '../../primitives/protoSchema.ts'
import { Coin } from '../coin.ts'
import { DistributionParams } from './params.ts'

/** Messages of cosmos/distribution/v1beta1/tx.proto and their answers. */

export const MsgSetWithdrawAddress = defineMessage('cosmos.distribution.v1beta1.MsgSetWithdrawAddress', {
  delegatorAddress: string(1),
  withdrawAddress: string(2),
})
export type MsgSetWithdrawAddress = ValueOf<typeof MsgSetWithdrawAddress>
export const MsgSetWithdrawAddressResponse = defineMessage(
  'cosmos.distribution.v1beta1.MsgSetWithdrawAddressResponse',
  {},
)

export const MsgWithdrawDelegatorReward = defineMessage('cosmos.distribution.v1beta1.MsgWithdrawDelegatorReward', {
  delegatorAddress: string(1),
  validatorAddress: string(2),
})
export type MsgWithdrawDelegatorReward = ValueOf<typeof MsgWithdrawDelegatorReward>
export const MsgWithdrawDelegatorRewardResponse = defineMessage(
  'cosmos.distribution.v1beta1.MsgWithdrawDelegatorRewardResponse',
  { amount: repeated(embedded(1, Coin)) },
)

export const MsgWithdrawValidatorCommission = defineMessage(
  'cosmos.distribution.v1beta1.MsgWithdrawValidatorCommission',
  { validatorAddress: string(1) },
)
export type MsgWithdrawValidatorCommission = ValueOf<typeof MsgWithdrawValidatorCommission>
export const MsgWithdrawValidatorCommissionResponse = defineMessage(
  'cosmos.distribution.v1beta1.MsgWithdrawValidatorCommissionResponse',
  { amount: repeated(embedded(1, Coin)) },
)

export const MsgFundCommunityPool = defineMessage('cosmos.distribution.v1beta1.MsgFundCommunityPool', {
  amount: repeated(embedded(1, Coin)),
  depositor: string(2),
})
export type MsgFundCommunityPool = ValueOf<typeof MsgFundCommunityPool>
export const MsgFundCommunityPoolResponse = defineMessage(
  'cosmos.distribution.v1beta1.MsgFundCommunityPoolResponse',
  {},
)

export const MsgUpdateParams = defineMessage('cosmos.distribution.v1beta1.MsgUpdateParams', {
  authority: string(1),
  params: embedded(2, DistributionParams),
})
export type MsgUpdateParams = ValueOf<typeof MsgUpdateParams>
export const MsgUpdateParamsResponse = defineMessage('cosmos.distribution.v1beta1.MsgUpdateParamsResponse', {})

export const MsgCommunityPoolSpend = defineMessage('cosmos.distribution.v1beta1.MsgCommunityPoolSpend', {
  authority: string(1),
  recipient: string(2),
  amount: repeated(embedded(3, Coin)),
})
export type MsgCommunityPoolSpend = ValueOf<typeof MsgCommunityPoolSpend>
export const MsgCommunityPoolSpendResponse = defineMessage(
  'cosmos.distribution.v1beta1.MsgCommunityPoolSpendResponse',
  {},
)

export const MsgDepositValidatorRewardsPool = defineMessage(
  'cosmos.distribution.v1beta1.MsgDepositValidatorRewardsPool',
  { depositor: string(1), validatorAddress: string(2), amount: repeated(embedded(3, Coin)) },
)
export type MsgDepositValidatorRewardsPool = ValueOf<typeof MsgDepositValidatorRewardsPool>
export const MsgDepositValidatorRewardsPoolResponse = defineMessage(
  'cosmos.distribution.v1beta1.MsgDepositValidatorRewardsPoolResponse',
  {},
)
