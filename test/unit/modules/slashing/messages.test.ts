import * as theirs from 'cosmjs-types/cosmos/slashing/v1beta1/slashing'
import * as theirMessages from 'cosmjs-types/cosmos/slashing/v1beta1/tx'
import fc from 'fast-check'
import { it } from 'vitest'
import * as ourMessages from '../../../../src/modules/slashing/messages.ts'
import { SlashingParams } from '../../../../src/modules/slashing/params.ts'
import { ValidatorSigningInfo } from '../../../../src/modules/slashing/signingInfo.ts'
import { count, decimals, expectSameWire, text, wireCase } from '../../../support/modules/wireCases.ts'

const params = fc.record({
  signedBlocksWindow: count,
  minSignedPerWindow: decimals,
  downtimeJailDuration: fc.bigInt(1n, 10n ** 18n),
  slashFractionDoubleSign: decimals,
  slashFractionDowntime: decimals,
})
const info = fc.record({
  address: text,
  startHeight: count,
  indexOffset: count,
  jailedUntil: fc.bigInt(1n, 10n ** 18n),
  tombstoned: fc.constant(true),
  missedBlocksCounter: count,
})

const CASES = [
  wireCase(SlashingParams, theirs.Params, params),
  wireCase(ValidatorSigningInfo, theirs.ValidatorSigningInfo, info),
  wireCase(ourMessages.MsgUnjail, theirMessages.MsgUnjail, fc.record({ validatorAddr: text })),
  wireCase(ourMessages.MsgUpdateParams, theirMessages.MsgUpdateParams, fc.record({ authority: text, params })),
  wireCase(ourMessages.MsgUnjailResponse, theirMessages.MsgUnjailResponse, fc.constant({})),
  wireCase(ourMessages.MsgUpdateParamsResponse, theirMessages.MsgUpdateParamsResponse, fc.constant({})),
]

it.each(CASES.map((one) => [one.ours.name, one] as const))('%s has the form that cosmjs-types writes', (_, one) => {
  expectSameWire(one)
})
