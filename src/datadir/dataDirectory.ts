import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigError } from '../config/configError.ts'
import { type DirectoryLock, isLockHeld, openDirectoryLock } from '../storage/directoryLock.ts'
import { syncDirectory, writeFileDurably } from '../storage/writeFileDurably.ts'

const LOCK_POLL_MS = 200

/** Paths below HOMEDIR. */
export interface DataPaths {
  readonly homedir: string
  /** genesis and keys: what a backup needs */
  readonly config: string
  readonly genesis: string
  /** consensus key in CometBFT's format */
  readonly validatorKey: string
  /** public key of the remote signer (PRIV_VALIDATOR_LADDR); written when one connects for the first time */
  readonly signerPublicKey: string
  /** the consensus key to which the validator rotates, if there is one */
  readonly nextValidatorKey: string
  /** key of the node's identity in the network, in CometBFT's format */
  readonly nodeKey: string
  /** state, blocks and indexes; only the executor thread writes it */
  readonly db: string
  /** write-ahead log of consensus and signer; only the main thread writes it */
  readonly wal: string
  /** the database that a restore makes from a snapshot (src/datadir/restoreSnapshot.ts) */
  readonly restoringDb: string
  /** a damaged database that a repair has replaced; may be deleted */
  readonly damagedDb: string
  /** present while that takes the place of `db` (src/datadir/currentDatabase.ts) */
  readonly databaseSwitch: string
  /** where the last restored snapshot came from */
  readonly restoredFrom: string
  /** complete snapshots, each in a directory with its height as name; may be deleted */
  readonly snapshots: string
  /** there if this directory is a copy whose validator must not sign yet (src/datadir/copyMark.ts) */
  readonly copyMark: string
  /** known addresses of peers; may be deleted */
  readonly addressBook: string
  /** accepted transactions of this node's clients; only the pool thread writes it; may be deleted */
  readonly poolJournal: string
  /** the upgrade for which the node has stopped, for a supervisor (src/execution/upgradeInfo.ts) */
  readonly upgradeInfo: string
  /** versions of the software, of `coind supervise` (src/operator/supervise/versions.ts) */
  readonly versions: string
  /** present while a reset is under way, or was interrupted */
  readonly resetMarker: string
  /** a directory that the running process holds locked */
  readonly lock: string
  /** ID of the process that holds the lock, for people to read */
  readonly pid: string
}

export function dataPaths(homedir: string): DataPaths {
  const config = join(homedir, 'config')
  return {
    homedir,
    config,
    genesis: join(config, 'genesis.json'),
    validatorKey: join(config, 'priv_validator_key.json'),
    signerPublicKey: join(config, 'priv_validator_pub_key.json'),
    nextValidatorKey: join(config, 'priv_validator_key.next.json'),
    nodeKey: join(config, 'node_key.json'),
    db: join(homedir, 'db'),
    wal: join(homedir, 'wal'),
    restoringDb: join(homedir, 'db.restoring'),
    damagedDb: join(homedir, 'db.damaged'),
    databaseSwitch: join(homedir, 'database-switch'),
    restoredFrom: join(homedir, 'restored-from'),
    snapshots: join(homedir, 'snapshots'),
    copyMark: join(homedir, 'copy-mark.json'),
    addressBook: join(homedir, 'peers.json'),
    poolJournal: join(homedir, 'pool.journal'),
    upgradeInfo: join(homedir, 'data', 'upgrade-info.json'),
    versions: join(homedir, 'versions'),
    resetMarker: join(homedir, 'reset-under-way'),
    lock: join(homedir, 'lock'),
    pid: join(homedir, 'coind.pid'),
  }
}

export interface HomeLock {
  /** whether the process before did not release it: it was killed, it crashed, or the machine lost power */
  readonly wasLeft: boolean
  release(): Promise<void>
}

/**
 * Makes this process the only one that uses the data directory, until `release` or the end of the process.
 * @throws ConfigError when another process holds it
 */
export async function lockHome(
  paths: Pick<DataPaths, 'homedir' | 'lock' | 'pid'>,
  processId: number,
): Promise<HomeLock> {
  mkdirSync(paths.homedir, { recursive: true, mode: 0o700 })
  const database = await openLock(paths)
  const wasLeft = existsSync(paths.pid)
  try {
    writeFileSync(paths.pid, `${processId}\n`)
  } catch (error) {
    await database.close()
    throw error
  }
  return {
    wasLeft,
    release: async () => {
      try {
        rmSync(paths.pid, { force: true })
      } finally {
        await database.close()
      }
    },
  }
}

