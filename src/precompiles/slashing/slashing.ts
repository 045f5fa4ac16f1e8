import * as messages from '../../modules/slashing/messages.ts'
import { SLASHING_PARAMS } from '../../modules/slashing/params.ts'
import { signingInfo, signingInfos, type ValidatorSigningInfo } from '../../modules/slashing/signingInfo.ts'
import { BECH32_CONSENSUS, BECH32_OPERATOR, parseAddress, toBech32 } from '../../primitives/address.ts'
import { defineEvent } from '../abi/event.ts'
import type { AbiValue } from '../abi/type.ts'
import { address, array, bool, int64, tuple } from '../abi/types.ts'
import { SLASHING_ADDRESS } from '../addresses.ts'
import { Dec, decTuple } from '../coinTypes.ts'
import { createPrecompile, defineFunction, isFailure, revertWith, type TabledPrecompile } from '../dispatch.ts'
import { moduleContext, queryError, requireCaller, runMessage, WRITE_GAS } from '../nativeCall.ts'
import { PageRequest, PageResponse, readPage } from '../page.ts'

/** The record and the number of missed blocks. */
const INFO_GAS = 5_000n
const PARAMS_GAS = 3_000n
const NANOS = 1_000_000_000n

export const VALIDATOR_UNJAILED = defineEvent('ValidatorUnjailed', { indexed: { validator: address }, data: {} })

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
export const slashing: TabledPrecompile = createPrecompile(SLASHING_ADDRESS, [
  defineFunction({
    name: 'unjail',
    inputs: { validatorAddress: address },
    outputs: { success: bool },
    gas: WRITE_GAS,
    mutability: 'nonpayable',
    run: (context, { validatorAddress }) => {
      const refusal = requireCaller(context, validatorAddress)
      if (refusal !== undefined) return refusal
      const validatorAddr = toBech32(validatorAddress, BECH32_OPERATOR)
      const outcome = runMessage(context, messages.MsgUnjail, messages.MsgUnjailResponse, { validatorAddr })
      if (isFailure(outcome)) return outcome
      context.world.emitLog(VALIDATOR_UNJAILED.log(SLASHING_ADDRESS, { validator: validatorAddress }))
      return { success: true }
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
    run: (context, { pagination }) => {
      const page = readPage(context, pagination, {
        walk: (start, reverse) => signingInfos(moduleContext(context), { ...(start && { start }), reverse }),
        isKey: (key) => key.length === 20,
        itemGas: INFO_GAS,
      })
      if (isFailure(page)) return page
      return { signingInfos: page.items.map(infoTuple), pageResponse: page.pageResponse }
    },
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
])

function infoTuple({ address: bech32, jailedUntil, ...info }: ValidatorSigningInfo): AbiValue<typeof SigningInfo> {
  return { ...info, validatorAddress: parseAddress(bech32, BECH32_CONSENSUS), jailedUntil: jailedUntil / NANOS }
}
