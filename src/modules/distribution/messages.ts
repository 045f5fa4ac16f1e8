import { BECH32_OPERATOR, parseAddress } from '../../primitives/address.ts'
import { acoinOf, areValidCoins, BASE_DENOM, type Coin, coinsOf, coinsText } from '../coin.ts'
import { requireAuthority } from '../gov/authority.ts'
import { defineHandler, type MessageHandler } from '../message.ts'
import { isSdkError, type SdkError, sdkError } from '../sdkError.ts'
import { communityPoolSpend, fundCommunityPool } from './communityPool.ts'
import { depositValidatorRewards } from './depositRewards.ts'
import { distributionError } from './errors.ts'
import { DISTRIBUTION_GAS } from './gas.ts'
import * as types from './messageTypes.ts'
import { DISTRIBUTION_PARAMS, validateDistributionParams } from './params.ts'
import { withdrawCommission, withdrawDelegationRewards } from './withdraw.ts'
import { setWithdrawAddress } from './withdrawAddress.ts'

const EMPTY_ANSWER = new Uint8Array(0)

const operatorOf = (text: string) => parseAddress(text, BECH32_OPERATOR)

/** All of x/distribution/keeper/msg_server.go. */
export const DISTRIBUTION_MESSAGES: readonly MessageHandler[] = [
  defineHandler<types.MsgSetWithdrawAddress>({
    type: types.MsgSetWithdrawAddress,
    response: types.MsgSetWithdrawAddressResponse,
    aminoName: 'cosmos-sdk/MsgModifyWithdrawAddress',
    module: 'distribution',
    signers: ({ delegatorAddress }) => [parseAddress(delegatorAddress)],
    validate: ({ delegatorAddress, withdrawAddress }) => validAddresses(delegatorAddress, withdrawAddress),
    gas: () => DISTRIBUTION_GAS.setWithdrawAddress,
    run: (context, { delegatorAddress, withdrawAddress }) =>
      setWithdrawAddress(context, parseAddress(delegatorAddress), parseAddress(withdrawAddress)) ?? EMPTY_ANSWER,
  }),
  defineHandler<types.MsgWithdrawDelegatorReward>({
    type: types.MsgWithdrawDelegatorReward,
    response: types.MsgWithdrawDelegatorRewardResponse,
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
      return types.MsgWithdrawDelegatorRewardResponse.encode({ amount: [{ denom: BASE_DENOM, amount: paid }] })
    },
  }),
  defineHandler<types.MsgWithdrawValidatorCommission>({
    type: types.MsgWithdrawValidatorCommission,
    response: types.MsgWithdrawValidatorCommissionResponse,
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
      return types.MsgWithdrawValidatorCommissionResponse.encode({ amount: coinsOf(paid) })
    },
  }),
  defineHandler<types.MsgFundCommunityPool>({
    type: types.MsgFundCommunityPool,
    response: types.MsgFundCommunityPoolResponse,
    aminoName: 'cosmos-sdk/MsgFundCommunityPool',
    module: 'distribution',
    signers: ({ depositor }) => [parseAddress(depositor)],
    validate: ({ depositor, amount }) => validAddresses(depositor) ?? validAmount(amount),
    gas: () => DISTRIBUTION_GAS.fundCommunityPool,
    run: (context, { depositor, amount }) => {
      const acoin = acoinOf(amount)
      if (acoin === undefined) return unknownCoins(amount)
      return fundCommunityPool(context, parseAddress(depositor), acoin) ?? EMPTY_ANSWER
    },
  }),
  defineHandler<types.MsgDepositValidatorRewardsPool>({
    type: types.MsgDepositValidatorRewardsPool,
    response: types.MsgDepositValidatorRewardsPoolResponse,
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
        depositValidatorRewards(context, parseAddress(depositor), operatorOf(validatorAddress), acoin) ?? EMPTY_ANSWER
      )
    },
  }),
  defineHandler<types.MsgCommunityPoolSpend>({
    type: types.MsgCommunityPoolSpend,
    response: types.MsgCommunityPoolSpendResponse,
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
      return communityPoolSpend(context, parseAddress(recipient), acoin) ?? EMPTY_ANSWER
    },
  }),
  defineHandler<types.MsgUpdateParams>({
    type: types.MsgUpdateParams,
    response: types.MsgUpdateParamsResponse,
    aminoName: 'cosmos-sdk/distribution/MsgUpdateParams',
    module: 'distribution',
    signers: ({ authority }) => [parseAddress(authority)],
    validate: ({ authority }) => validAddresses(authority),
    gas: () => DISTRIBUTION_GAS.updateParams,
    run: ({ world }, { authority, params }) => {
      const refused = requireAuthority(authority) ?? validateDistributionParams(params)
      if (refused !== undefined) return refused
      DISTRIBUTION_PARAMS.set(world.native, params)
      return EMPTY_ANSWER
    },
  }),
]

/** @throws AddressError, which whoever validates a message turns into sdk/7 */
function validAddresses(...texts: readonly string[]): undefined {
  for (const text of texts) parseAddress(text)
}

function validAmount(amount: readonly Coin[]): SdkError | undefined {
  if (amount.length > 0 && areValidCoins(amount)) return undefined
  return sdkError('invalidCoins', coinsText(amount))
}

/** Nobody has coins of another denomination than the base one. */
function unknownCoins(amount: readonly Coin[]): SdkError {
  const missing = amount.find(({ denom }) => denom !== BASE_DENOM)!
  return sdkError('insufficientFunds', `spendable balance 0${missing.denom} is smaller than ${coinsText([missing])}`)
}
