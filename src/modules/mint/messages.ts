import { defineMessage, embedded, string } from '../../primitives/protoSchema.ts'
import type { MessageHandler } from '../message.ts'
import { updateParamsHandler } from '../updateParams.ts'
import { MINT_PARAMS, MintParams, validateMintParams } from './params.ts'

export const MsgUpdateParams = defineMessage('cosmos.mint.v1beta1.MsgUpdateParams', {
  authority: string(1),
  params: embedded(2, MintParams),
})
export const MsgUpdateParamsResponse = defineMessage('cosmos.mint.v1beta1.MsgUpdateParamsResponse', {})

const UPDATE_PARAMS_GAS = 12_000n

/** All of x/mint/keeper/msg_server.go. */
export const MINT_MESSAGES: readonly MessageHandler[] = [
  updateParamsHandler<MintParams>({
    type: MsgUpdateParams,
    response: MsgUpdateParamsResponse,
    aminoName: 'cosmos-sdk/x/mint/MsgUpdateParams',
    module: 'mint',
    gas: UPDATE_PARAMS_GAS,
    check: validateMintParams,
    set: MINT_PARAMS.set,
  }),
]
