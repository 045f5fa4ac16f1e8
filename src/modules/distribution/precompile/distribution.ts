import { type Address, BECH32_OPERATOR, parseAddress, toBech32 } from '../../../primitives/address.ts'
import { acoinOf } from '../../coin.ts'
import { defineEvents } from '../../precompileFunctions/abi/codec.ts'
import { address, bool, string, uint32, uint256 } from '../../precompileFunctions/abi/types.ts'
import {
  createPrecompile,
  defineFunction,
  isFailure,
  lowAddress,
  OUT_OF_GAS,
  type PrecompileFunction,
  revertWith,
  type TabledPrecompile,
} from '../../precompileFunctions/dispatch.ts'
import {
  defineTransaction,
  moduleContext,
  readMessageOperator,
  refuseZero,
  requireActor,
  requireCaller,
  SUCCESS,
  WRITE_GAS,
} from '../../precompileFunctions/nativeCall.ts'
import { Coins, sortedCoins } from '../../precompileFunctions/types.ts'
import { isSdkError } from '../../sdkError.ts'
import { delegationsOf } from '../../staking/delegations.ts'
import { STAKING_PARAMS } from '../../staking/params.ts'
import { withdrawDelegationRewards } from '../delegationRewards.ts'
import * as messages from '../messages.ts'
import { DISTRIBUTION_GAS } from '../messages.ts'
import { DISTRIBUTION_QUERIES } from './queries.ts'

const EVENTS = defineEvents({
  ClaimRewards: { indexed: { delegatorAddress: address }, data: { amount: uint256 } },
  SetWithdrawerAddress: { indexed: { caller: address }, data: { withdrawerAddress: string } },
  WithdrawDelegatorReward: {
    indexed: { delegatorAddress: address, validatorAddress: address },
    data: { amount: uint256 },
  },
  /** the topic is the hash of the bech32 address */
  WithdrawValidatorCommission: { indexed: { validatorAddress: string }, data: { commission: uint256 } },
  FundCommunityPool: { indexed: { depositor: address }, data: { denom: string, amount: uint256 } },
  DepositValidatorRewardsPool: {
    indexed: { depositor: address, validatorAddress: address },
    data: { denom: string, amount: uint256 },
  },
})

