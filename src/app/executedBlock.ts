import { hash } from 'node:crypto'
import type { EthereumHeader } from '../chain/ethereumHeader.ts'
import { concatBytes } from '../primitives/bytes.ts'
import type { Hash } from '../primitives/hash.ts'
import type { StateChanges } from '../state/changes.ts'
import type { PendingState } from '../state/store.ts'
import type { EntryResult } from './executionResults.ts'

/** A block that was executed and whose state root is known; nothing of it is stored yet. */
export interface ExecutedBlock {
  readonly header: EthereumHeader
  /** keccak256(rlp(header)): the next consensus header's app_hash */
  readonly hash: Hash
  /** in order of data.txs */
  readonly results: readonly EntryResult[]
  /** CometBFT's last_results_hash of the next consensus header */
  readonly resultsHash: Uint8Array
  readonly changes: StateChanges
  readonly state: PendingState
}

/** Everything that decides the outcome of executing a block on a given parent. */
export interface ExecutionInput {
  readonly height: number
  readonly timeMs: number
  readonly proposerAddress: Uint8Array
  readonly parentConsensusHash: Uint8Array
  readonly txs: readonly Uint8Array[]
}

/**
 * Equal for equal inputs, so that a block executed while it was built or proposed is not executed again. One hash over all
 * transactions, behind their lengths: a full block is hashed in a millisecond, twice.
 */
export function executionKey({ height, timeMs, proposerAddress, parentConsensusHash, txs }: ExecutionInput): string {
  const head = new Uint8Array(16)
  const view = new DataView(head.buffer)
  view.setBigUint64(0, BigInt(height))
  view.setBigUint64(8, BigInt(timeMs))
  const lengths = [proposerAddress, parentConsensusHash, ...txs].map(({ length }) => length)
  const sizes = new Uint8Array(Uint32Array.of(lengths.length, ...lengths).buffer)
  return hash('sha256', concatBytes(head, sizes, proposerAddress, parentConsensusHash, ...txs), 'base64')
}
