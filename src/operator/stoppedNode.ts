import { existsSync, statSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import type {
  BlockRange,
  Compacted,
  ExportOptions,
  ImportOptions,
  RepairOptions,
  RollbackOptions,
} from '../cli/ports.ts'
import type { Config } from '../config/config.ts'
import { ConfigError } from '../config/configError.ts'
import type { Reindexed } from '../datadir/reindex.ts'
import type { Repaired } from '../datadir/repair/repairDatabase.ts'
import type { Pruned } from '../execution/pruner.ts'
import { offlineExecutors } from '../node/start/offlineExecutors.ts'
import { type Home, openDatabase, openExistingHome, waitForDatabase } from '../node/start/openHome.ts'
import type { Database, DatabaseOptions } from '../storage/database.ts'
import { createLogger } from '../telemetry/logger.ts'
import { startProgress } from '../telemetry/progress.ts'

/*
 * Commands on the data directory of a stopped node. Each command holds the lock of the directory, so that no node runs there
 * meanwhile, and loads its modules when it runs.
 */

/** Writes blocks of a stopped node to a file. */
export async function exportBlocks(config: Config, { out, from, to, signal }: ExportOptions): Promise<BlockRange> {
  const { openChainReader } = await import('../chain/store/chainReader.ts')
  const { exportBlocks: writeBlockFile } = await import('../datadir/exportBlocks.ts')
  return withCheckedDatabase(config, { readOnly: true }, async (database, { chain: { genesisHash } }) => {
    const reader = openChainReader(database)
    const range = { from: from ?? Math.max(reader.oldestBlock, 1), to: to ?? reader.headHeight }
    const total = range.to - range.from + 1
    const progress = startProgress({ title: 'exporting blocks', unit: 'blocks', total })
    try {
      await writeBlockFile({ chain: reader, genesisHash, path: out, signal, progress, ...range })
    } finally {
      progress.end()
    }
    return range
  })
}

/** Executes blocks in a stopped node. */
export async function importBlocks(config: Config, { place, signal }: ImportOptions): Promise<BlockRange> {
  const { blocksIn, importBlocks: importFile, importDirectory } = await import('../datadir/importBlocks.ts')
  const { BLOCKS_FILES } = await import('../snapshot/blocksManifest.ts')
  const { publicFiles } = await import('../snapshot/publicFiles.ts')
  const home = await openExistingHome(config)
  try {
    const { chain, paths } = home
    // Before the executor opens it, its files are checked.
    await (await openDatabase(home, createLogger(config.log), undefined)).close()
    const executor = await (await offlineExecutors(config, home))(paths.db)
    const isFile = typeof place === 'string' && !statSync(place).isDirectory()
    const progress = startProgress({ title: 'importing blocks', unit: isFile ? 'bytes' : 'blocks' })
    const request = { application: executor.application, chain, signal, progress }
    try {
      if (isFile) return await importFile({ ...request, path: place })
      const files = typeof place === 'string' ? blocksIn(place) : publicFiles(place, BLOCKS_FILES, signal)
      return await importDirectory({ ...request, files })
    } finally {
      progress.end()
      await executor.close()
    }
  } finally {
    await home.lock.release()
  }
}

/**
 * Takes the database of a stopped node back to an earlier block. The write-ahead log stays as it is: the signer still
 * remembers what it signed, and the next start executes the blocks in the log again.
 */
export async function rollback(config: Config, { to, save, signal }: RollbackOptions): Promise<BlockRange> {
  const { checkRollback, rollback: undoBlocks } = await import('../datadir/rollback.ts')
  const { decidesAlone } = await import('../consensus/recovery.ts')
  const { openChainReader } = await import('../chain/store/chainReader.ts')
  const { exportBlocks: writeBlockFile } = await import('../datadir/exportBlocks.ts')
  return withCheckedDatabase(config, {}, async (database, { chain: { genesisHash }, validatorKeys }) => {
    const from = checkRollback(database, to)
    if (from === to) return { from, to }
    const reader = openChainReader(database)
    const validators = reader.validatorSetAt(to + 1)
    if (save !== undefined) {
      await writeBlockFile({ chain: reader, genesisHash, path: save, from: to + 1, to: from, signal })
    } else if (validators !== undefined && decidesAlone(validators, validatorKeys.keyIn(validators).publicKey)) {
      throw new ConfigError(
        `this node is the only validator, so no peer has the blocks above ${to}: save them with --save FILE, for coind import`,
      )
    }
    const progress = startProgress({ title: 'undoing blocks', unit: 'blocks', total: from - to })
    progress.update(0)
    try {
      return await undoBlocks(database, to, { signal, onBlock: (height) => progress.update(from - height) })
    } finally {
      progress.end()
    }
  })
}

/** Deletes at once what the settings do not keep, from the database of a stopped node. */
export async function pruneDatabase(config: Config, signal: AbortSignal): Promise<Pruned> {
  const { pruneNow } = await import('../execution/pruner.ts')
  const { pruning, blockHistory, index, indexTraces } = config
  return withDatabase(config, signal, (database, { headers }) =>
    pruneNow({
      database,
      pruning,
      blockHistory,
      headers,
      index,
      indexTraces,
      progressOf: startProgress,
      signal,
      pause: () => setImmediate(),
    }),
  )
}

/** Makes the indexes of a stopped node what its blocks say. */
export async function reindexDatabase(config: Config, signal: AbortSignal): Promise<Reindexed> {
  const { reindex } = await import('../datadir/reindex.ts')
  return withDatabase(config, signal, (database) =>
    reindex({ database, index: config.index, progressOf: startProgress, signal }),
  )
}

/** Finds the damage in the database of a stopped node, and repairs it, or replaces the database. */
export async function repairDatabase(config: Config, options: RepairOptions): Promise<Repaired> {
  const { repairDatabase: repair } = await import('../datadir/repair/repairDatabase.ts')
  const { beginSwitch, keepOldDatabase } = await import('../datadir/currentDatabase.ts')
  const { makeWorkDirectory } = await import('../datadir/workDirectory.ts')
  const { snapshotFor } = await import('../node/start/beginFromSnapshot.ts')
  const { decidesAlone } = await import('../consensus/recovery.ts')
  const home = await openExistingHome(config)
  try {
    const { chain, paths, validatorKeys } = home
    const logger = createLogger(config.log)
    const snapshot = () => snapshotFor({ config, home, logger, allowsOlder: true, signal: options.signal })
    /** most repairs need none */
    let executors: ReturnType<typeof offlineExecutors> | undefined
    if (!existsSync(paths.db)) throw new ConfigError(`${paths.db} does not exist: the node has no chain yet`)
    const work = await makeWorkDirectory(paths.homedir)
    try {
      const repaired = await repair({
        ...options,
        location: paths.db,
        target: paths.restoringDb,
        sortDirectory: work.path,
        chain,
        index: config.index,
        keepsBlocks: config.blockHistory === 0,
        snapshot,
        decidesAlone: (validators) => decidesAlone(validators, validatorKeys.keyIn(validators).publicKey),
        openExecutor: async (location) => {
          executors ??= offlineExecutors(config, home)
          return (await executors)(location)
        },
        progressOf: startProgress,
      })
      if (repaired.rebuiltTo === undefined) return repaired
      beginSwitch(paths, repaired.isFromSnapshot ? snapshot()!.source : null)
      keepOldDatabase(paths)
      await waitForDatabase(home, logger)
      return repaired
    } finally {
      await work.remove()
    }
  } finally {
    await home.lock.release()
  }
}

/** Merges the files of the database of a stopped node. */
export async function compactDatabase(config: Config, signal: AbortSignal): Promise<Compacted> {
  const { compactDatabase: compact } = await import('../storage/compactDatabase.ts')
  const { directoryBytes } = await import('../storage/diskBytes.ts')
  return withDatabase(config, signal, async (database) => {
    const bytesBefore = await directoryBytes(database.location)
    const progress = startProgress({ title: 'compacting the database', unit: 'bytes' })
    try {
      await compact({ database, progress, signal })
    } finally {
      progress.end()
    }
    return { bytesBefore, bytesAfter: await directoryBytes(database.location) }
  })
}

/** Opens the database of a stopped node as it is, whose files are checked as far as a start checks them. */
async function withCheckedDatabase<T>(
  config: Config,
  options: DatabaseOptions,
  use: (database: Database, home: Home) => Promise<T>,
): Promise<T> {
  const { Database } = await import('../storage/database.ts')
  const { START_BYTES, verifyFiles } = await import('../storage/verifyFiles.ts')
  const home = await openExistingHome(config)
  try {
    verifyFiles(home.paths.db, START_BYTES)
    const database = await Database.open(home.paths.db, options)
    try {
      return await use(database, home)
    } finally {
      await database.close()
    }
  } finally {
    await home.lock.release()
  }
}

/** Opens the database of a stopped node, whose files are checked as a start checks them: more of them after a crash. */
async function withDatabase<T>(
  config: Config,
  signal: AbortSignal,
  use: (database: Database, home: Home) => Promise<T>,
): Promise<T> {
  const home = await openExistingHome(config)
  try {
    if (!existsSync(home.paths.db)) throw new ConfigError(`${home.paths.db} does not exist: the node has no chain yet`)
    const database = await openDatabase(home, createLogger(config.log), signal)
    try {
      return await use(database, home)
    } finally {
      await database.close()
    }
  } finally {
    await home.lock.release()
  }
}
