import { open, rm } from 'node:fs/promises'
import type { ChainReader } from '../chain/store.ts'
import type { Hash } from '../primitives/hash.ts'
import type { Progress } from '../telemetry/progress.ts'
import { BlockFileError, blockFileHeader, encodeBlockFileEntry } from './blockFile.ts'

export interface ExportRequest {
  readonly chain: ChainReader
  readonly genesisHash: Hash
  readonly path: string
  /** first and last height */
  readonly from: number
  readonly to: number
  /** ends the export */
  readonly signal?: AbortSignal
  /** is told the number of blocks that are written */
  readonly progress?: Pick<Progress, 'update'>
}

/**
 * Writes decided blocks with their commits to a new file, and syncs it. A file that could not be finished is removed.
 * @throws BlockFileError when not all of the blocks are stored whole; Error when the file exists or cannot be written; the reason of
 * `signal` when that is aborted
 */
export async function exportBlocks(request: ExportRequest): Promise<void> {
  const { chain, genesisHash, path, from, to, signal, progress } = request
  const oldest = Math.max(chain.oldestBlock, 1)
  if (from < oldest || to > chain.headHeight || from > to) {
    throw new BlockFileError(
      `blocks ${from} to ${to} cannot be exported: there are blocks ${oldest} to ${chain.headHeight}`,
    )
  }
  const file = await open(path, 'wx')
  try {
    await file.appendFile(blockFileHeader(genesisHash))
    for (let height = from; height <= to; height++) {
      signal?.throwIfAborted()
      const block = chain.consensusBlock(height)
      const commit = chain.seenCommit(height)
      if (block === undefined || commit === undefined) throw new Error(`block ${height} is missing in the database`)
      // Unlike `write`, this writes all bytes.
      await file.appendFile(encodeBlockFileEntry({ block, commit }))
      progress?.update(height - from + 1)
    }
    await file.sync()
    await file.close()
  } catch (error) {
    await file.close()
    await rm(path, { force: true })
    throw error
  }
}
