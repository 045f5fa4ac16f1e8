import { type ConsensusBlock, encodeBlock } from '../../src/chain/comet/block.ts'
import { encodeCommit } from '../../src/chain/comet/commit.ts'
import type { Commit } from '../../src/chain/comet/types.ts'

/** A block and its commit as they travel. */
export interface EncodedBlock {
  readonly block: Uint8Array
  readonly commit: Uint8Array
}

export function encodeServed({
  block,
  commit,
}: {
  readonly block: ConsensusBlock
  readonly commit: Commit
}): EncodedBlock {
  return { block: encodeBlock(block), commit: encodeCommit(commit) }
}
