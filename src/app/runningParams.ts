import type { ChainConfig } from '../chain/chainConfig.ts'
import { CONSENSUS_PARAMS, maxBlockGas } from '../modules/consensus/params.ts'
import { feeMarketOf } from '../modules/feemarket/params.ts'
import type { NativeStore } from '../state/world.ts'

/** What governance can change of the genesis' rules for Ethereum blocks. */
export type RunningParams = Pick<ChainConfig, 'blockGasLimit' | 'feeMarket'>

/**
 * The parameters of the block after the one whose state this is. States without native modules, which only conformance chains
 * have, keep those of the genesis.
 */
export function runningParams(native: Pick<NativeStore, 'get'>, genesis: RunningParams): RunningParams {
  if (CONSENSUS_PARAMS.find(native) === undefined) return genesis
  return { blockGasLimit: maxBlockGas(native), feeMarket: feeMarketOf(native, genesis.feeMarket) }
}
