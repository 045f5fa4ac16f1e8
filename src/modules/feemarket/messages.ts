import { defineMessage, embedded, string } from '../../primitives/protoSchema.ts'
import type { MessageHandler } from '../message.ts'
import { updateParamsHandler } from '../updateParams.ts'
import { FEEMARKET_PARAMS, FeeMarketParams, validateFeeMarketParams } from './params.ts'

export const MsgUpdateParams = defineMessage('cosmos.evm.feemarket.v1.MsgUpdateParams', {
  authority: string(1),
  params: embedded(2, FeeMarketParams),
})
const MsgUpdateParamsResponse = defineMessage('cosmos.evm.feemarket.v1.MsgUpdateParamsResponse', {})

const UPDATE_GAS = 20_000n

/** The fee market's messages (x/feemarket/keeper/msg_server.go); a change takes effect in the next block. */
export const FEEMARKET_MESSAGES: readonly MessageHandler[] = [
  updateParamsHandler<FeeMarketParams>({
    type: MsgUpdateParams,
    response: MsgUpdateParamsResponse,
    aminoName: 'cosmos/evm/x/feemarket/MsgUpdateParams',
    module: 'feemarket',
    gas: UPDATE_GAS,
    validate: (params) => validateFeeMarketParams(params),
    check: (params, native) => validateFeeMarketParams(params, FEEMARKET_PARAMS.get(native)),
    set: FEEMARKET_PARAMS.set,
  }),
]
