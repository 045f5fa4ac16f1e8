import { type ConsensusBlock, encodeBlock } from '../../chain/comet/block.ts'
import { encodeCommit } from '../../chain/comet/commit.ts'
import type { BlockId } from '../../chain/comet/types.ts'
import type { DecidedBlock } from '../../consensus/application.ts'

/** Lists of transactions that both threads count as known: enough for a height with many rounds. */
export const RETAINED_LISTS = 8

/**
 * A block without its transactions, encoded. The block's fields are views of a peer's message: cloning such a view into another thread
 * would copy the whole message.
 */
export type BlockWithoutTransactions = Uint8Array

export function packBlockWithoutTransactions(block: ConsensusBlock): BlockWithoutTransactions {
  return encodeBlock({ ...block, txs: [] })
}

/** A decided block except the block itself. */
export interface PackedDecision extends Omit<DecidedBlock, 'block' | 'seenCommit'> {
  readonly seenCommit: Uint8Array
}

export function packDecision({ block: _, blockId, seenCommit, ...rest }: DecidedBlock): PackedDecision {
  return { ...rest, blockId: copyBlockId(blockId), seenCommit: encodeCommit(seenCommit) }
}

function copyBlockId({ hash, partSetHeader }: BlockId): BlockId {
  return { hash: hash.slice(), partSetHeader: { ...partSetHeader, hash: partSetHeader.hash.slice() } }
}
