import type { Genesis } from '../../chain/genesis/genesisSchema.ts'
import {
  defineMessage,
  duration,
  int64,
  message,
  repeated,
  string,
  uint64,
  type ValueOf,
} from '../../primitives/protoSchema.ts'
import type { NativeStore } from '../../state/world.ts'
import type { ModuleContext } from '../context.ts'
import { defineParams, type ParamsStore } from '../params.ts'
import { type SdkError, sdkError } from '../sdkError.ts'

/** tendermint.types.ConsensusParams of CometBFT 0.38 and its parts */
export const BlockParams = defineMessage('tendermint.types.BlockParams', { maxBytes: int64(1), maxGas: int64(2) })
export const EvidenceParams = defineMessage('tendermint.types.EvidenceParams', {
  maxAgeNumBlocks: int64(1),
  maxAgeDuration: duration(2),
  maxBytes: int64(3),
})
export const ValidatorParams = defineMessage('tendermint.types.ValidatorParams', { pubKeyTypes: repeated(string(1)) })
const VersionParams = defineMessage('tendermint.types.VersionParams', { app: uint64(1) })
export const AbciParams = defineMessage('tendermint.types.ABCIParams', { voteExtensionsEnableHeight: int64(1) })

export const ConsensusParams = defineMessage('tendermint.types.ConsensusParams', {
  block: message(1, BlockParams),
  evidence: message(2, EvidenceParams),
  validator: message(3, ValidatorParams),
  version: message(4, VersionParams),
  abci: message(5, AbciParams),
})
export type ConsensusParams = ValueOf<typeof ConsensusParams>

/** Under the key of x/consensus/keeper/keeper.go. */
export const CONSENSUS_PARAMS: ParamsStore<ConsensusParams> = defineParams(
  'consensus',
  new TextEncoder().encode('Consensus'),
  ConsensusParams,
)

/** The genesis has the same bounds. A block can hold the largest transaction of EIP-7825; gas fits 64-bit counters easily. */
const MIN_BLOCK_GAS = 2n ** 24n
const MAX_BLOCK_GAS = 2n ** 30n

/** Gas limit for the EVM transactions of the block after the one whose state this is; native ones have a lane of their own. */
export function maxBlockGas(native: Pick<NativeStore, 'get'>): bigint {
  const { block } = CONSENSUS_PARAMS.get(native)
  if (block === undefined) throw new Error('the consensus parameters have no block section')
  return block.maxGas
}

/** The parameters in MsgUpdateParams; a section that the message leaves out is undefined. */
export type ProposedParams = Pick<ConsensusParams, 'block' | 'evidence' | 'validator' | 'abci'>

/**
 * Returns the error of an invalid change of the parameters. Only block.max_gas can change:
 * connections, files and hashes of a running network depend on sizes, the age of evidence and key
 * types, so changing these takes a new version of the software.
 */
export function validateChange(current: ConsensusParams, proposed: ProposedParams): SdkError | undefined {
  const { block, evidence, validator, abci } = proposed
  if (block === undefined || evidence === undefined || validator === undefined) {
    return sdkError('invalidRequest', 'all parameters must be present')
  }
  const { maxGas } = block
  if (maxGas < MIN_BLOCK_GAS || maxGas > MAX_BLOCK_GAS) {
    return sdkError('invalidRequest', `block.MaxGas must be ${MIN_BLOCK_GAS} to ${MAX_BLOCK_GAS}. Got ${maxGas}`)
  }
  const allowed = { ...current, block: { ...current.block!, maxGas } }
  const asked = { ...current, block, evidence, validator, abci: abci ?? current.abci }
  if (Buffer.compare(ConsensusParams.encode(allowed), ConsensusParams.encode(asked)) === 0) return undefined
  return sdkError('invalidRequest', 'only block.max_gas can be changed; repeat the other parameters as they are')
}

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
