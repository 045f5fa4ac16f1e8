import { type ConsensusBlock, decodeBlock, headerHash } from '../../chain/comet/block.ts'
import { decodeCommit } from '../../chain/comet/commit.ts'
import { createPartSet } from '../../chain/comet/partSet.ts'
import { type BlockId, type Commit, equalBlockId } from '../../chain/comet/types.ts'
import { ConsensusDecodingError } from '../../chain/comet/wire.ts'
import type { FetchedBlock } from '../../consensus/transport.ts'

/** A decoded block from a peer, with the block ID of its bytes. */
export interface ReadBlock {
  readonly block: ConsensusBlock
  readonly blockId: BlockId
  readonly commit: Commit
  readonly encoded: FetchedBlock
  /** bytes of memory that it keeps in use */
  readonly size: number
}

/**
 * Decodes a block and its commit and computes the block's ID. Signatures and the chain's rules are not checked.
 * @returns the reason when no honest peer sends this for the block at `height`
 * @throws only errors of this node itself, such as a lack of memory, for which no peer may be punished
 */
export function readFetchedBlock(fetched: FetchedBlock, height: number, maxBlockBytes: number): ReadBlock | string {
  if (fetched.block.length > maxBlockBytes) return `a block of ${fetched.block.length} bytes`
  let block: ConsensusBlock
  let commit: Commit
  try {
    block = decodeBlock(fetched.block)
    commit = decodeCommit(fetched.commit)
  } catch (error) {
    if (!(error instanceof ConsensusDecodingError)) throw error
    return `block ${height} cannot be decoded: ${error.message}`
  }
  if (block.header.height !== height) return `block ${block.header.height} instead of block ${height}`
  if (commit.height !== height) return `the commit of block ${commit.height} with block ${height}`
  const blockId = { hash: headerHash(block.header), partSetHeader: createPartSet(fetched.block).header }
  if (!equalBlockId(commit.blockId, blockId)) return `the commit with block ${height} is for another block`
  return { block, blockId, commit, encoded: fetched, size: fetched.block.length + fetched.commit.length }
}
