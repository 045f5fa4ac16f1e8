import type { NativeStore } from '../../state/world.ts'
import { SLASHING_PARAMS, type SlashingParams } from './params.ts'

/** Writes the module's part of block 0. Signing infos begin with the validators, for which staking calls the hooks. */
export function initSlashing(native: Pick<NativeStore, 'set'>, params: SlashingParams): void {
  SLASHING_PARAMS.set(native, params)
}
