import type { ChainConfig, ConsensusTiming, EvidenceParams } from '../chain/chainConfig.ts'
import type { ConsensusChain } from './consensusState.ts'

/** What the genesis fixes for consensus. */
export interface EngineChain extends ConsensusChain {
  readonly genesisHash: Uint8Array
  /** milliseconds since the epoch: no block is earlier */
  readonly genesisTimeMs: number
  /** average distance between blocks */
  readonly intervalMs: number
  readonly timing: ConsensusTiming
  readonly evidence: EvidenceParams
}

/** @param maxGas consensus parameter block.max_gas */
export function engineChainOf(config: ChainConfig, appVersion: number, maxGas: number): EngineChain {
  const { chainId, genesisHash, genesisTimeMs, maxBlockBytes, blockIntervalMs, timing, evidence } = config
  return {
    chainId,
    genesisHash,
    genesisTimeMs,
    appVersion,
    params: { maxBytes: maxBlockBytes, maxGas },
    intervalMs: blockIntervalMs,
    timing,
    evidence,
  }
}
