import { defineEvent } from '../abi/event.ts'
import { address, int256, uint256 } from '../abi/types.ts'

export const CREATE_VALIDATOR = defineEvent('CreateValidator', {
  indexed: { validatorAddress: address },
  data: { value: uint256 },
})
export const EDIT_VALIDATOR = defineEvent('EditValidator', {
  indexed: { validatorAddress: address },
  data: { commissionRate: int256, minSelfDelegation: int256 },
})
export const DELEGATE = defineEvent('Delegate', {
  indexed: { delegatorAddress: address, validatorAddress: address },
  data: { amount: uint256, newShares: uint256 },
})
export const UNBOND = defineEvent('Unbond', {
  indexed: { delegatorAddress: address, validatorAddress: address },
  data: { amount: uint256, completionTime: uint256 },
})
export const REDELEGATE = defineEvent('Redelegate', {
  indexed: { delegatorAddress: address, validatorSrcAddress: address, validatorDstAddress: address },
  data: { amount: uint256, completionTime: uint256 },
})
export const CANCEL_UNBONDING_DELEGATION = defineEvent('CancelUnbondingDelegation', {
  indexed: { delegatorAddress: address, validatorAddress: address },
  data: { amount: uint256, creationHeight: uint256 },
})
