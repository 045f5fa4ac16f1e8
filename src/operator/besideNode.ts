import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import type { ChainConfig } from '../chain/genesis/chainConfig.ts'
import { chainConfigOf } from '../chain/genesis/genesis.ts'
import type {
  BackupOptions,
  BackupReport,
  CreateSnapshotOptions,
  DirectoryExport,
  DirectoryExportOptions,
} from '../cli/ports.ts'
import type { Config } from '../config/config.ts'
import { ConfigError } from '../config/configError.ts'
import type { InvariantReport } from '../datadir/checkInvariants.ts'
import { copyDatabase } from '../datadir/copyDatabase.ts'
import { dataPaths } from '../datadir/dataDirectory.ts'
import { readGenesisFile } from '../datadir/initNode.ts'
import type { MadeSnapshot } from '../snapshot/makeSnapshot.ts'
import type { ShelvedSnapshot } from '../snapshot/shelf.ts'
import type { VerifiedSnapshot } from '../snapshot/verifySnapshot.ts'
import type { Database } from '../storage/database.ts'
import { startProgress } from '../telemetry/progress.ts'
import type { Finding } from './doctor/finding.ts'

/*
 * Commands of an operator that work while the node runs: they read a copy of the database, made of links, or files that never change.
 */

/** Writes blocks to a directory for web servers, from a copy of the database. */
export async function exportDirectory(
  config: Config,
  { out, signal, ...options }: DirectoryExportOptions,
): Promise<DirectoryExport> {
  const { openChainReader } = await import('../chain/store/chainReader.ts')
  const { exportDirectory: writeFiles } = await import('../datadir/exportDirectory.ts')
  const identity = ownChain(config)
  if (identity === undefined) throw noGenesis(config)
  return withDatabaseCopy(config, async (database) => {
    const progress = startProgress({ title: 'exporting blocks', unit: 'blocks' })
    try {
      const chain = openChainReader(database)
      return await writeFiles({ chain, identity, directory: out, to: undefined, ...options, signal, progress })
    } finally {
      progress.end()
    }
  })
}

/** Checks the files of the database, then the newest state in a copy. */
export async function checkInvariants(config: Config): Promise<InvariantReport> {
  const { checkInvariants: check } = await import('../datadir/checkInvariants.ts')
  const { createViewCaches, openView } = await import('../state/view.ts')
  const { scrubTables } = await import('../storage/verifyFiles.ts')
  return withDatabaseCopy(config, (database) => check(openView(database, createViewCaches())), scrubTables)
}

/** Makes a snapshot from a copy of the database. */
export async function createSnapshot(
  config: Config,
  { out, height, mirrors, signal }: CreateSnapshotOptions,
): Promise<MadeSnapshot & { readonly height: number }> {
  const { BLOCKS_AFTER_SNAPSHOT, makeSnapshot } = await import('../snapshot/makeSnapshot.ts')
  const { readStateHead } = await import('../state/head.ts')
  const chain = ownChain(config)
  if (chain === undefined) throw noGenesis(config)
  const progress = startProgress({ title: 'creating a snapshot', unit: 'bytes' })
  const pause = async ({ bytes }: MadeSnapshot): Promise<void> => {
    progress.update(bytes)
    // A turn of the event loop, which has the signals.
    await setImmediate()
    signal.throwIfAborted()
  }
  try {
    return await withDatabaseCopy(config, async (database) => {
      const of = height ?? (readStateHead(database)?.height ?? 0) - BLOCKS_AFTER_SNAPSHOT
      return { height: of, ...(await makeSnapshot(database, chain, { height: of, directory: out, mirrors, pause })) }
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
  const { filesAt, filesIn } = await import('../snapshot/snapshotFiles.ts')
  const { verifySnapshot: verify } = await import('../snapshot/verifySnapshot.ts')
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
  const { readShelf } = await import('../snapshot/shelf.ts')
  return readShelf(dataPaths(config.homedir).snapshots)
}

function noGenesis({ homedir }: Config): ConfigError {
  return new ConfigError(`${homedir} has no genesis: set HOMEDIR to a data directory`)
}

/** Returns the chain of the genesis in the data directory; undefined when there is no genesis. */
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
  const { Database } = await import('../storage/database.ts')
  const { verifyFiles } = await import('../storage/verifyFiles.ts')
  const { refuseOtherFormat } = await import('../storage/storedFormat.ts')
  const { currentDatabase } = await import('../datadir/currentDatabase.ts')
  const { makeWorkDirectory } = await import('../datadir/workDirectory.ts')
  const paths = dataPaths(config.homedir)
  const { homedir } = paths
  const db = currentDatabase(paths)
  if (!existsSync(db)) throw new ConfigError(`${db} does not exist: set HOMEDIR to the data directory of a chain`)
  refuseOtherFormat(db)
  // Runs all steps of the check.
  Array.from(check(db))
  const work = await makeWorkDirectory(homedir)
  try {
    const copy = join(work.path, 'db')
    await copyDatabase(db, copy)
    // Its list of files and its logs, which a running node continues to write in the original.
    verifyFiles(copy, 0)
    const database = await Database.open(copy)
    try {
      return await use(database)
    } finally {
      await database.close()
    }
  } finally {
    await work.remove()
  }
}

/** Copies the data directory of a node that may be running to a new directory, and marks it as a copy. */
export async function backUp(config: Config, { out, withKeys, signal }: BackupOptions): Promise<BackupReport> {
  const { makeBackup } = await import('../datadir/backup.ts')
  const { homedir } = dataPaths(config.homedir)
  const progress = startProgress({ title: 'verifying the backup', unit: 'bytes' })
  try {
    const height = await makeBackup({
      homedir,
      out,
      withKeys,
      signal,
      onProgress: (done, total) => progress.update(done, total),
      pause: () => setImmediate(),
    })
    return { height }
  } finally {
    progress.end()
  }
}

/** Looks for what keeps a node with these settings from its work. */
export async function examineNode(config: Config): Promise<ReadonlyMap<string, readonly Finding[]>> {
  return (await import('./doctor/examineNode.ts')).examineNode(config)
}
