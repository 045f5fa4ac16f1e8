import {
  any,
  defineMessage,
  duration,
  embedded,
  message,
  optionalTimestamp,
  repeated,
  string,
  timestamp,
  type ValueOf,
} from '../../primitives/protoSchema.ts'
import { Coin } from '../coin.ts'

/** cosmos.feegrant.v1beta1 */

export const BasicAllowance = defineMessage('cosmos.feegrant.v1beta1.BasicAllowance', {
  /** none: no limit */
  spendLimit: repeated(message(1, Coin)),
  /** absent: it never expires */
  expiration: optionalTimestamp(2),
})
export type BasicAllowance = ValueOf<typeof BasicAllowance>

export const PeriodicAllowance = defineMessage('cosmos.feegrant.v1beta1.PeriodicAllowance', {
  basic: embedded(1, BasicAllowance),
  period: duration(2),
  periodSpendLimit: repeated(message(3, Coin)),
  periodCanSpend: repeated(message(4, Coin)),
  periodReset: timestamp(5),
})
export type PeriodicAllowance = ValueOf<typeof PeriodicAllowance>

export const AllowedMsgAllowance = defineMessage('cosmos.feegrant.v1beta1.AllowedMsgAllowance', {
  allowance: any(1),
  allowedMessages: repeated(string(2)),
})
export type AllowedMsgAllowance = ValueOf<typeof AllowedMsgAllowance>

/** Allowances with their names in amino JSON. */
export const ALLOWANCE_TYPES = [
  { type: BasicAllowance, aminoName: 'cosmos-sdk/BasicAllowance' },
  { type: PeriodicAllowance, aminoName: 'cosmos-sdk/PeriodicAllowance' },
  { type: AllowedMsgAllowance, aminoName: 'cosmos-sdk/AllowedMsgAllowance' },
] as const

/** The grantee's fees are paid by the granter. */
export const FeeGrant = defineMessage('cosmos.feegrant.v1beta1.Grant', {
  granter: string(1),
  grantee: string(2),
  allowance: any(3),
})
export type FeeGrant = ValueOf<typeof FeeGrant>

export const MsgGrantAllowance = defineMessage('cosmos.feegrant.v1beta1.MsgGrantAllowance', {
  granter: string(1),
  grantee: string(2),
  allowance: any(3),
})
export const MsgGrantAllowanceResponse = defineMessage('cosmos.feegrant.v1beta1.MsgGrantAllowanceResponse', {})
export const MsgRevokeAllowance = defineMessage('cosmos.feegrant.v1beta1.MsgRevokeAllowance', {
  granter: string(1),
  grantee: string(2),
})
export const MsgRevokeAllowanceResponse = defineMessage('cosmos.feegrant.v1beta1.MsgRevokeAllowanceResponse', {})
/** Any account may send it. */
export const MsgPruneAllowances = defineMessage('cosmos.feegrant.v1beta1.MsgPruneAllowances', { pruner: string(1) })
export const MsgPruneAllowancesResponse = defineMessage('cosmos.feegrant.v1beta1.MsgPruneAllowancesResponse', {})
