import { encodeCommit } from '../chain/consensus/commit.ts'
import { createBlockCache, openChainReader } from '../chain/store.ts'
import type { FetchedBlock } from '../consensus/transport.ts'
import { Column, columnKey, heightBytes } from '../storage/columns.ts'
import type { Database } from '../storage/database.ts'

/** Blocks of this node as of one moment. */
export interface BlockView {
  /** lowest block that it has */
  readonly base: number
  /** of its newest block; 0 before the first */
  readonly height: number
  /** The block with the commit of the block after it, or the one that this node saw when it is the newest. */
  read(height: number): FetchedBlock | undefined
  close(): Promise<void>
}

/** Opens the blocks as they are now; close what it gives. */
export type BlockSource = () => BlockView

/** Blocks in the database, which another thread writes. */
export function databaseBlocks(database: Database): BlockSource {
  const cache = createBlockCache()
  return () => {
    const snapshot = database.snapshot()
    const chain = openChainReader(snapshot, cache)
    const base = Math.max(1, chain.oldestBlock)
    return {
      base,
      height: chain.headHeight,
      read: (height) => {
        if (height < base || height > chain.headHeight) return undefined
        // As it was written: nothing of it needs to be decoded here.
        const block = snapshot.get(columnKey(Column.consensusBlock, heightBytes(height)))
        const commit = chain.seenCommit(height)
        return block === undefined || commit === undefined ? undefined : { block, commit: encodeCommit(commit) }
      },
      close: () => snapshot.close(),
    }
  }
}
