import type { NativeStore } from '../../state/world.ts'
import { DISTRIBUTION_PARAMS, type DistributionParams } from './params.ts'

/** Writes the module's part of block 0. Rewards begin with the validators, for which staking calls the hooks. */
export function initDistribution(native: Pick<NativeStore, 'set'>, params: DistributionParams): void {
  DISTRIBUTION_PARAMS.set(native, params)
}
