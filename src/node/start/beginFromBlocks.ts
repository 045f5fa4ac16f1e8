import { openChainReader } from '../../chain/store/chainReader.ts'
import { readHeadRecord } from '../../chain/store/writeBlock.ts'
import type { Config } from '../../config/config.ts'
import { BlockFileError } from '../../datadir/blockFile.ts'
import { importDirectory } from '../../datadir/importBlocks.ts'
import { BLOCKS_FILES } from '../../snapshot/blocksManifest.ts'
import { ManifestError, SnapshotError, SnapshotUnavailableError } from '../../snapshot/manifest.ts'
import { publicFiles } from '../../snapshot/publicFiles.ts'
import type { Database } from '../../storage/database.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { startProgress } from '../../telemetry/progress.ts'
import { offlineExecutors } from './offlineExecutors.ts'
import { type Home, openDatabase } from './openHome.ts'

interface BlocksStart {
  readonly config: Config
  readonly home: Home
  readonly logger: Logger
  readonly signal: AbortSignal
  /** since the epoch */
  readonly nowMs: () => number
}

/** A node with a newer block than this fetches no manifest: its peers supply the few blocks since sooner. */
const NEAR_MS = 3_600_000

/** Errors of what is served there, or of who serves it: peers have the blocks, too. */
const OF_THE_FILES = [BlockFileError, ManifestError, SnapshotError, SnapshotUnavailableError] as const

/**
 * Executes the blocks at BLOCKS_MANIFEST_URL that follow the newest block of the database, before anything else opens it;
 * later blocks come from peers. They are verified like blocks of peers. A start that was interrupted resumes with the next
 * block when it is repeated.
 * @param address BLOCKS_MANIFEST_URL
 * @throws what the executor throws; the signal's reason. Faulty files only cause a warning, and peers supply the rest
 */
export async function beginFromBlocks(start: BlocksStart, address: string): Promise<void> {
  const { config, home, logger, signal, nowMs } = start
  const database = await openDatabase(home, logger, signal)
  const isNear = nowMs() - headTimeMs(database) < NEAR_MS
  await database.close()
  if (isNear) return
  const files = publicFiles(new URL(address), { ...BLOCKS_FILES, setting: 'BLOCKS_MANIFEST_URL' }, signal)
  logger.info({ place: files.name }, 'executing blocks from a web server')
  const executor = await (await offlineExecutors(config, home))(home.paths.db)
  const progress = startProgress({ title: 'executing blocks from a web server', unit: 'blocks', logger })
  try {
    const { application } = executor
    const { from, to } = await importDirectory({ application, chain: home.chain, files, signal, progress })
    signal.throwIfAborted()
    logger.info({ from, to }, 'the next blocks come from peers')
  } catch (error) {
    signal.throwIfAborted()
    if (!OF_THE_FILES.some((kind) => error instanceof kind)) throw error
    logger.warn(
      { reason: (error as Error).message },
      'no more blocks can be read from BLOCKS_MANIFEST_URL: peers supply the rest',
    )
  } finally {
    progress.end()
    await executor.close()
  }
}

/** Returns milliseconds since the epoch; 0 for a database without blocks. */
function headTimeMs(database: Database): number {
  const head = readHeadRecord(database)
  return (head === undefined ? 0 : (openChainReader(database).header(head.height)?.timestamp ?? 0)) * 1_000
}
