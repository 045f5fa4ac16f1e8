import { open } from 'node:fs/promises'
import type { ChainReader } from '../chain/reader.ts'
import type { Hash } from '../primitives/hash.ts'
import { blockFileHeader, encodeBlockFileEntry } from './blockFile.ts'

export interface ExportRequest {
  readonly chain: ChainReader
  readonly genesisHash: Hash
  readonly path: string
  /** first and last height */
  readonly from: number
  readonly to: number
}

/**
 * Writes decided blocks with their commits to a new file, and syncs it.
 * @throws Error when a block's transactions are no longer kept, or the file exists
 */
export async function exportBlocks({ chain, genesisHash, path, from, to }: ExportRequest): Promise<void> {
  const file = await open(path, 'wx')
  try {
    await file.write(blockFileHeader(genesisHash))
    for (let height = from; height <= to; height++) {
      const block = chain.consensusBlock(height)
      const commit = chain.seenCommit(height)
      if (height < chain.oldestBlock || block === undefined || commit === undefined) {
        throw new Error(`block ${height} is no longer stored whole; the oldest one is ${chain.oldestBlock}`)
      }
      await file.write(encodeBlockFileEntry({ block, commit }))
    }
    await file.sync()
  } finally {
    await file.close()
  }
}