/** The functions of IDistribution that change something. */
const TRANSACTIONS: readonly PrecompileFunction[] = [
  defineFunction({
    name: 'claimRewards',
    inputs: { delegatorAddress: address, maxRetrieve: uint32 },
    outputs: { success: bool },
    gas: WRITE_GAS,
    mutability: 'nonpayable',
    run: (context, { delegatorAddress, maxRetrieve }) => {
      const zero = refuseZero(delegatorAddress, 'invalid delegator address:')
      if (zero !== undefined) return zero
      const { world, charge, emit } = context
      const { maxValidators } = STAKING_PARAMS.get(world.native)
      if (maxRetrieve > BigInt(maxValidators)) {
        return revertWith(
          `maxRetrieve (${maxRetrieve}) parameter exceeds the maximum number of validators (${maxValidators})`,
        )
      }
      const refusal = requireCaller(context, delegatorAddress)
      if (refusal !== undefined) return refusal
      // All are found before the first withdrawal: nothing may be written during a walk over
      // entries.
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
      emit(EVENTS.ClaimRewards, { delegatorAddress, amount })
      return SUCCESS
    },
  }),
  defineTransaction({
    name: 'setWithdrawAddress',
    inputs: { delegatorAddress: address, withdrawerAddress: string },
    outputs: { success: bool },
    type: messages.MsgSetWithdrawAddress,
    response: messages.MsgSetWithdrawAddressResponse,
    prepare: (context, { delegatorAddress, withdrawerAddress }) =>
      requireActor(context, delegatorAddress, 'invalid delegator address:') ?? {
        message: { delegatorAddress: toBech32(delegatorAddress), withdrawAddress: withdrawerAddress },
      },
    finish: ({ emit }, { delegatorAddress, withdrawerAddress }) => {
      emit(EVENTS.SetWithdrawerAddress, {
        caller: delegatorAddress,
        withdrawerAddress: toBech32(parseAddress(withdrawerAddress)),
      })
      return SUCCESS
    },
  }),
  defineTransaction({
    name: 'withdrawDelegatorRewards',
    inputs: { delegatorAddress: address, validatorAddress: string },
    outputs: { amount: Coins },
    type: messages.MsgWithdrawDelegatorReward,
    response: messages.MsgWithdrawDelegatorRewardResponse,
    prepare: (context, { delegatorAddress, validatorAddress }) => {
      const operator =
        requireActor(context, delegatorAddress, 'invalid delegator address:') ?? readMessageOperator(validatorAddress)
      if (isFailure(operator)) return operator
      return { message: { delegatorAddress: toBech32(delegatorAddress), validatorAddress }, operator }
    },
    finish: ({ emit }, { delegatorAddress }, { amount }, { operator }) => {
      const acoin = acoinOf(amount)!
      emit(EVENTS.WithdrawDelegatorReward, { delegatorAddress, validatorAddress: operator, amount: acoin })
      return { amount }
    },
  }),
  defineTransaction({
    name: 'withdrawValidatorCommission',
    inputs: { validatorAddress: string },
    outputs: { amount: Coins },
    type: messages.MsgWithdrawValidatorCommission,
    response: messages.MsgWithdrawValidatorCommissionResponse,
    prepare: (context, { validatorAddress }) => {
      const operator = readMessageOperator(validatorAddress)
      if (isFailure(operator)) return operator
      return requireCaller(context, operator) ?? { message: { validatorAddress }, operator }
    },
    finish: ({ emit }, _values, { amount }, { operator }) => {
      emit(EVENTS.WithdrawValidatorCommission, {
        validatorAddress: toBech32(operator, BECH32_OPERATOR),
        commission: acoinOf(amount)!,
      })
      return { amount }
    },
  }),
  defineTransaction({
    name: 'fundCommunityPool',
    inputs: { depositor: address, amount: Coins },
    outputs: { success: bool },
    type: messages.MsgFundCommunityPool,
    response: messages.MsgFundCommunityPoolResponse,
    prepare: (context, { depositor, amount }) =>
      requireActor(context, depositor, 'invalid hex address address:') ?? {
        message: { depositor: toBech32(depositor), amount: sortedCoins(amount) },
      },
    finish: ({ emit }, { depositor }, _response, { message }) => {
      for (const coin of message.amount) emit(EVENTS.FundCommunityPool, { depositor, ...coin })
      return SUCCESS
    },
  }),
  defineTransaction({
    name: 'depositValidatorRewardsPool',
    inputs: { depositor: address, validatorAddress: string, amount: Coins },
    outputs: { success: bool },
    type: messages.MsgDepositValidatorRewardsPool,
    response: messages.MsgDepositValidatorRewardsPoolResponse,
    prepare: (context, { depositor, validatorAddress, amount }) => {
      const operator =
        requireActor(context, depositor, 'invalid hex address address:') ?? readMessageOperator(validatorAddress)
      if (isFailure(operator)) return operator
      return {
        message: { depositor: toBech32(depositor), validatorAddress, amount: sortedCoins(amount) },
        operator,
      }
    },
    finish: ({ emit }, { depositor }, _response, { message, operator }) => {
      for (const coin of message.amount) {
        emit(EVENTS.DepositValidatorRewardsPool, { depositor, validatorAddress: operator, ...coin })
      }
      return SUCCESS
    },
  }),
]

/** Rewards, commissions and the community pool: contracts/IDistribution.sol. */
export const distribution: TabledPrecompile = createPrecompile(lowAddress(0x801), {
  events: EVENTS,
  functions: [...TRANSACTIONS, ...DISTRIBUTION_QUERIES],
})
