import {
  any,
  defineMessage,
  embedded,
  int64,
  integer,
  message,
  optionalDecimal,
  optionalInteger,
  string,
  timestamp,
  type ValueOf,
} from '../../primitives/protoSchema.ts'
import { Coin } from '../coin.ts'
import { CommissionRates, Description, Params } from './types.ts'

/** Messages of cosmos/staking/v1beta1/tx.proto and their answers. */

export const MsgCreateValidator = defineMessage('cosmos.staking.v1beta1.MsgCreateValidator', {
  description: embedded(1, Description),
  /** absent is refused: it is not a commission of 0 */
  commission: message(2, CommissionRates),
  minSelfDelegation: integer(3),
  /** without effect: the operator is the delegator */
  delegatorAddress: string(4),
  validatorAddress: string(5),
  pubkey: any(6),
  value: embedded(7, Coin),
})
export type MsgCreateValidator = ValueOf<typeof MsgCreateValidator>
export const MsgCreateValidatorResponse = defineMessage('cosmos.staking.v1beta1.MsgCreateValidatorResponse', {})

export const MsgEditValidator = defineMessage('cosmos.staking.v1beta1.MsgEditValidator', {
  description: embedded(1, Description),
  validatorAddress: string(2),
  commissionRate: optionalDecimal(3),
  minSelfDelegation: optionalInteger(4),
})
export type MsgEditValidator = ValueOf<typeof MsgEditValidator>
export const MsgEditValidatorResponse = defineMessage('cosmos.staking.v1beta1.MsgEditValidatorResponse', {})

export const MsgDelegate = defineMessage('cosmos.staking.v1beta1.MsgDelegate', {
  delegatorAddress: string(1),
  validatorAddress: string(2),
  amount: embedded(3, Coin),
})
export type MsgDelegate = ValueOf<typeof MsgDelegate>
export const MsgDelegateResponse = defineMessage('cosmos.staking.v1beta1.MsgDelegateResponse', {})

export const MsgBeginRedelegate = defineMessage('cosmos.staking.v1beta1.MsgBeginRedelegate', {
  delegatorAddress: string(1),
  validatorSrcAddress: string(2),
  validatorDstAddress: string(3),
  amount: embedded(4, Coin),
})
export type MsgBeginRedelegate = ValueOf<typeof MsgBeginRedelegate>
export const MsgBeginRedelegateResponse = defineMessage('cosmos.staking.v1beta1.MsgBeginRedelegateResponse', {
  completionTime: timestamp(1),
})

export const MsgUndelegate = defineMessage('cosmos.staking.v1beta1.MsgUndelegate', {
  delegatorAddress: string(1),
  validatorAddress: string(2),
  amount: embedded(3, Coin),
})
export type MsgUndelegate = ValueOf<typeof MsgUndelegate>
export const MsgUndelegateResponse = defineMessage('cosmos.staking.v1beta1.MsgUndelegateResponse', {
  completionTime: timestamp(1),
  amount: embedded(2, Coin),
})

export const MsgCancelUnbondingDelegation = defineMessage('cosmos.staking.v1beta1.MsgCancelUnbondingDelegation', {
  delegatorAddress: string(1),
  validatorAddress: string(2),
  /** at most what is left of the entry */
  amount: embedded(3, Coin),
  creationHeight: int64(4),
})
export type MsgCancelUnbondingDelegation = ValueOf<typeof MsgCancelUnbondingDelegation>
export const MsgCancelUnbondingDelegationResponse = defineMessage(
  'cosmos.staking.v1beta1.MsgCancelUnbondingDelegationResponse',
  {},
)

export const MsgUpdateParams = defineMessage('cosmos.staking.v1beta1.MsgUpdateParams', {
  authority: string(1),
  params: embedded(2, Params),
})
export type MsgUpdateParams = ValueOf<typeof MsgUpdateParams>
export const MsgUpdateParamsResponse = defineMessage('cosmos.staking.v1beta1.MsgUpdateParamsResponse', {})
