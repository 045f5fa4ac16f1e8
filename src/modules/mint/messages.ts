import { parseAddress } from '../../primitives/address.ts'
import { defineMessage, embedded, string, type ValueOf } from '../../primitives/protoSchema.ts'
import { requireAuthority } from '../gov/authority.ts'
import { defineHandler, type MessageHandler } from '../message.ts'
import { MINT_PARAMS, MintParams, validateMintParams } from './params.ts'

export const MsgUpdateParams = defineMessage('cosmos.mint.v1beta1.MsgUpdateParams', {
  authority: string(1),
  params: embedded(2, MintParams),
})
export type MsgUpdateParams = ValueOf<typeof MsgUpdateParams>
export const MsgUpdateParamsResponse = defineMessage('cosmos.mint.v1beta1.MsgUpdateParamsResponse', {})

const UPDATE_PARAMS_GAS = 12_000n

/** All of x/mint/keeper/msg_server.go. */
export const MINT_MESSAGES: readonly MessageHandler[] = [
  defineHandler<MsgUpdateParams>({
    type: MsgUpdateParams,
    response: MsgUpdateParamsResponse,
    aminoName: 'cosmos-sdk/x/mint/MsgUpdateParams',
    module: 'mint',
    signers: ({ authority }) => [parseAddress(authority)],
    validate: ({ authority }) => {
      parseAddress(authority)
      return undefined
    },
    gas: () => UPDATE_PARAMS_GAS,
    run: ({ world }, { authority, params }) => {
      const refused = requireAuthority(authority) ?? validateMintParams(params)
      if (refused !== undefined) return refused
      MINT_PARAMS.set(world.native, params)
      return new Uint8Array(0)
    },
  }),
]
