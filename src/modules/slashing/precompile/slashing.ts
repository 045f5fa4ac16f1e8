import { BECH32_CONSENSUS, BECH32_OPERATOR, parseAddress, toBech32 } from '../../../primitives/address.ts'
import { defineEvents } from '../../precompileFunctions/abi/codec.ts'
import { type AbiValue, address, array, bool, int64, tuple } from '../../precompileFunctions/abi/types.ts'
import {
  createPrecompile,
  defineFunction,
  lowAddress,
  revertWith,
  type TabledPrecompile,
} from '../../precompileFunctions/dispatch.ts'
import {
  defineTransaction,
  moduleContext,
  queryError,
  requireCaller,
  SUCCESS,
} from '../../precompileFunctions/nativeCall.ts'
import { answerPage } from '../../precompileFunctions/page.ts'
import { Dec, decTuple, PageRequest, PageResponse } from '../../precompileFunctions/types.ts'
import { MsgUnjail, MsgUnjailResponse } from '../messages.ts'
import { SLASHING_PARAMS } from '../params.ts'
import { signingInfo, signingInfos, type ValidatorSigningInfo } from '../signingInfo.ts'

/** The record and the number of missed blocks. */
const INFO_GAS = 5_000n
const PARAMS_GAS = 3_000n
const NANOS = 1_000_000_000n

const EVENTS = defineEvents({ ValidatorUnjailed: { indexed: { validator: address }, data: {} } })

const SigningInfo = tuple({
  validatorAddress: address,
  startHeight: int64,
  indexOffset: int64,
  jailedUntil: int64,
  tombstoned: bool,
  missedBlocksCounter: int64,
})

const Params = tuple({
  signedBlocksWindow: int64,
  minSignedPerWindow: Dec,
  downtimeJailDuration: int64,
  slashFractionDoubleSign: Dec,
  slashFractionDowntime: Dec,
})

/** Liveness of validators: contracts/ISlashing.sol. Times are seconds. */
export const slashing: TabledPrecompile = createPrecompile(lowAddress(0x806), {
  events: EVENTS,
  functions: [
    defineTransaction({
      name: 'unjail',
      inputs: { validatorAddress: address },
      outputs: { success: bool },
      type: MsgUnjail,
      response: MsgUnjailResponse,
      prepare: (context, { validatorAddress }) =>
        requireCaller(context, validatorAddress) ?? {
          message: { validatorAddr: toBech32(validatorAddress, BECH32_OPERATOR) },
        },
      finish: ({ emit }, { validatorAddress }) => {
        emit(EVENTS.ValidatorUnjailed, { validator: validatorAddress })
        return SUCCESS
      },
    }),
    defineFunction({
      name: 'getSigningInfo',
      inputs: { consAddress: address },
      outputs: { signingInfo: SigningInfo },
      gas: INFO_GAS,
      mutability: 'view',
      run: (context, { consAddress }) => {
        if (consAddress.every((byte) => byte === 0)) return revertWith('invalid consensus address')
        const info = signingInfo(moduleContext(context), consAddress)
        if (info === undefined) {
          const name = toBech32(consAddress, BECH32_CONSENSUS)
          return queryError('NotFound', `SigningInfo not found for validator ${name}`)
        }
        return { signingInfo: infoTuple(info) }
      },
    }),
    defineFunction({
      name: 'getSigningInfos',
      inputs: { pagination: PageRequest },
      outputs: { signingInfos: array(SigningInfo), pageResponse: PageResponse },
      gas: PARAMS_GAS,
      mutability: 'view',
      run: (context, { pagination }) =>
        answerPage(context, pagination, 'signingInfos', {
          walk: (start, reverse) => signingInfos(moduleContext(context), { ...(start && { start }), reverse }),
          isKey: (key) => key.length === 20,
          itemGas: INFO_GAS,
          toTuple: infoTuple,
        }),
    }),
    defineFunction({
      name: 'getParams',
      inputs: {},
      outputs: { params: Params },
      gas: PARAMS_GAS,
      mutability: 'view',
      run: ({ world }) => {
        const params = SLASHING_PARAMS.get(world.native)
        return {
          params: {
            signedBlocksWindow: params.signedBlocksWindow,
            minSignedPerWindow: decTuple(params.minSignedPerWindow),
            downtimeJailDuration: params.downtimeJailDuration / NANOS,
            slashFractionDoubleSign: decTuple(params.slashFractionDoubleSign),
            slashFractionDowntime: decTuple(params.slashFractionDowntime),
          },
        }
      },
    }),
  ],
})

function infoTuple({ address: bech32, jailedUntil, ...info }: ValidatorSigningInfo): AbiValue<typeof SigningInfo> {
  return { ...info, validatorAddress: parseAddress(bech32, BECH32_CONSENSUS), jailedUntil: jailedUntil / NANOS }
}
