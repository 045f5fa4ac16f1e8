import { existsSync, statSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import type { InvariantReport } from './app/checkInvariants.ts'
import { dataPaths } from './app/dataDirectory.ts'
import type { Executor } from './app/executor.ts'
import { readGenesisFile } from './app/initNode.ts'
import type { Pruned } from './app/pruner.ts'
import type { Reindexed } from './app/reindex.ts'
import type { Repaired } from './app/repair/repairDatabase.ts'
import type { ChainConfig } from './chain/chainConfig.ts'
import { chainConfigOf } from './chain/genesis.ts'
import type {
  BackupOptions,
  BackupReport,
  BlockRange,
  Compacted,
  CreateSnapshotOptions,
  DirectoryExport,
  DirectoryExportOptions,
  ExportOptions,
  ImportOptions,
  InitReport,
  RepairOptions,
  RollbackOptions,
  RunningNode,
  StartOptions,
} from './cli/ports.ts'
import type { Config } from './config/config.ts'
import { ConfigError } from './config/configError.ts'
import { bytesToHex } from './primitives/bytes.ts'
import type { MadeSnapshot } from './snapshot/makeSnapshot.ts'
import type { ShelvedSnapshot } from './snapshot/shelf.ts'
import type { VerifiedSnapshot } from './snapshot/verifySnapshot.ts'
import type { Database } from './storage/database.ts'
import { createLogger } from './telemetry/logger.ts'
import { startProgress } from './telemetry/progress.ts'
import {
  type Home,
  loadOrCreateNodeKey,
  openDatabase,
  openExistingHome,
  openHome,
  settleDatabase,
} from './threads/openHome.ts'

/**
 * Starts the node in the configured data directory; resolves when it serves its ports.
 * @throws the reason of the options' signal when that is aborted before, after everything that was begun has been undone
 */
export async function startNode(config: Config, options: StartOptions): Promise<RunningNode> {
  const logger = createLogger(config.log)
  const { signal = new AbortController().signal, allowsOlder = false, onThreadsLeft = () => undefined } = options
  try {
    const home = await openHome(config, options, logger)
    const { runNode } = await import('./threads/runNode.ts')
    return await runNode(config, home, logger, { signal, allowsOlder, onThreadsLeft })
  } catch (error) {
    if (error === signal.reason) logger.info('node has stopped')
    throw error
  }
}

/** Prepares the data directory without starting anything. */
export async function initNode(config: Config, options: StartOptions): Promise<InitReport> {
  const home = await openHome(config, options, createLogger(config.log))
  await home.lock.release()
  return {
    isFresh: home.init.isFresh,
    genesisPath: home.paths.genesis,
    genesisHash: bytesToHex(home.init.genesisHash).slice(2),
    chainId: home.chain.chainId,
    nodeId: home.nodeKey.id,
    warnings: home.init.warnings,
  }
}

/** Writes blocks of a stopped node to a file. */
export async function exportBlocks(config: Config, { out, from, to, signal }: ExportOptions): Promise<BlockRange> {
  const { openChainReader } = await import('./chain/store.ts')
  const { exportBlocks: writeBlockFile } = await import('./app/exportBlocks.ts')
  const { Database } = await import('./storage/database.ts')
  const { START_BYTES, verifyFiles } = await import('./storage/verifyFiles.ts')
  const home = await openExistingHome(config)
  try {
    verifyFiles(home.paths.db, START_BYTES)
    const database = await Database.open(home.paths.db, { readOnly: true })
    try {
      const reader = openChainReader(database)
      const range = { from: from ?? Math.max(reader.oldestBlock, 1), to: to ?? reader.headHeight }
      const total = range.to - range.from + 1
      const progress = startProgress({ title: 'exporting blocks', unit: 'blocks', total })
      try {
        const { genesisHash } = home.chain
        await writeBlockFile({ chain: reader, genesisHash, path: out, signal, progress, ...range })
      } finally {
        progress.end()
      }
      return range
    } finally {
      await database.close()
    }
  } finally {
    await home.lock.release()
  }
}

/** Writes blocks to a directory for web servers, from a copy of the database. */
export async function exportDirectory(
  config: Config,
  { out, to, signal }: DirectoryExportOptions,
): Promise<DirectoryExport> {
  const { openChainReader } = await import('./chain/store.ts')
  const { exportDirectory: writeFiles } = await import('./app/exportDirectory.ts')
  const identity = ownChain(config)
  if (identity === undefined) throw noGenesis(config)
  return withDatabaseCopy(config, async (database) => {
    const progress = startProgress({ title: 'exporting blocks', unit: 'blocks' })
    try {
      return await writeFiles({ chain: openChainReader(database), identity, directory: out, to, signal, progress })
    } finally {
      progress.end()
    }
  })
}

/** Executes blocks in a stopped node. */
export async function importBlocks(config: Config, { place, signal }: ImportOptions): Promise<BlockRange> {
  const { blocksIn, importBlocks: importFile, importDirectory } = await import('./app/importBlocks.ts')
  const { BLOCKS_FILES } = await import('./snapshot/blocksManifest.ts')
  const { publicFiles } = await import('./snapshot/publicFiles.ts')
  const home = await openExistingHome(config)
  try {
    const { chain, paths } = home
    // Before the executor opens it: the files are checked, and one in the former format is converted.
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

/** Opens databases of a stopped node to execute blocks that are decided. */
async function offlineExecutors(
  config: Config,
  { chain, genesis, headers }: Home,
): Promise<(location: string) => Promise<Executor>> {
  const { openExecutor } = await import('./app/executor.ts')
  const { chooseEngine } = await import('./evm/engines/createEngine.ts')
  const { checkPrecompiles, chooseShadow, openThreadEngine } = await import('./threads/threadEngine.ts')
  const { precompileTable } = await import('./precompiles/registry.ts')
  const kind = await chooseEngine(config.evmEngine)
  await checkPrecompiles(kind)
  const shadowKind = await chooseShadow(config)
  const engine = await openThreadEngine(kind)
  const shadow = shadowKind === undefined ? undefined : await openThreadEngine(shadowKind)
  return (location) =>
    openExecutor({
      location,
      chain,
      genesis,
      engine,
      shadow,
      precompiles: precompileTable(chain.registeredPrecompiles),
      candidates: { candidates: async () => [] },
      pruning: config.pruning,
      blockHistory: config.blockHistory,
      headers,
      index: config.index,
      skipUpgrades: config.skipUpgrades,
      buildBudgetMs: 0,
      defer: (work) => work(),
      now: () => performance.now(),
      later: () => undefined,
      onPublished: () => undefined,
    })
}

/**
 * Takes the database of a stopped node back to an earlier block. The write-ahead log stays as it is: the signer goes on remembering what
 * it signed, and the next start executes again the blocks that the log has.
 */
export async function rollback(config: Config, { to, save, signal }: RollbackOptions): Promise<BlockRange> {
  const { checkRollback, rollback: undoBlocks } = await import('./app/rollback.ts')
  const { decidesAlone } = await import('./consensus/recovery.ts')
  const { openChainReader } = await import('./chain/store.ts')
  const { exportBlocks: writeBlockFile } = await import('./app/exportBlocks.ts')
  const { Database } = await import('./storage/database.ts')
  const { START_BYTES, verifyFiles } = await import('./storage/verifyFiles.ts')
  const home = await openExistingHome(config)
  try {
    verifyFiles(home.paths.db, START_BYTES)
    const database = await Database.open(home.paths.db)
    try {
      const from = checkRollback(database, to)
      if (from === to) return { from, to }
      const reader = openChainReader(database)
      const validators = reader.validatorSetAt(to + 1)
      if (save !== undefined) {
        const { genesisHash } = home.chain
        await writeBlockFile({ chain: reader, genesisHash, path: save, from: to + 1, to: from, signal })
      } else if (validators !== undefined && decidesAlone(validators, home.validatorKey.publicKey)) {
        throw new ConfigError(
          `this validator alone decides the blocks, so no peer has those above ${to}: keep them with --save FILE, for coind import`,
        )
      }
      const progress = startProgress({ title: 'undoing blocks', unit: 'blocks', total: from - to })
      progress.update(0)
      try {
        return await undoBlocks(database, to, { signal, onBlock: (height) => progress.update(from - height) })
      } finally {
        progress.end()
      }
    } finally {
      await database.close()
    }
  } finally {
    await home.lock.release()
  }
}

/** Deletes at once what the settings do not keep, from the database of a stopped node. */
export async function pruneDatabase(config: Config, signal: AbortSignal): Promise<Pruned> {
  const { pruneNow } = await import('./app/pruner.ts')
  const { pruning, blockHistory, index } = config
  return withDatabase(config, signal, (database, { headers }) =>
    pruneNow({
      database,
      pruning,
      blockHistory,
      headers,
      index,
      progressOf: startProgress,
      signal,
      pause: () => setImmediate(),
    }),
  )
}

/** Makes the indexes of a stopped node what its blocks say. */
export async function reindexDatabase(config: Config, signal: AbortSignal): Promise<Reindexed> {
  const { reindex } = await import('./app/reindex.ts')
  return withDatabase(config, signal, (database) =>
    reindex({ database, index: config.index, progressOf: startProgress, signal }),
  )
}

/** Finds what is damaged in the database of a stopped node, and mends it, or puts another one in its place. */
export async function repairDatabase(config: Config, options: RepairOptions): Promise<Repaired> {
  const { repairDatabase: repair } = await import('./app/repair/repairDatabase.ts')
  const { beginSwitch, keepOldDatabase } = await import('./app/currentDatabase.ts')
  const { snapshotFor } = await import('./threads/beginFromSnapshot.ts')
  const { decidesAlone } = await import('./consensus/recovery.ts')
  const home = await openExistingHome(config)
  try {
    const { chain, paths, validatorKey } = home
    const logger = createLogger(config.log)
    const snapshot = () => snapshotFor({ config, home, logger, allowsOlder: true, signal: options.signal })
    /** most repairs need none */
    let executors: ReturnType<typeof offlineExecutors> | undefined
    if (!existsSync(paths.db)) throw new ConfigError(`${paths.db} does not exist: the node has no chain yet`)
    await removeStaleCopies(paths.homedir)
    const sortDirectory = await mkdtemp(join(paths.homedir, `copy-${process.pid}-`))
    try {
      const repaired = await repair({
        ...options,
        location: paths.db,
        target: paths.restoringDb,
        sortDirectory,
        chain,
        index: config.index,
        keepsBlocks: config.blockHistory === 0,
        snapshot,
        decidesAlone: (validators) => decidesAlone(validators, validatorKey.publicKey),
        openExecutor: async (location) => {
          executors ??= offlineExecutors(config, home)
          return (await executors)(location)
        },
        progressOf: startProgress,
      })
      if (repaired.rebuiltTo === undefined) return repaired
      beginSwitch(paths, repaired.isFromSnapshot ? snapshot()!.source : null)
      keepOldDatabase(paths)
      await settleDatabase(home, logger)
      return repaired
    } finally {
      await rm(sortDirectory, { recursive: true })
    }
  } finally {
    await home.lock.release()
  }
}

/** Merges the files of the database of a stopped node. */
export async function compactDatabase(config: Config, signal: AbortSignal): Promise<Compacted> {
  const { compactDatabase: compact } = await import('./storage/compactDatabase.ts')
  const { directoryBytes } = await import('./storage/diskBytes.ts')
  return withDatabase(config, signal, async (database) => {
    const bytesBefore = await directoryBytes(database.location)
    const progress = startProgress({ title: 'merging the files of the database', unit: 'bytes' })
    try {
      await compact({ database, progress, signal })
    } finally {
      progress.end()
    }
    return { bytesBefore, bytesAfter: await directoryBytes(database.location) }
  })
}

/** Opens the database of a stopped node, whose files are checked, and which is converted where it is in the former format. */
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

/** Checks the files of the database, then the newest state in a copy of it. */
export async function checkInvariants(config: Config): Promise<InvariantReport> {
  const { checkInvariants: check } = await import('./app/checkInvariants.ts')
  const { createViewCaches, openView } = await import('./state/view.ts')
  const { scrubTables } = await import('./storage/verifyFiles.ts')
  return withDatabaseCopy(config, (database) => check(openView(database, createViewCaches())), scrubTables)
}

/** Makes a snapshot from a copy of the database. */
export async function createSnapshot(
  config: Config,
  { out, height, signal }: CreateSnapshotOptions,
): Promise<MadeSnapshot & { readonly height: number }> {
  const { BLOCKS_AFTER_SNAPSHOT, makeSnapshot } = await import('./snapshot/makeSnapshot.ts')
  const { readStateHead } = await import('./state/head.ts')
  const chain = ownChain(config)
  if (chain === undefined) throw noGenesis(config)
  const progress = startProgress({ title: 'making a snapshot', unit: 'bytes' })
  const pause = async ({ bytes }: MadeSnapshot): Promise<void> => {
    progress.update(bytes)
    // A turn of the event loop, which has the signals.
    await setImmediate()
    signal.throwIfAborted()
  }
  try {
    return await withDatabaseCopy(config, async (database) => {
      const of = height ?? (readStateHead(database)?.height ?? 0) - BLOCKS_AFTER_SNAPSHOT
      return { height: of, ...(await makeSnapshot(database, chain, { height: of, directory: out, pause })) }
    })
  } finally {
    progress.end()
  }
}

/** Checks a snapshot, and that it is of the chain in the data directory if there is one. */
export async function verifySnapshot(
  config: Config,
  place: string | URL,
  signal: AbortSignal,
): Promise<VerifiedSnapshot> {
  const { filesAt, filesIn } = await import('./snapshot/snapshotFiles.ts')
  const { verifySnapshot: verify } = await import('./snapshot/verifySnapshot.ts')
  const progress = startProgress({ title: 'verifying the snapshot', unit: 'chunks' })
  try {
    return await verify(typeof place === 'string' ? filesIn(place) : filesAt(place, signal), {
      chain: ownChain(config),
      onChunk: async (done, total) => {
        progress.update(done, total)
        await setImmediate()
        signal.throwIfAborted()
      },
    })
  } finally {
    progress.end()
  }
}

export async function listSnapshots(config: Config): Promise<readonly ShelvedSnapshot[]> {
  const { readShelf } = await import('./snapshot/shelf.ts')
  return readShelf(dataPaths(config.homedir).snapshots)
}

function noGenesis({ homedir }: Config): ConfigError {
  return new ConfigError(`${homedir} has no genesis: HOMEDIR must be a data directory`)
}

/** The chain of the genesis in the data directory; undefined when it has none. */
function ownChain(config: Config): ChainConfig | undefined {
  const { genesis } = dataPaths(config.homedir)
  return existsSync(genesis) ? chainConfigOf(readGenesisFile(genesis)) : undefined
}

/**
 * Opens a copy of the database, which costs almost no time and space: a node that runs there is not disturbed.
 * @param check steps that read the original first
 */
async function withDatabaseCopy<T>(
  config: Config,
  use: (database: Database) => Promise<T>,
  check: (db: string) => Iterable<unknown> = () => [],
): Promise<T> {
  const { copyDatabase } = await import('./app/copyDatabase.ts')
  const { Database } = await import('./storage/database.ts')
  const { verifyFiles } = await import('./storage/verifyFiles.ts')
  const { currentDatabase } = await import('./app/currentDatabase.ts')
  const paths = dataPaths(config.homedir)
  const { homedir } = paths
  const db = currentDatabase(paths)
  if (!existsSync(db)) throw new ConfigError(`${db} does not exist: HOMEDIR must be the data directory of a chain`)
  // Runs all steps of the check.
  Array.from(check(db))
  await removeStaleCopies(homedir)
  const directory = await mkdtemp(join(homedir, `copy-${process.pid}-`))
  try {
    const copy = join(directory, 'db')
    await copyDatabase(db, copy)
    // Its list of files and its logs, which a running node goes on writing in the original.
    verifyFiles(copy, 0)
    const database = await Database.open(copy)
    try {
      return await use(database)
    } finally {
      await database.close()
    }
  } finally {
    await rm(directory, { recursive: true })
  }
}

/** Copies the data directory of a node that may be running to a new directory, and marks it as a copy. */
export async function backUp(config: Config, { out, withKeys, signal }: BackupOptions): Promise<BackupReport> {
  const { makeBackup } = await import('./app/backup.ts')
  const { homedir } = dataPaths(config.homedir)
  if (existsSync(homedir)) await removeStaleCopies(homedir)
  const progress = startProgress({ title: 'verifying the backup', unit: 'bytes' })
  try {
    const height = await makeBackup({
      homedir,
      out,
      withKeys,
      processId: process.pid,
      signal,
      onProgress: (done, total) => progress.update(done, total),
      pause: () => setImmediate(),
    })
    return { height }
  } finally {
    progress.end()
  }
}

/** Removes copies of checks and other commands that were ended by a signal: they would keep deleted tables on the disk. */
async function removeStaleCopies(homedir: string): Promise<void> {
  for (const name of await readdir(homedir)) {
    const id = /^copy-(\d+)-/.exec(name)?.[1]
    if (id !== undefined && !isRunning(Number(id))) await rm(join(homedir, name), { recursive: true })
  }
}

function isRunning(processId: number): boolean {
  try {
    return process.kill(processId, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** The node ID that peers and /rpc/status show; the key is created when it is absent. */
export async function showNodeId(config: Config): Promise<string> {
  const paths = dataPaths(config.homedir)
  await mkdir(paths.config, { recursive: true, mode: 0o700 })
  return loadOrCreateNodeKey(paths).id
}
