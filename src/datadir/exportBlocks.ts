import { open, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { packSegment } from '../chain/segments/segments.ts'
import type { ChainReader } from '../chain/store/chainReader.ts'
import type { Hash } from '../primitives/hash.ts'
import { encodeSegmentFile } from '../storage/segmentFile.ts'
import { syncDirectory } from '../storage/writeFileDurably.ts'
import type { Progress } from '../telemetry/progress.ts'
import { BlockFileError } from './blockFile.ts'

export interface ExportRequest {
  readonly chain: ChainReader
  readonly genesisHash: Hash
  readonly path: string
  /** first and last height */
  readonly from: number
  readonly to: number
  /** ends the export */
  readonly signal?: AbortSignal
  /** receives the number of written blocks */
  readonly progress?: Pick<Progress, 'update'>
}

/**
 * Writes blocks, with the commit of the last one, to a new segment file, and syncs it. A file that could not be finished is removed.
 * @throws BlockFileError when not all of the blocks are stored whole; Error when the file exists or cannot be written; the reason of
 * `signal` when that is aborted
 */
export async function exportBlocks(request: ExportRequest): Promise<void> {
  const { chain, genesisHash, path, from, to, signal, progress } = request
  const oldest = Math.max(chain.oldestBlock, 1)
  if (from < oldest || to > chain.headHeight || from > to) {
    throw new BlockFileError(
      `cannot export blocks ${from} to ${to}: the node has blocks ${oldest} to ${chain.headHeight}`,
    )
  }
  const missing = (height: number): Error => new Error(`block ${height} is missing from the database`)
  const read = (height: number) => {
    signal?.throwIfAborted()
    const block = chain.storedBlock(height)
    if (block === undefined) throw missing(height)
    progress?.update(height - from + 1)
    return block
  }
  const lastCommit = chain.seenCommit(to)
  if (lastCommit === undefined) throw missing(to)
  const file = await open(path, 'wx')
  try {
    const content = packSegment({ first: from, last: to, genesisHash, lastCommit, read })
    // Unlike `write`, this writes all bytes.
    for (const bytes of encodeSegmentFile(content)) await file.appendFile(bytes)
    await file.sync()
    await file.close()
    // A rollback that has saved its blocks there undoes them next.
    syncDirectory(dirname(path))
  } catch (error) {
    await file.close()
    await rm(path, { force: true })
    throw error
  }
}
