import type { ChainConfig } from '../../../chain/genesis/chainConfig.ts'
import type { ChainReader } from '../../../chain/store/chainReader.ts'
import { runningParams } from '../../../execution/blockContext.ts'
import type { NodeView } from '../../../state/view.ts'
import type { JsonObject } from '../../format/json.ts'
import { cometFailure } from '../method.ts'

/** The rules of the genesis. */
export type ConsensusParamsConfig = Pick<ChainConfig, 'maxBlockBytes' | 'blockGasLimit' | 'feeMarket' | 'evidence'>

/** Source of a block's parameters. */
export interface ConsensusParamsView extends Pick<NodeView, 'stateAt'> {
  readonly chain: Pick<ChainReader, 'headHeight' | 'base' | 'header'>
}

/**
 * Formats types.ConsensusParams of block `height`, at most the one after the head: the genesis
 * parameters, but with max_gas as governance changed it.
 */
export function consensusParamsJson(
  view: ConsensusParamsView,
  config: ConsensusParamsConfig,
  height: number,
): JsonObject {
  const { maxBlockBytes, evidence } = config
  return {
    block: { max_bytes: String(maxBlockBytes), max_gas: maxGasOf(view, config, height).toString() },
    evidence: {
      max_age_num_blocks: String(evidence.maxAgeBlocks),
      max_age_duration: (BigInt(evidence.maxAgeMs) * 1_000_000n).toString(),
      max_bytes: String(evidence.maxBytes),
    },
    validator: { pub_key_types: ['ed25519'] },
    version: { app: '0' },
    abci: { vote_extensions_enable_height: '0' },
  }
}

/**
 * Formats the parameters that a block changed for the next one; null when it changed none. Zeros
 * are omitted, as Go does with protobuf.
 */
export function paramUpdatesJson(
  view: ConsensusParamsView,
  config: ConsensusParamsConfig,
  height: number,
): JsonObject | null {
  if (maxGasOf(view, config, height) === maxGasOf(view, config, height + 1)) return null
  return { ...consensusParamsJson(view, config, height + 1), version: {}, abci: {} }
}

function maxGasOf({ chain, stateAt }: ConsensusParamsView, config: ConsensusParamsConfig, height: number): bigint {
  const header = chain.header(height)
  if (header !== undefined) return header.gasLimit
  // The block after the head has no header yet; those of old blocks may have been removed.
  if (height <= chain.headHeight) throw cometFailure(`could not find consensus params for height #${height}`)
  const state = stateAt(chain.headHeight)
  return runningParams({ get: (key) => state.getNative(key) }, config).blockGasLimit
}
