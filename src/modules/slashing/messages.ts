import { BECH32_OPERATOR, parseAddress } from '../../primitives/address.ts'
import { defineMessage, embedded, string, type ValueOf } from '../../primitives/protoSchema.ts'
import { defineHandler, EMPTY_RESPONSE, type MessageHandler } from '../message.ts'
import { updateParamsHandler } from '../updateParams.ts'
import { unjailValidator } from './jail.ts'
import { SLASHING_PARAMS, SlashingParams, validateSlashingParams } from './params.ts'
import { clearAllMissed } from './signingInfo.ts'

export const MsgUnjail = defineMessage('cosmos.slashing.v1beta1.MsgUnjail', { validatorAddr: string(1) })
export type MsgUnjail = ValueOf<typeof MsgUnjail>
export const MsgUnjailResponse = defineMessage('cosmos.slashing.v1beta1.MsgUnjailResponse', {})

export const MsgUpdateParams = defineMessage('cosmos.slashing.v1beta1.MsgUpdateParams', {
  authority: string(1),
  params: embedded(2, SlashingParams),
})
export type MsgUpdateParams = ValueOf<typeof MsgUpdateParams>
export const MsgUpdateParamsResponse = defineMessage('cosmos.slashing.v1beta1.MsgUpdateParamsResponse', {})

/** Gas of the module's messages; unjailing puts a validator back into the order of powers. */
export const SLASHING_GAS = { unjail: 40_000n, updateParams: 12_000n } as const

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
      unjailValidator(context, parseAddress(validatorAddr, BECH32_OPERATOR)) ?? EMPTY_RESPONSE,
  }),
  updateParamsHandler<SlashingParams>({
    type: MsgUpdateParams,
    response: MsgUpdateParamsResponse,
    aminoName: 'cosmos-sdk/x/slashing/MsgUpdateParams',
    module: 'slashing',
    gas: SLASHING_GAS.updateParams,
    check: validateSlashingParams,
    set: (native, params) => {
      if (params.signedBlocksWindow !== SLASHING_PARAMS.get(native).signedBlocksWindow) clearAllMissed(native)
      SLASHING_PARAMS.set(native, params)
    },
  }),
]
