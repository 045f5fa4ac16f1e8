import type { BlockId, Commit, Evidence } from './types.ts'

/** CometBFT's block protocol: version 11 is that of 0.38. */
export const BLOCK_PROTOCOL = 11

/** tendermint.types.Header as of CometBFT 0.38. Hashes are 32 bytes unless said otherwise. */
export interface ConsensusHeader {
  readonly version: { readonly block: number; readonly app: number }
  readonly chainId: string
  readonly height: number
  /** milliseconds since the epoch, strictly greater than the block's before */
  readonly timeMs: number
  /** nil at height 1 */
  readonly lastBlockId: BlockId
  readonly lastCommitHash: Uint8Array
  readonly dataHash: Uint8Array
  readonly validatorsHash: Uint8Array
  readonly nextValidatorsHash: Uint8Array
  /** of the parameters max_bytes and max_gas */
  readonly consensusHash: Uint8Array
  /** Ethereum block hash of the height before; of the genesis block at height 1 */
  readonly appHash: Uint8Array
  /** over the transaction results of the height before */
  readonly lastResultsHash: Uint8Array
  readonly evidenceHash: Uint8Array
  /** 20 bytes */
  readonly proposerAddress: Uint8Array
}

export interface ConsensusBlock {
  readonly header: ConsensusHeader
  /** EVM transactions as their EIP-2718 envelopes, native ones as protobuf TxRaw */
  readonly txs: readonly Uint8Array[]
  readonly evidence: readonly Evidence[]
  /** of the height before; empty at height 1 */
  readonly lastCommit: Commit
}
