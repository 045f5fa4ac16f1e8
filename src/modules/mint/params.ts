import { ONE } from '../../primitives/decimal.ts'
import { decimal, defineMessage, string, uint64, type ValueOf } from '../../primitives/protoSchema.ts'
import { BASE_DENOM } from '../coin.ts'
import { defineParams } from '../params.ts'
import { type SdkError, sdkError } from '../sdkError.ts'

/** cosmos.mint.v1beta1.Params */
export const MintParams = defineMessage('cosmos.mint.v1beta1.Params', {
  mintDenom: string(1),
  inflationRateChange: decimal(2),
  inflationMax: decimal(3),
  inflationMin: decimal(4),
  goalBonded: decimal(5),
  blocksPerYear: uint64(6),
})
export type MintParams = ValueOf<typeof MintParams>

/** Under the SDK's ParamsKey (x/mint/types/keys.go). */
export const MINT_PARAMS = defineParams('mint', Uint8Array.of(0x01), MintParams)

/** From a block in 9 hours, to one each 3 ms. */
const MIN_BLOCKS_PER_YEAR = 1_000n
const MAX_BLOCKS_PER_YEAR = 10n ** 10n

/** Checks parameters by Validate of x/mint/types/params.go, and this chain's own bounds. */
export function validateMintParams(params: MintParams): SdkError | undefined {
  const { mintDenom, inflationMax, inflationMin, goalBonded, blocksPerYear } = params
  if (mintDenom !== BASE_DENOM) return wrong(`only ${BASE_DENOM} can be minted`)
  for (const name of ['inflationRateChange', 'inflationMax', 'inflationMin'] as const) {
    if (params[name] < 0n || params[name] > ONE) return wrong(`${name} must be from 0 to 1`)
  }
  if (goalBonded <= 0n || goalBonded > ONE) return wrong('goalBonded must be above 0 and at most 1')
  if (inflationMax < inflationMin) return wrong('inflationMax must not be below inflationMin')
  if (blocksPerYear === 0n) return wrong('blocksPerYear must be positive')
  if (blocksPerYear < MIN_BLOCKS_PER_YEAR || blocksPerYear > MAX_BLOCKS_PER_YEAR) {
    return wrong(`blocksPerYear must be from ${MIN_BLOCKS_PER_YEAR} to ${MAX_BLOCKS_PER_YEAR}`)
  }
  return undefined
}

function wrong(reason: string): SdkError {
  return sdkError('invalidRequest', reason)
}
