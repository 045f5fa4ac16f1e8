import {
  any,
  bytes,
  defineMessage,
  enumeration,
  message,
  oneOf,
  optionalTimestamp,
  repeated,
  string,
  type ValueOf,
} from '../../primitives/protoSchema.ts'
import { Coin } from '../coin.ts'

/** cosmos.authz.v1beta1, and the authorizations of bank and staking */

export const GenericAuthorization = defineMessage('cosmos.authz.v1beta1.GenericAuthorization', { msg: string(1) })

export const SendAuthorization = defineMessage('cosmos.bank.v1beta1.SendAuthorization', {
  spendLimit: repeated(message(1, Coin)),
  /** receivers; an empty list allows all */
  allowList: repeated(string(2)),
})
export type SendAuthorization = ValueOf<typeof SendAuthorization>

export const AUTHORIZATION_TYPE_NAMES = {
  AUTHORIZATION_TYPE_UNSPECIFIED: 0,
  AUTHORIZATION_TYPE_DELEGATE: 1,
  AUTHORIZATION_TYPE_UNDELEGATE: 2,
  AUTHORIZATION_TYPE_REDELEGATE: 3,
  AUTHORIZATION_TYPE_CANCEL_UNBONDING_DELEGATION: 4,
} as const

export const StakeAuthorizationValidators = defineMessage('cosmos.staking.v1beta1.StakeAuthorization.Validators', {
  address: repeated(string(1)),
})
export const StakeAuthorization = defineMessage('cosmos.staking.v1beta1.StakeAuthorization', {
  /** absent: any amount */
  maxTokens: message(1, Coin),
  allowList: oneOf(2, () => StakeAuthorizationValidators),
  denyList: oneOf(3, () => StakeAuthorizationValidators),
  authorizationType: enumeration(4, AUTHORIZATION_TYPE_NAMES),
})
export type StakeAuthorization = ValueOf<typeof StakeAuthorization>

/** Authorizations with their names in amino JSON. */
export const AUTHORIZATION_TYPES = [
  { type: GenericAuthorization, aminoName: 'cosmos-sdk/GenericAuthorization' },
  { type: SendAuthorization, aminoName: 'cosmos-sdk/SendAuthorization' },
  { type: StakeAuthorization, aminoName: 'cosmos-sdk/StakeAuthorization' },
] as const

export const Grant = defineMessage('cosmos.authz.v1beta1.Grant', {
  authorization: any(1),
  /** absent: it never expires */
  expiration: optionalTimestamp(2),
})
export type Grant = ValueOf<typeof Grant>

export const GrantAuthorization = defineMessage('cosmos.authz.v1beta1.GrantAuthorization', {
  granter: string(1),
  grantee: string(2),
  authorization: any(3),
  expiration: optionalTimestamp(4),
})

export const MsgGrant = defineMessage('cosmos.authz.v1beta1.MsgGrant', {
  granter: string(1),
  grantee: string(2),
  grant: message(3, Grant),
})
export const MsgGrantResponse = defineMessage('cosmos.authz.v1beta1.MsgGrantResponse', {})

export const MsgExec = defineMessage('cosmos.authz.v1beta1.MsgExec', { grantee: string(1), msgs: repeated(any(2)) })
export const MsgExecResponse = defineMessage('cosmos.authz.v1beta1.MsgExecResponse', { results: repeated(bytes(1)) })

export const MsgRevoke = defineMessage('cosmos.authz.v1beta1.MsgRevoke', {
  granter: string(1),
  grantee: string(2),
  msgTypeUrl: string(3),
})
export const MsgRevokeResponse = defineMessage('cosmos.authz.v1beta1.MsgRevokeResponse', {})
