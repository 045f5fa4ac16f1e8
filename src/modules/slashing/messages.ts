import { BECH32_OPERATOR, parseAddress } from '../../primitives/address.ts'
import { defineMessage, embedded, string, type ValueOf } from '../../primitives/protoSchema.ts'
import { requireAuthority } from '../gov/authority.ts'
import { defineHandler, type MessageHandler } from '../message.ts'
import { SLASHING_GAS } from './gas.ts'
import { clearAllMissed } from './missedBlocks.ts'
import { SLASHING_PARAMS, SlashingParams, validateSlashingParams } from './params.ts'
import { unjailValidator } from './unjail.ts'

export const MsgUnjail = defineMessage('cosmos.slashing.v1beta1.MsgUnjail', { validatorAddr: string(1) })
export type MsgUnjail = ValueOf<typeof MsgUnjail>
export const MsgUnjailResponse = defineMessage('cosmos.slashing.v1beta1.MsgUnjailResponse', {})

export const MsgUpdateParams = defineMessage('cosmos.slashing.v1beta1.MsgUpdateParams', {
  authority: string(1),
  params: embedded(2, SlashingParams),
})
export type MsgUpdateParams = ValueOf<typeof MsgUpdateParams>
export const MsgUpdateParamsResponse = defineMessage('cosmos.slashing.v1beta1.MsgUpdateParamsResponse', {})

const EMPTY_ANSWER = new Uint8Array(0)

/** All of x/slashing/keeper/msg_server.go. */
export const SLASHING_MESSAGES: readonly MessageHandler[] = [
  defineHandler<MsgUnjail>({
    type: MsgUnjail,
    response: MsgUnjailResponse,
    aminoName: 'cosmos-sdk/MsgUnjail',
    module: 'slashing',
    signers: ({ validatorAddr }) => [parseAddress(validatorAddr, BECH32_OPERATOR)],
    validate: ({ validatorAddr }) => {
      parseAddress(validatorAddr, BECH32_OPERATOR)
      return undefined
    },
    gas: () => SLASHING_GAS.unjail,
    run: (context, { validatorAddr }) =>
      unjailValidator(context, parseAddress(validatorAddr, BECH32_OPERATOR)) ?? EMPTY_ANSWER,
  }),
  defineHandler<MsgUpdateParams>({
    type: MsgUpdateParams,
    response: MsgUpdateParamsResponse,
    aminoName: 'cosmos-sdk/x/slashing/MsgUpdateParams',
    module: 'slashing',
    signers: ({ authority }) => [parseAddress(authority)],
    validate: ({ authority }) => {
      parseAddress(authority)
      return undefined
    },
    gas: () => SLASHING_GAS.updateParams,
    run: ({ world: { native } }, { authority, params }) => {
      const refused = requireAuthority(authority) ?? validateSlashingParams(params)
      if (refused !== undefined) return refused
      if (params.signedBlocksWindow !== SLASHING_PARAMS.get(native).signedBlocksWindow) clearAllMissed(native)
      SLASHING_PARAMS.set(native, params)
      return EMPTY_ANSWER
    },
  }),
]
