import { ONE } from '../../primitives/decimal.ts'
import { bool, decimal, defineMessage, type ValueOf } from '../../primitives/protoSchema.ts'
import { defineParams } from '../params.ts'
import { type SdkError, sdkError } from '../sdkError.ts'

/** cosmos.distribution.v1beta1.Params */
export const DistributionParams = defineMessage('cosmos.distribution.v1beta1.Params', {
  communityTax: decimal(1),
  /** without effect since SDK 0.47, as the next one */
  baseProposerReward: decimal(2),
  bonusProposerReward: decimal(3),
  withdrawAddrEnabled: bool(4),
})
export type DistributionParams = ValueOf<typeof DistributionParams>

/** Under the SDK's ParamsKey (x/distribution/types/keys.go). */
export const DISTRIBUTION_PARAMS = defineParams('distribution', Uint8Array.of(0x09), DistributionParams)

/**
 * ValidateBasic of the SDK's parameters, and of MsgUpdateParams (the proposer's rewards can no
 * longer be set).
 */
export function validateDistributionParams(params: DistributionParams): SdkError | undefined {
  const { communityTax, baseProposerReward, bonusProposerReward } = params
  if (communityTax < 0n || communityTax > ONE) {
    return sdkError('invalidRequest', 'community tax must be from 0 to 1')
  }
  if (baseProposerReward !== 0n || bonusProposerReward !== 0n) {
    return sdkError('invalidRequest', 'cannot update base or bonus proposer reward because these are deprecated fields')
  }
  return undefined
}
