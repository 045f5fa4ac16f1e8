import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigError } from '../config/configError.ts'
import { Database, DatabaseError } from '../storage/database.ts'
import { syncDirectory, writeFileDurably } from '../storage/writeFileDurably.ts'

/** Where things are below HOMEDIR. */
export interface DataPaths {
  readonly homedir: string
  /** genesis and keys: what a backup needs */
  readonly config: string
  readonly genesis: string
  /** consensus key in CometBFT's format */
  readonly validatorKey: string
  /** identity towards peers in CometBFT's format */
  readonly nodeKey: string
  /** state, blocks and indexes; only the executor thread writes it */
  readonly db: string
  /** write-ahead log of consensus and signer; only the main thread writes it */
  readonly wal: string
  /** addresses of peers that the network learnt; may be deleted */
  readonly addressBook: string
  /** present while a reset is under way, or was interrupted */
  readonly resetMarker: string
  /** a directory that the running process holds locked */
  readonly lock: string
  /** process ID of whoever holds the lock, for people */
  readonly pid: string
}

export function dataPaths(homedir: string): DataPaths {
  const config = join(homedir, 'config')
  return {
    homedir,
    config,
    genesis: join(config, 'genesis.json'),
    validatorKey: join(config, 'priv_validator_key.json'),
    nodeKey: join(config, 'node_key.json'),
    db: join(homedir, 'db'),
    wal: join(homedir, 'wal'),
    addressBook: join(homedir, 'peers.json'),
    resetMarker: join(homedir, 'reset-under-way'),
    lock: join(homedir, 'lock'),
    pid: join(homedir, 'coind.pid'),
  }
}

export interface HomeLock {
  release(): Promise<void>
}

/**
 * Makes this process the only one on the data directory, until `release` or the end of the process however it
 * ends. The lock is that of an empty LevelDB: the kernel drops it with the process, so no crash leaves it behind, and it holds
 * between containers that share a volume, where process IDs say nothing.
 * @throws ConfigError when another process holds it
 */
export async function lockHome(
  paths: Pick<DataPaths, 'homedir' | 'lock' | 'pid'>,
  processId: number,
): Promise<HomeLock> {
  mkdirSync(paths.homedir, { recursive: true, mode: 0o700 })
  const database = await openLock(paths)
  writeFileSync(paths.pid, `${processId}\n`)
  return {
    release: async () => {
      rmSync(paths.pid, { force: true })
      await database.close()
    },
  }
}

async function openLock(paths: Pick<DataPaths, 'homedir' | 'lock' | 'pid'>): Promise<Database> {
  try {
    return await Database.open(paths.lock, { cacheBytes: 0, writeBufferBytes: 64 << 10 })
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.code !== 'locked') throw error
    throw new ConfigError(`another coind${holder(paths.pid)} is using HOMEDIR ${paths.homedir}: stop it first`)
  }
}

function holder(pidFile: string): string {
  try {
    return ` (process ${readFileSync(pidFile, 'utf8').trim()})`
  } catch {
    // The file is a courtesy; the lock decides.
    return ''
  }
}

/** What is removed: everything that belongs to one chain. Keys and configuration stay. */
function chainParts(paths: DataPaths): readonly string[] {
  return [paths.genesis, paths.db, paths.wal, paths.addressBook]
}

/** What {@link resetHome} would remove, as paths that exist. */
export function partsToReset(paths: DataPaths): readonly string[] {
  return [...chainParts(paths), paths.resetMarker].filter((path) => existsSync(path))
}

/**
 * Removes the chain of a data directory, so that another one can begin under the same validator and node keys: genesis, database,
 * write-ahead log with what the signer remembers, and the address book, whose peers belong to the old chain. Call it with the
 * directory locked. A marker lies there from before the first removal until after the last: no node starts beside it, and a reset
 * that was killed is finished by running it again. The signer's memory goes last: never is there a chain without it.
 */
export function resetHome(paths: DataPaths): void {
  writeFileDurably(
    paths.resetMarker,
    'coind reset has begun to remove the chain in this directory: run it again\n',
    0o644,
  )
  rmSync(paths.genesis, { force: true })
  if (existsSync(paths.config)) syncDirectory(paths.config)
  for (const path of [paths.addressBook, paths.db, paths.wal]) rmSync(path, { recursive: true, force: true })
  syncDirectory(paths.homedir)
  rmSync(paths.resetMarker)
  syncDirectory(paths.homedir)
}
