import { defineEvent } from '../abi/event.ts'
import { address, string, uint256 } from '../abi/types.ts'

export const CLAIM_REWARDS = defineEvent('ClaimRewards', {
  indexed: { delegatorAddress: address },
  data: { amount: uint256 },
})
export const SET_WITHDRAWER_ADDRESS = defineEvent('SetWithdrawerAddress', {
  indexed: { caller: address },
  data: { withdrawerAddress: string },
})
export const WITHDRAW_DELEGATOR_REWARD = defineEvent('WithdrawDelegatorReward', {
  indexed: { delegatorAddress: address, validatorAddress: address },
  data: { amount: uint256 },
})
/** The topic has the hash of the bech32 address. */
export const WITHDRAW_VALIDATOR_COMMISSION = defineEvent('WithdrawValidatorCommission', {
  indexed: { validatorAddress: string },
  data: { commission: uint256 },
})
export const FUND_COMMUNITY_POOL = defineEvent('FundCommunityPool', {
  indexed: { depositor: address },
  data: { denom: string, amount: uint256 },
})
export const DEPOSIT_VALIDATOR_REWARDS_POOL = defineEvent('DepositValidatorRewardsPool', {
  indexed: { depositor: address, validatorAddress: address },
  data: { denom: string, amount: uint256 },
})
