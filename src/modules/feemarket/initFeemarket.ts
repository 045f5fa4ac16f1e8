import type { Genesis } from '../../chain/genesisSchema.ts'
import type { ModuleContext } from '../context.ts'
import { FEEMARKET_PARAMS, FeeMarketParams, validateFeeMarketParams } from './params.ts'

/**
 * Writes the module's part of block 0.
 * @throws Error when the genesis has parameters that cannot stand
 */
export function initFeemarket(
  { world }: ModuleContext,
  { params: json }: Pick<Genesis['app_state']['feemarket'], 'params'>,
): void {
  const params = FeeMarketParams.fromJson(json, { typeOf: () => undefined }, 'app_state.feemarket.params')
  const problem = validateFeeMarketParams(params)
  if (problem !== undefined) throw new Error(`app_state.feemarket.params: ${problem.message}`)
  FEEMARKET_PARAMS.set(world.native, params)
}
