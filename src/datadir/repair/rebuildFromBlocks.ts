import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import type { ChainConfig } from '../../chain/genesis/chainConfig.ts'
import { readIndexedFrom } from '../../chain/indexes/indexCoverage.ts'
import { completeHashFiles } from '../../chain/indexes/makeHashFiles.ts'
import { listSegment, writeTermsOf } from '../../chain/segments/moveBlocks.ts'
import { differingBlock, findSegment, storedBlock } from '../../chain/segments/segments.ts'
import { RESTORED_KEY } from '../../chain/store/chainReader.ts'
import { readHeadRecord } from '../../chain/store/writeBlock.ts'
import type { Executor } from '../../execution/executor.ts'
import { equalBytes } from '../../primitives/bytes.ts'
import { WriteBatch } from '../../storage/batch.ts'
import { Database, DatabaseError } from '../../storage/database.ts'
import { GENESIS_HASH_KEY } from '../../storage/format.ts'
import { readSegmentIndex, segmentsDirectory } from '../../storage/segmentFile.ts'
import { verifyFiles } from '../../storage/verifyFiles.ts'
import { syncDirectory } from '../../storage/writeFileDurably.ts'
import { linkOrCopy } from '../backup.ts'
import { BlockFileError } from '../blockFile.ts'
import { importBlocks } from '../importBlocks.ts'
import type { InspectRequest } from './findDamage.ts'
import type { OwnBlocks, OwnFile } from './ownBlocks.ts'

export interface RebuildRequest extends Pick<InspectRequest, 'progressOf' | 'signal'> {
  /** directory of the database to make; what an earlier repair has left there is continued */
  readonly target: string
  readonly chain: Pick<ChainConfig, 'chainId' | 'genesisHash'>
  /** opens a database for the execution of blocks; an empty one gets block 0 */
  readonly openExecutor: (location: string) => Promise<Pick<Executor, 'application' | 'close'>>
}

/**
 * Makes a database by executing blocks from the first one on, which proves each block and the state. A block's commit has the
 * signatures of more than two thirds of the validators that follow from the blocks before, and the next block names its results.
 * A whole file of old blocks with the same contents is linked into the new database, before the next file is executed. May be
 * called again when it was interrupted or killed.
 * @returns height of the newest block, which is lower than that of the last one in the files when they do not fit together
 * @throws BlockFileError when not even the first block can be executed; `signal.reason`
 */
export async function rebuildFromBlocks(request: RebuildRequest, { files, last }: OwnBlocks): Promise<number> {
  const { target, progressOf } = request
  if (!(await isBegun(request))) rmSync(target, { recursive: true, force: true })
  const progress = progressOf({ title: 'executing blocks again', unit: 'blocks', total: last })
  let height = await newestBlock(target)
  try {
    for (const file of files) {
      if (file.last > height) {
        height = await execute(request, file, (at) => progress.update(at))
        if (height < file.last) return height
      }
      if (file.isSegment) await adoptSegment(request, file)
    }
    return height
  } finally {
    progress.end()
  }
}

/** Whether there is a database that such a repair has started. One that a restore from a snapshot has started does not count. */
async function isBegun({ target, chain }: RebuildRequest): Promise<boolean> {
  if (!existsSync(target)) return false
  let database: Database | undefined
  try {
    verifyFiles(target)
    database = await Database.open(target, { readOnly: true })
    const genesisHash = database.get(GENESIS_HASH_KEY)
    return (
      genesisHash !== undefined &&
      equalBytes(genesisHash, chain.genesisHash) &&
      database.get(RESTORED_KEY) === undefined
    )
  } catch (error) {
    if (error instanceof DatabaseError && error.code !== 'io' && error.code !== 'locked') return false
    throw error
  } finally {
    await database?.close()
  }
}

/** Returns 0 when there is no block yet. */
async function newestBlock(target: string): Promise<number> {
  if (!existsSync(target)) return 0
  const database = await Database.open(target, { readOnly: true })
  try {
    return readHeadRecord(database)?.height ?? 0
  } finally {
    await database.close()
  }
}

/** @returns height of the newest block after it */
async function execute(
  { target, chain, openExecutor, signal }: RebuildRequest,
  { path }: OwnFile,
  onBlock: (height: number) => void,
): Promise<number> {
  signal.throwIfAborted()
  const executor = await openExecutor(target)
  let problem: BlockFileError | undefined
  try {
    await importBlocks({ application: executor.application, chain, path, signal, onBlock })
  } catch (error) {
    // What cannot be proved ends here, and comes from the peers.
    if (!(error instanceof BlockFileError)) throw error
    problem = error
  } finally {
    await executor.close()
  }
  signal.throwIfAborted()
  const height = await newestBlock(target)
  if (problem !== undefined && height === 0) throw problem
  return height
}

/** Links a file of old blocks of another database into this one, on stable storage. It is not listed yet. */
export async function linkSegment(path: string, target: string): Promise<void> {
  const directory = segmentsDirectory(target)
  mkdirSync(directory, { recursive: true })
  const own = join(directory, basename(path))
  rmSync(own, { force: true })
  await linkOrCopy(path, own)
  const file = openSync(own, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  syncDirectory(directory)
  syncDirectory(target)
}

async function adoptSegment({ target, signal }: RebuildRequest, { path }: OwnFile): Promise<void> {
  const index = readSegmentIndex(path)
  const pause = async (): Promise<void> => {
    await setImmediate()
    signal.throwIfAborted()
  }
  const database = await Database.open(target)
  try {
    if (findSegment(database, index.first) !== undefined) return
    const other = await differingBlock(index, (height) => storedBlock(database, height), pause)
    // The node makes the file anew.
    if (other !== undefined) return
    await linkSegment(path, target)
    if (Number.isFinite(readIndexedFrom(database))) await writeTermsOf(database, index, pause)
    const batch = new WriteBatch()
    const { first, last, bytes, sha256 } = index
    listSegment(database, batch, { first, last, bytes, sha256 })
    await database.write(batch, { sync: true })
    await completeHashFiles(database, pause)
  } finally {
    await database.close()
  }
}
