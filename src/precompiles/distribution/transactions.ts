import { acoinOf } from '../../modules/coin.ts'
import * as messages from '../../modules/distribution/messages.ts'
import { DISTRIBUTION_GAS } from '../../modules/distribution/messages.ts'
import { withdrawDelegationRewards } from '../../modules/distribution/rewards.ts'
import { isSdkError } from '../../modules/sdkError.ts'
import { delegationsOf } from '../../modules/staking/delegations.ts'
import { STAKING_PARAMS } from '../../modules/staking/params.ts'
import { type Address, BECH32_OPERATOR, parseAddress, toBech32 } from '../../primitives/address.ts'
import { address, bool, string, uint32 } from '../abi/types.ts'
import { DISTRIBUTION_ADDRESS } from '../addresses.ts'
import { Coins, sortedCoins } from '../coinTypes.ts'
import { defineFunction, isFailure, OUT_OF_GAS, type PrecompileFunction, revertWith } from '../dispatch.ts'
import { moduleContext, readMessageOperator, refuseZero, requireCaller, runMessage, WRITE_GAS } from '../nativeCall.ts'
import * as events from './events.ts'

const SUCCESS = { success: true } as const

/** The functions of IDistribution that change something. */
export const DISTRIBUTION_TRANSACTIONS: readonly PrecompileFunction[] = [
  defineFunction({
    name: 'claimRewards',
    inputs: { delegatorAddress: address, maxRetrieve: uint32 },
    outputs: { success: bool },
    gas: WRITE_GAS,
    mutability: 'nonpayable',
    run: (context, { delegatorAddress, maxRetrieve }) => {
      const zero = refuseZero(delegatorAddress, 'invalid delegator address:')
      if (zero !== undefined) return zero
      const { world, charge } = context
      const { maxValidators } = STAKING_PARAMS.get(world.native)
      if (maxRetrieve > BigInt(maxValidators)) {
        return revertWith(
          `maxRetrieve (${maxRetrieve}) parameter exceeds the maximum number of validators (${maxValidators})`,
        )
      }
      const refusal = requireCaller(context, delegatorAddress)
      if (refusal !== undefined) return refusal
      // all found before the first withdrawal: nothing may be written during a walk
      const operators: Address[] = []
      for (const { operator } of delegationsOf(world.native, delegatorAddress)) {
        if (operators.length >= maxRetrieve) break
        if (!charge(DISTRIBUTION_GAS.withdrawRewards)) return OUT_OF_GAS
        operators.push(operator)
      }
      let amount = 0n
      for (const operator of operators) {
        const paid = withdrawDelegationRewards(moduleContext(context), delegatorAddress, operator)
        if (isSdkError(paid)) return paid
        amount += paid
      }
      world.emitLog(events.CLAIM_REWARDS.log(DISTRIBUTION_ADDRESS, { delegatorAddress, amount }))
      return SUCCESS
    },
  }),
  defineFunction({
    name: 'setWithdrawAddress',
    inputs: { delegatorAddress: address, withdrawerAddress: string },
    outputs: { success: bool },
    gas: WRITE_GAS,
    mutability: 'nonpayable',
    run: (context, { delegatorAddress, withdrawerAddress }) => {
      const refusal =
        refuseZero(delegatorAddress, 'invalid delegator address:') ?? requireCaller(context, delegatorAddress)
      if (refusal !== undefined) return refusal
      const outcome = runMessage(context, messages.MsgSetWithdrawAddress, messages.MsgSetWithdrawAddressResponse, {
        delegatorAddress: toBech32(delegatorAddress),
        withdrawAddress: withdrawerAddress,
      })
      if (isFailure(outcome)) return outcome
      context.world.emitLog(
        events.SET_WITHDRAWER_ADDRESS.log(DISTRIBUTION_ADDRESS, {
          caller: delegatorAddress,
          withdrawerAddress: toBech32(parseAddress(withdrawerAddress)),
        }),
      )
      return SUCCESS
    },
  }),
  defineFunction({
    name: 'withdrawDelegatorRewards',
    inputs: { delegatorAddress: address, validatorAddress: string },
    outputs: { amount: Coins },
    gas: WRITE_GAS,
    mutability: 'nonpayable',
    run: (context, { delegatorAddress, validatorAddress }) => {
      const refusal =
        refuseZero(delegatorAddress, 'invalid delegator address:') ?? requireCaller(context, delegatorAddress)
      if (refusal !== undefined) return refusal
      const operator = readMessageOperator(validatorAddress)
      if (isSdkError(operator)) return operator
      const outcome = runMessage(
        context,
        messages.MsgWithdrawDelegatorReward,
        messages.MsgWithdrawDelegatorRewardResponse,
        { delegatorAddress: toBech32(delegatorAddress), validatorAddress },
      )
      if (isFailure(outcome)) return outcome
      const amount = acoinOf(outcome.amount)!
      context.world.emitLog(
        events.WITHDRAW_DELEGATOR_REWARD.log(DISTRIBUTION_ADDRESS, {
          delegatorAddress,
          validatorAddress: operator,
          amount,
        }),
      )
      return { amount: outcome.amount }
    },
  }),
  defineFunction({
    name: 'withdrawValidatorCommission',
    inputs: { validatorAddress: string },
    outputs: { amount: Coins },
    gas: WRITE_GAS,
    mutability: 'nonpayable',
    run: (context, { validatorAddress }) => {
      const operator = readMessageOperator(validatorAddress)
      if (isSdkError(operator)) return operator
      const refusal = requireCaller(context, operator)
      if (refusal !== undefined) return refusal
      const outcome = runMessage(
        context,
        messages.MsgWithdrawValidatorCommission,
        messages.MsgWithdrawValidatorCommissionResponse,
        { validatorAddress },
      )
      if (isFailure(outcome)) return outcome
      context.world.emitLog(
        events.WITHDRAW_VALIDATOR_COMMISSION.log(DISTRIBUTION_ADDRESS, {
          validatorAddress: toBech32(operator, BECH32_OPERATOR),
          commission: acoinOf(outcome.amount)!,
        }),
      )
      return { amount: outcome.amount }
    },
  }),
  defineFunction({
    name: 'fundCommunityPool',
    inputs: { depositor: address, amount: Coins },
    outputs: { success: bool },
    gas: WRITE_GAS,
    mutability: 'nonpayable',
    run: (context, { depositor, amount }) => {
      const refusal = refuseZero(depositor, 'invalid hex address address:') ?? requireCaller(context, depositor)
      if (refusal !== undefined) return refusal
      const coins = sortedCoins(amount)
      const outcome = runMessage(context, messages.MsgFundCommunityPool, messages.MsgFundCommunityPoolResponse, {
        depositor: toBech32(depositor),
        amount: coins,
      })
      if (isFailure(outcome)) return outcome
      for (const coin of coins) {
        context.world.emitLog(events.FUND_COMMUNITY_POOL.log(DISTRIBUTION_ADDRESS, { depositor, ...coin }))
      }
      return SUCCESS
    },
  }),
  defineFunction({
    name: 'depositValidatorRewardsPool',
    inputs: { depositor: address, validatorAddress: string, amount: Coins },
    outputs: { success: bool },
    gas: WRITE_GAS,
    mutability: 'nonpayable',
    run: (context, { depositor, validatorAddress, amount }) => {
      const refusal = refuseZero(depositor, 'invalid hex address address:') ?? requireCaller(context, depositor)
      if (refusal !== undefined) return refusal
      const operator = readMessageOperator(validatorAddress)
      if (isSdkError(operator)) return operator
      const coins = sortedCoins(amount)
      const outcome = runMessage(
        context,
        messages.MsgDepositValidatorRewardsPool,
        messages.MsgDepositValidatorRewardsPoolResponse,
        { depositor: toBech32(depositor), validatorAddress, amount: coins },
      )
      if (isFailure(outcome)) return outcome
      for (const coin of coins) {
        context.world.emitLog(
          events.DEPOSIT_VALIDATOR_REWARDS_POOL.log(DISTRIBUTION_ADDRESS, {
            depositor,
            validatorAddress: operator,
            ...coin,
          }),
        )
      }
      return SUCCESS
    },
  }),
]
