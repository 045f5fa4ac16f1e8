import { BECH32_OPERATOR, parseAddress } from '../../primitives/address.ts'
import { defineMessage, embedded, repeated, string, type ValueOf } from '../../primitives/protoSchema.ts'
import { acoinOf, areValidCoins, BASE_DENOM, Coin, coinsOf, coinsText } from '../coin.ts'
import { requireAuthority } from '../gov/authority.ts'
import { defineHandler, EMPTY_RESPONSE, type MessageHandler } from '../message.ts'
import { isSdkError, type SdkError, sdkError } from '../sdkError.ts'
import { updateParamsHandler } from '../updateParams.ts'
import { withdrawDelegationRewards } from './delegationRewards.ts'
import { distributionError } from './errors.ts'
import { communityPoolSpend, fundCommunityPool } from './feePool.ts'
import { DISTRIBUTION_PARAMS, DistributionParams, validateDistributionParams } from './params.ts'
import { depositValidatorRewards, withdrawCommission } from './rewards.ts'
import { setWithdrawAddress } from './withdrawAddress.ts'

// Messages of cosmos/distribution/v1beta1/tx.proto and their answers

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

/**
 * Gas of the module's messages, by the records that they write at most (balances included) and the arithmetic between. A
 * withdrawal writes the validator's rewards, share and two historical ratios, the starting info, the fee pool and two balances.
 */
export const DISTRIBUTION_GAS = {
  setWithdrawAddress: 12_000n,
  withdrawRewards: 50_000n,
  withdrawCommission: 30_000n,
  fundCommunityPool: 20_000n,
  depositRewards: 30_000n,
  communityPoolSpend: 20_000n,
  updateParams: 12_000n,
} as const

const operatorOf = (text: string) => parseAddress(text, BECH32_OPERATOR)

