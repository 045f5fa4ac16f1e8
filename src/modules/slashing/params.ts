import { ONE, round } from '../../primitives/decimal.ts'
import { decimalBytes, defineMessage, duration, int64, type ValueOf } from '../../primitives/protoSchema.ts'
import { defineParams } from '../params.ts'
import { type SdkError, sdkError } from '../sdkError.ts'

/** cosmos.slashing.v1beta1.Params */
export const SlashingParams = defineMessage('cosmos.slashing.v1beta1.Params', {
  signedBlocksWindow: int64(1),
  minSignedPerWindow: decimalBytes(2),
  /** nanoseconds */
  downtimeJailDuration: duration(3),
  slashFractionDoubleSign: decimalBytes(4),
  slashFractionDowntime: decimalBytes(5),
})
export type SlashingParams = ValueOf<typeof SlashingParams>

/** Under the SDK's ParamsKey (x/slashing/types/keys.go). */
export const SLASHING_PARAMS = defineParams('slashing', Uint8Array.of(0x00), SlashingParams)

/** Returns the number of blocks of a window that a validator may miss. */
export function maxMissed({ signedBlocksWindow, minSignedPerWindow }: SlashingParams): bigint {
  return signedBlocksWindow - round(minSignedPerWindow * signedBlocksWindow)
}

/** Missed blocks are a bit each, which a jailing deletes: in at most 489 records. */
const MAX_WINDOW = 500_000n
/** Go's time.Duration is an int64; the end of a longer jail could not be stored as a time. */
const MAX_DURATION = 2n ** 63n - 1n

/** Checks parameters by Validate of x/slashing/types/params.go. */
export function validateSlashingParams(params: SlashingParams): SdkError | undefined {
  if (params.signedBlocksWindow <= 0n) return wrong('signed blocks window must be positive')
  if (params.signedBlocksWindow > MAX_WINDOW) return wrong(`signed blocks window cannot be more than ${MAX_WINDOW}`)
  if (params.downtimeJailDuration <= 0n) return wrong('downtime jail duration must be positive')
  if (params.downtimeJailDuration > MAX_DURATION) return wrong('downtime jail duration is out of range')
  for (const name of ['minSignedPerWindow', 'slashFractionDoubleSign', 'slashFractionDowntime'] as const) {
    if (params[name] < 0n || params[name] > ONE) return wrong(`${name} must be from 0 to 1`)
  }
  return undefined
}

function wrong(reason: string): SdkError {
  return sdkError('invalidRequest', reason)
}
