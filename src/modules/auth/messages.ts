import { defineMessage, embedded, string } from '../../primitives/protoSchema.ts'
import type { MessageHandler } from '../message.ts'
import { updateParamsHandler } from '../updateParams.ts'
import { AUTH_PARAMS, AuthParams, validateAuthParams } from './params.ts'

const NAME = 'cosmos.auth.v1beta1'

export const AuthMsgUpdateParams = defineMessage(`${NAME}.MsgUpdateParams`, {
  authority: string(1),
  params: embedded(2, AuthParams),
})
export const AuthMsgUpdateParamsResponse = defineMessage(`${NAME}.MsgUpdateParamsResponse`, {})

const UPDATE_GAS = 10_000n

/** The auth module's messages (x/auth/keeper/msg_server.go). */
export const AUTH_MESSAGES: readonly MessageHandler[] = [
  updateParamsHandler<AuthParams>({
    type: AuthMsgUpdateParams,
    response: AuthMsgUpdateParamsResponse,
    aminoName: 'cosmos-sdk/x/auth/MsgUpdateParams',
    module: 'auth',
    gas: UPDATE_GAS,
    validate: validateAuthParams,
    set: AUTH_PARAMS.set,
  }),
]
