import type { BlockParams } from '../../src/chain/comet/block.ts'
import type { RankedValidatorSet } from '../../src/chain/comet/types.ts'
import type { ConsensusTiming, EvidenceParams } from '../../src/chain/genesis/chainConfig.ts'

/** What all nodes of a simulation agree on from the start. */
export interface SimChain {
  readonly chainId: string
  readonly genesisHash: Uint8Array
  readonly genesisTimeMs: number
  readonly genesisAppHash: Uint8Array
  readonly appVersion: number
  readonly params: BlockParams
  readonly timing: ConsensusTiming
  readonly evidence: EvidenceParams
  readonly intervalMs: number
  /** of the first block */
  readonly validators: RankedValidatorSet
}

/** The timing that a genesis has by default. */
export const DEFAULT_TIMING: ConsensusTiming = {
  proposeTimeoutMs: 700,
  proposeTimeoutDeltaMs: 200,
  voteTimeoutMs: 200,
  voteTimeoutDeltaMs: 100,
  precisionMs: 500,
  messageDelayMs: 3000,
}
