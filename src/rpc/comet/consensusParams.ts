import type { ChainConfig } from '../../chain/chainConfig.ts'
import { readHeight, type WithChain } from './chain.ts'
import { int64 } from './params.ts'
import { type CometMethod, defineCometMethod } from './table.ts'
import { latestHeight } from './validators.ts'

export type ConsensusParamsConfig = Pick<ChainConfig, 'maxBlockBytes' | 'blockGasLimit' | 'evidence'>

/** `consensus_params` (rpc/core/consensus.go): the genesis' at every height, but for max_gas, which governance may change. */
export function createConsensusParamsMethod(
  config: ConsensusParamsConfig,
  withChain: WithChain,
  isCatchingUp: () => boolean,
): CometMethod {
  return defineCometMethod({
    name: 'consensus_params',
    params: [{ name: 'height', type: int64 }],
    run: (asked) => {
      const head = withChain((chain) => chain.headHeight)
      const height = readHeight(asked, latestHeight(head, isCatchingUp()), 1)
      // The next block has no header yet, nearly always the same limit.
      const header = withChain((chain) => chain.header(Math.min(height, head)))
      const blockGasLimit = header?.gasLimit ?? config.blockGasLimit
      return { block_height: String(height), consensus_params: consensusParamsJson({ ...config, blockGasLimit }) }
    },
  })
}

/** types.ConsensusParams */
function consensusParamsJson({ maxBlockBytes, blockGasLimit, evidence }: ConsensusParamsConfig) {
  return {
    block: { max_bytes: String(maxBlockBytes), max_gas: blockGasLimit.toString() },
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