/** All of x/distribution/keeper/msg_server.go. */
export const DISTRIBUTION_MESSAGES: readonly MessageHandler[] = [
  defineHandler<MsgSetWithdrawAddress>({
    type: MsgSetWithdrawAddress,
    response: MsgSetWithdrawAddressResponse,
    aminoName: 'cosmos-sdk/MsgModifyWithdrawAddress',
    module: 'distribution',
    signers: ({ delegatorAddress }) => [parseAddress(delegatorAddress)],
    validate: ({ delegatorAddress, withdrawAddress }) => validAddresses(delegatorAddress, withdrawAddress),
    gas: () => DISTRIBUTION_GAS.setWithdrawAddress,
    run: (context, { delegatorAddress, withdrawAddress }) =>
      setWithdrawAddress(context, parseAddress(delegatorAddress), parseAddress(withdrawAddress)) ?? EMPTY_RESPONSE,
  }),
  defineHandler<MsgWithdrawDelegatorReward>({
    type: MsgWithdrawDelegatorReward,
    response: MsgWithdrawDelegatorRewardResponse,
    aminoName: 'cosmos-sdk/MsgWithdrawDelegationReward',
    module: 'distribution',
    signers: ({ delegatorAddress }) => [parseAddress(delegatorAddress)],
    validate: ({ delegatorAddress, validatorAddress }) => {
      operatorOf(validatorAddress)
      return validAddresses(delegatorAddress)
    },
    gas: () => DISTRIBUTION_GAS.withdrawRewards,
    run: (context, { delegatorAddress, validatorAddress }) => {
      const paid = withdrawDelegationRewards(context, parseAddress(delegatorAddress), operatorOf(validatorAddress))
      if (isSdkError(paid)) return paid
      // A payment of nothing is shown as such, as the SDK does.
      return MsgWithdrawDelegatorRewardResponse.encode({ amount: [{ denom: BASE_DENOM, amount: paid }] })
    },
  }),
  defineHandler<MsgWithdrawValidatorCommission>({
    type: MsgWithdrawValidatorCommission,
    response: MsgWithdrawValidatorCommissionResponse,
    aminoName: 'cosmos-sdk/MsgWithdrawValCommission',
    module: 'distribution',
    signers: ({ validatorAddress }) => [operatorOf(validatorAddress)],
    validate: ({ validatorAddress }) => {
      operatorOf(validatorAddress)
      return undefined
    },
    gas: () => DISTRIBUTION_GAS.withdrawCommission,
    run: (context, { validatorAddress }) => {
      const paid = withdrawCommission(context, operatorOf(validatorAddress))
      if (isSdkError(paid)) return paid
      return MsgWithdrawValidatorCommissionResponse.encode({ amount: coinsOf(paid) })
    },
  }),
  defineHandler<MsgFundCommunityPool>({
    type: MsgFundCommunityPool,
    response: MsgFundCommunityPoolResponse,
    aminoName: 'cosmos-sdk/MsgFundCommunityPool',
    module: 'distribution',
    signers: ({ depositor }) => [parseAddress(depositor)],
    validate: ({ depositor, amount }) => validAddresses(depositor) ?? validAmount(amount),
    gas: () => DISTRIBUTION_GAS.fundCommunityPool,
    run: (context, { depositor, amount }) => {
      const acoin = acoinOf(amount)
      if (acoin === undefined) return unknownCoins(amount)
      return fundCommunityPool(context, parseAddress(depositor), acoin) ?? EMPTY_RESPONSE
    },
  }),
  defineHandler<MsgDepositValidatorRewardsPool>({
    type: MsgDepositValidatorRewardsPool,
    response: MsgDepositValidatorRewardsPoolResponse,
    aminoName: 'cosmos-sdk/distr/MsgDepositValRewards',
    module: 'distribution',
    signers: ({ depositor }) => [parseAddress(depositor)],
    validate: ({ depositor, validatorAddress, amount }) => {
      operatorOf(validatorAddress)
      return validAddresses(depositor) ?? validAmount(amount)
    },
    gas: () => DISTRIBUTION_GAS.depositRewards,
    run: (context, { depositor, validatorAddress, amount }) => {
      const acoin = acoinOf(amount)
      if (acoin === undefined) return unknownCoins(amount)
      return (
        depositValidatorRewards(context, parseAddress(depositor), operatorOf(validatorAddress), acoin) ?? EMPTY_RESPONSE
      )
    },
  }),
  defineHandler<MsgCommunityPoolSpend>({
    type: MsgCommunityPoolSpend,
    response: MsgCommunityPoolSpendResponse,
    aminoName: 'cosmos-sdk/distr/MsgCommunityPoolSpend',
    module: 'distribution',
    signers: ({ authority }) => [parseAddress(authority)],
    validate: ({ authority, recipient, amount }) => validAddresses(authority, recipient) ?? validAmount(amount),
    gas: () => DISTRIBUTION_GAS.communityPoolSpend,
    run: (context, { authority, recipient, amount }) => {
      const refused = requireAuthority(authority)
      if (refused !== undefined) return refused
      const acoin = acoinOf(amount)
      if (acoin === undefined) return distributionError('badDistribution')
      return communityPoolSpend(context, parseAddress(recipient), acoin) ?? EMPTY_RESPONSE
    },
  }),
  updateParamsHandler<DistributionParams>({
    type: MsgUpdateParams,
    response: MsgUpdateParamsResponse,
    aminoName: 'cosmos-sdk/distribution/MsgUpdateParams',
    module: 'distribution',
    gas: DISTRIBUTION_GAS.updateParams,
    check: validateDistributionParams,
    set: DISTRIBUTION_PARAMS.set,
  }),
]

/** @throws AddressError, which the caller of `validate` turns into sdk/7 */
function validAddresses(...texts: readonly string[]): undefined {
  for (const text of texts) parseAddress(text)
}

function validAmount(amount: readonly Coin[]): SdkError | undefined {
  if (amount.length > 0 && areValidCoins(amount)) return undefined
  return sdkError('invalidCoins', coinsText(amount))
}

/** Returns the error of a payment in other denominations than the base one: no such coins exist. */
function unknownCoins(amount: readonly Coin[]): SdkError {
  const missing = amount.find(({ denom }) => denom !== BASE_DENOM)!
  return sdkError('insufficientFunds', `spendable balance 0${missing.denom} is smaller than ${coinsText([missing])}`)
}
