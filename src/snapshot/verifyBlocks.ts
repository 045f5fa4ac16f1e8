import { equalBlockId } from '../chain/comet/types.ts'
import { type BlockLink, LinkError, linkBefore, linkOf, readWholeBlock } from '../chain/store/linkedBlocks.ts'
import { equalBytes } from '../primitives/bytes.ts'
import { type BlocksChunk, ChunkError } from './chunk.ts'

/**
 * Accepts a chunk of blocks only when each follows the one before it, by all of its hashes. When the last block of all chunks has the
 * hashes that a light client verified, all are the chain's.
 * @param before the block before the chunk; undefined when the chunk is the first
 * @returns the chunk's last block
 * @throws ChunkError
 */
export function verifyBlocks({ from, blocks }: BlocksChunk, before: BlockLink | undefined): BlockLink {
  const newest = blocks.at(-1)
  if (newest === undefined) throw new ChunkError('a chunk of blocks is empty')
  try {
    const last = linkOf(from + blocks.length - 1, newest)
    let link = last
    for (const block of blocks.toReversed()) {
      const { header } = readWholeBlock(block, link)
      if (header.height !== link.height) throw new ChunkError(`block ${link.height}: it is block ${header.height}`)
      link = linkBefore({ header })
    }
    if (before !== undefined && !isSame(link, before)) {
      throw new ChunkError(`block ${from}: it does not follow the one before`)
    }
    return last
  } catch (error) {
    if (error instanceof LinkError) throw new ChunkError(error.message, { cause: error })
    throw error
  }
}

function isSame(a: BlockLink, b: BlockLink): boolean {
  return a.height === b.height && equalBlockId(a.blockId, b.blockId) && equalBytes(a.ethereumHash, b.ethereumHash)
}
