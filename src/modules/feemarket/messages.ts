import { parseAddress } from '../../primitives/address.ts'
import { defineMessage, embedded, string } from '../../primitives/protoSchema.ts'
import { requireAuthority } from '../gov/authority.ts'
import { defineHandler, type MessageHandler } from '../message.ts'
import { FEEMARKET_PARAMS, FeeMarketParams, validateFeeMarketParams } from './params.ts'

export const MsgUpdateParams = defineMessage('cosmos.evm.feemarket.v1.MsgUpdateParams', {
  authority: string(1),
  params: embedded(2, FeeMarketParams),
})
export const MsgUpdateParamsResponse = defineMessage('cosmos.evm.feemarket.v1.MsgUpdateParamsResponse', {})

const UPDATE_GAS = 20_000n

/** x/feemarket/keeper/msg_server.go; what it changes acts from the next block on. */
export const FEEMARKET_MESSAGES: readonly MessageHandler[] = [
  defineHandler({
    type: MsgUpdateParams,
    response: MsgUpdateParamsResponse,
    aminoName: 'cosmos/evm/x/feemarket/MsgUpdateParams',
    module: 'feemarket',
    signers: ({ authority }) => [parseAddress(authority)],
    validate: ({ params }) => validateFeeMarketParams(params),
    gas: () => UPDATE_GAS,
    run: ({ world: { native } }, { authority, params }) => {
      const refused = requireAuthority(authority) ?? validateFeeMarketParams(params, FEEMARKET_PARAMS.get(native))
      if (refused !== undefined) return refused
      FEEMARKET_PARAMS.set(native, params)
      return new Uint8Array(0)
    },
  }),
]
