import { defineParams } from '../../../src/modules/params.ts'
import { type SdkError, sdkError } from '../../../src/modules/sdkError.ts'
import { ONE, round } from '../../../src/primitives/decimal.ts'
import { decimal, defineMessage, duration, int64, type ValueOf } from '../../../src/primitives/protoSchema.ts'

/**
 * In the place of src/modules/slashing/params.ts: fractions are texts, not bytes, and the blocks that a validator may miss are a parameter of
 * their own.
 */
export const SlashingParams = defineMessage('cosmos.slashing.v1beta1.Params', {
  signedBlocksWindow: int64(1),
  minSignedPerWindow: decimal(2),
  downtimeJailDuration: duration(3),
  slashFractionDoubleSign: decimal(4),
  slashFractionDowntime: decimal(5),
  maxMissedBlocks: int64(6),
})
export type SlashingParams = ValueOf<typeof SlashingParams>

export const SLASHING_PARAMS = defineParams('slashing', Uint8Array.of(0x00), SlashingParams)

export function maxMissed({ maxMissedBlocks }: SlashingParams): bigint {
  return maxMissedBlocks
}

export function validateSlashingParams(params: SlashingParams): SdkError | undefined {
  const isRight =
    params.minSignedPerWindow <= ONE &&
    params.maxMissedBlocks === params.signedBlocksWindow - round(params.minSignedPerWindow * params.signedBlocksWindow)
  return isRight ? undefined : sdkError('invalidRequest', 'max_missed_blocks is wrong')
}
