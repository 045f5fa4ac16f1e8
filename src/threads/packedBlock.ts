import type { ConsensusBlock } from '../chain/consensus/block.ts'
import { decodeBlock, encodeBlock } from '../chain/consensus/blockCodec.ts'
import { decodeCommit, encodeCommit } from '../chain/consensus/commitCodec.ts'
import type { BlockId } from '../chain/consensus/types.ts'
import type { DecidedBlock } from '../consensus/application.ts'

/**
 * A block without its transactions, encoded: its fields are views on what a peer sent, and a view takes all of that along
 * when it is cloned into another thread.
 */
export type BlockWithoutTransactions = Uint8Array

export function packBlockWithoutTransactions(block: ConsensusBlock): BlockWithoutTransactions {
  return encodeBlock({ ...block, txs: [] })
}

export function unpackBlockWithoutTransactions(
  shell: BlockWithoutTransactions,
  txs: readonly Uint8Array[],
): ConsensusBlock {
  return { ...decodeBlock(shell), txs }
}

/** What else there is to a decided block. */
export interface PackedDecision extends Omit<DecidedBlock, 'block' | 'seenCommit'> {
  readonly seenCommit: Uint8Array
}

export function packDecision({ block: _, blockId, seenCommit, ...rest }: DecidedBlock): PackedDecision {
  return { ...rest, blockId: copyBlockId(blockId), seenCommit: encodeCommit(seenCommit) }
}

export function unpackDecision({ seenCommit, ...rest }: PackedDecision, block: ConsensusBlock): DecidedBlock {
  return { ...rest, block, seenCommit: decodeCommit(seenCommit) }
}

function copyBlockId({ hash, partSetHeader }: BlockId): BlockId {
  return { hash: hash.slice(), partSetHeader: { ...partSetHeader, hash: partSetHeader.hash.slice() } }
}
