import type { Genesis } from '../../chain/genesisSchema.ts'
import type { ModuleContext } from '../context.ts'
import { CONSENSUS_PARAMS } from './params.ts'

/** Writes the module's part of block 0: the consensus parameters of the genesis, which was checked before. */
export function initConsensus({ world }: ModuleContext, params: Genesis['consensus']['params']): void {
  const { block, evidence, validator, version, abci } = params
  CONSENSUS_PARAMS.set(world.native, {
    block: { maxBytes: BigInt(block.max_bytes), maxGas: BigInt(block.max_gas) },
    evidence: {
      maxAgeNumBlocks: BigInt(evidence.max_age_num_blocks),
      maxAgeDuration: BigInt(evidence.max_age_duration),
      maxBytes: BigInt(evidence.max_bytes),
    },
    validator: { pubKeyTypes: validator.pub_key_types },
    version: { app: BigInt(version.app) },
    abci: { voteExtensionsEnableHeight: BigInt(abci.vote_extensions_enable_height) },
  })
}