/** Waits until no process uses the data directory. @throws ConfigError when one still does after this time */
export async function waitForHome(
  paths: Pick<DataPaths, 'homedir' | 'lock' | 'pid'>,
  timeoutMs: number,
  sleep: (milliseconds: number) => Promise<void>,
): Promise<void> {
  mkdirSync(paths.homedir, { recursive: true, mode: 0o700 })
  for (let waitedMs = 0; ; waitedMs += LOCK_POLL_MS) {
    try {
      await (await openLock(paths)).close()
      return
    } catch (error) {
      if (!(error instanceof ConfigError) || waitedMs >= timeoutMs) throw error
      await sleep(LOCK_POLL_MS)
    }
  }
}

async function openLock(paths: Pick<DataPaths, 'homedir' | 'lock' | 'pid'>): Promise<DirectoryLock> {
  try {
    return await openDirectoryLock(paths.lock)
  } catch (error) {
    if (!isLockHeld(error)) throw error
    throw new ConfigError(`another coind${holder(paths.pid)} is using HOMEDIR ${paths.homedir}: stop it first`)
  }
}

function holder(pidFile: string): string {
  try {
    return ` (process ${readFileSync(pidFile, 'utf8').trim()})`
  } catch {
    // The file only informs people; the lock decides.
    return ''
  }
}

/** Returns everything that belongs to one chain, without keys and configuration. */
function chainParts(paths: DataPaths): readonly string[] {
  return [
    paths.genesis,
    ...databaseDirectories(paths),
    paths.restoredFrom,
    ...leftByRestores(paths),
    paths.wal,
    paths.copyMark,
    paths.snapshots,
    paths.addressBook,
    ...poolJournals(paths),
    paths.upgradeInfo,
  ]
}

/**
 * Returns the paths of the pool's journal, of one that was set aside, and of files that a killed
 * process has left (src/mempool/poolJournal.ts).
 */
function poolJournals({ poolJournal }: Pick<DataPaths, 'poolJournal'>): readonly string[] {
  return [poolJournal, `${poolJournal}.aside`, `${poolJournal}.new`]
}

/** Logs that restores have set aside (src/consensus/setLogAside.ts), and what killed restores have left next to `restoringDb`. */
const LEFT_BY_RESTORES = /^(wal\.aside-\d+(-\d+)?|wal\.new|db\.restoring\.genesis)$/

function leftByRestores({ homedir }: Pick<DataPaths, 'homedir'>): readonly string[] {
  const names = existsSync(homedir) ? readdirSync(homedir) : []
  return names.filter((name) => LEFT_BY_RESTORES.test(name)).map((name) => join(homedir, name))
}

/** Returns the directories of the database, and those that a restore or a repair may have left next to it. */
export function databaseDirectories(paths: DataPaths): readonly string[] {
  const { databaseSwitch, db, restoringDb, damagedDb } = paths
  return [databaseSwitch, db, restoringDb, damagedDb]
}

/** Returns the existing paths that {@link resetHome} would remove. */
export function partsToReset(paths: DataPaths): readonly string[] {
  return [...chainParts(paths), paths.resetMarker].filter((path) => existsSync(path))
}

/**
 * Removes the chain from a data directory, so that another one can start with the same validator and node keys. It removes
 * genesis, database, snapshots, write-ahead log (the signer's memory), the pool's journal, and the address book, whose peers belong
 * to the old chain. Call it with the directory locked. A marker file exists from before the first removal until after the last:
 * while it exists, no node starts, and running the reset again finishes an interrupted one. The signer's memory is removed last, so
 * that there is never a chain without it.
 */
export function resetHome(paths: DataPaths): void {
  writeFileDurably(
    paths.resetMarker,
    'coind reset started to remove the chain in this directory and did not finish: run it again\n',
    0o644,
  )
  rmSync(paths.genesis, { force: true })
  if (existsSync(paths.config)) syncDirectory(paths.config)
  for (const path of [
    paths.addressBook,
    ...poolJournals(paths),
    paths.upgradeInfo,
    paths.snapshots,
    paths.restoredFrom,
    ...databaseDirectories(paths),
    ...leftByRestores(paths),
    paths.wal,
    paths.copyMark,
  ])
    rmSync(path, { recursive: true, force: true })
  syncDirectory(paths.homedir)
  rmSync(paths.resetMarker)
  syncDirectory(paths.homedir)
}
