import { parseAddress } from '../../primitives/address.ts'
import { defineMessage, embedded, string } from '../../primitives/protoSchema.ts'
import { requireAuthority } from '../gov/authority.ts'
import { defineHandler, type MessageHandler } from '../message.ts'
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
  defineHandler({
    type: AuthMsgUpdateParams,
    response: AuthMsgUpdateParamsResponse,
    aminoName: 'cosmos-sdk/x/auth/MsgUpdateParams',
    module: 'auth',
    signers: ({ authority }) => [parseAddress(authority)],
    validate: ({ params }) => validateAuthParams(params),
    gas: () => UPDATE_GAS,
    run: ({ world }, { authority, params }) => {
      const error = requireAuthority(authority)
      if (error !== undefined) return error
      AUTH_PARAMS.set(world.native, params)
      return new Uint8Array(0)
    },
  }),
]
