import * as theirs from 'cosmjs-types/cosmos/distribution/v1beta1/distribution'
import * as theirMessages from 'cosmjs-types/cosmos/distribution/v1beta1/tx'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import * as ourMessages from '../../../../src/modules/distribution/messages.ts'
import { DISTRIBUTION_MESSAGES } from '../../../../src/modules/distribution/messages.ts'
import { DistributionParams } from '../../../../src/modules/distribution/params.ts'
import * as ours from '../../../../src/modules/distribution/readRewards.ts'
import { coin, count, decimals, expectSameWire, text, wireCase } from '../../../support/modules/wireCases.ts'

const decCoin = fc.record({ denom: text, amount: decimals })
const params = fc.record({
  communityTax: decimals,
  baseProposerReward: decimals,
  bonusProposerReward: decimals,
  withdrawAddrEnabled: fc.constant(true),
})
const nothing = fc.constant({})

const CASES = [
  wireCase(DistributionParams, theirs.Params, params),
  wireCase(
    ours.ValidatorOutstandingRewards,
    theirs.ValidatorOutstandingRewards,
    fc.record({ rewards: fc.array(decCoin) }),
  ),
  wireCase(
    ours.ValidatorAccumulatedCommission,
    theirs.ValidatorAccumulatedCommission,
    fc.record({ commission: fc.array(decCoin) }),
  ),
  wireCase(
    ours.ValidatorSlashEvent,
    theirs.ValidatorSlashEvent,
    fc.record({ validatorPeriod: count, fraction: decimals }),
  ),
  wireCase(
    ours.DelegationDelegatorReward,
    theirs.DelegationDelegatorReward,
    fc.record({ validatorAddress: text, reward: fc.array(decCoin) }),
  ),
  wireCase(
    ourMessages.MsgSetWithdrawAddress,
    theirMessages.MsgSetWithdrawAddress,
    fc.record({ delegatorAddress: text, withdrawAddress: text }),
  ),
  wireCase(
    ourMessages.MsgWithdrawDelegatorReward,
    theirMessages.MsgWithdrawDelegatorReward,
    fc.record({ delegatorAddress: text, validatorAddress: text }),
  ),
  wireCase(
    ourMessages.MsgWithdrawDelegatorRewardResponse,
    theirMessages.MsgWithdrawDelegatorRewardResponse,
    fc.record({ amount: fc.array(coin) }),
  ),
  wireCase(
    ourMessages.MsgWithdrawValidatorCommission,
    theirMessages.MsgWithdrawValidatorCommission,
    fc.record({ validatorAddress: text }),
  ),
  wireCase(
    ourMessages.MsgWithdrawValidatorCommissionResponse,
    theirMessages.MsgWithdrawValidatorCommissionResponse,
    fc.record({ amount: fc.array(coin) }),
  ),
  wireCase(
    ourMessages.MsgFundCommunityPool,
    theirMessages.MsgFundCommunityPool,
    fc.record({ amount: fc.array(coin), depositor: text }),
  ),
  wireCase(
    ourMessages.MsgCommunityPoolSpend,
    theirMessages.MsgCommunityPoolSpend,
    fc.record({ authority: text, recipient: text, amount: fc.array(coin) }),
  ),
  wireCase(
    ourMessages.MsgDepositValidatorRewardsPool,
    theirMessages.MsgDepositValidatorRewardsPool,
    fc.record({ depositor: text, validatorAddress: text, amount: fc.array(coin) }),
  ),
  wireCase(ourMessages.MsgUpdateParams, theirMessages.MsgUpdateParams, fc.record({ authority: text, params })),
  wireCase(ourMessages.MsgSetWithdrawAddressResponse, theirMessages.MsgSetWithdrawAddressResponse, nothing),
  wireCase(ourMessages.MsgFundCommunityPoolResponse, theirMessages.MsgFundCommunityPoolResponse, nothing),
  wireCase(ourMessages.MsgCommunityPoolSpendResponse, theirMessages.MsgCommunityPoolSpendResponse, nothing),
  wireCase(
    ourMessages.MsgDepositValidatorRewardsPoolResponse,
    theirMessages.MsgDepositValidatorRewardsPoolResponse,
    nothing,
  ),
  wireCase(ourMessages.MsgUpdateParamsResponse, theirMessages.MsgUpdateParamsResponse, nothing),
]

it.each(CASES.map((one) => [one.ours.name, one] as const))('%s has the form that cosmjs-types writes', (_, one) => {
  expectSameWire(one)
})

it('has a handler for every message of the SDK', () => {
  const names = Object.keys(theirMessages).filter((name) => /^Msg\w+$/.test(name) && !/Response|Client/.test(name))
  expect(DISTRIBUTION_MESSAGES.map(({ type }) => type.name.split('.').at(-1)).sort()).toEqual(names.sort())
})
