import { existsSync, readFileSync, statSync } from 'node:fs'
import { copyFile, link, mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { tidySegments } from '../chain/segments/tidySegments.ts'
import { readHeadRecord } from '../chain/store/writeBlock.ts'
import { ConfigError } from '../config/configError.ts'
import { Database } from '../storage/database.ts'
import { segmentFiles, verifySegmentFile } from '../storage/segmentFile.ts'
import { refuseOtherFormat } from '../storage/storedFormat.ts'
import { scrubTables, tableBytes, verifyFiles } from '../storage/verifyFiles.ts'
import { syncDirectory, writeFileDurably } from '../storage/writeFileDurably.ts'
import { copyDatabase } from './copyDatabase.ts'
import { writeCopyMark } from './copyMark.ts'
import { isSwitching } from './currentDatabase.ts'
import { type DataPaths, dataPaths } from './dataDirectory.ts'
import { makeWorkDirectory } from './workDirectory.ts'

export interface BackupOptions {
  /** the data directory, of a node that may be running */
  readonly homedir: string
  /** directory to make */
  readonly out: string
  /** Whether it has the keys of validator and node, and with them `wal/`, which is what the signer remembers. */
  readonly withKeys: boolean
  /** ends the backup, which then leaves nothing */
  readonly signal: AbortSignal
  /** bytes of tables and segments that were read to verify them, of how many */
  readonly onProgress?: (bytes: number, total: number) => void
  /** lets other work of the process run, such as the handling of a stop signal */
  readonly pause: () => Promise<void>
}

/**
 * Copies a data directory, with the state of one moment, while its node may run:
 *
 * 1. Make `out.part`. The mark of a copy is in it before anything that could be started.
 * 2. Link the database's files in the data directory itself. That takes no time, and the node cannot delete them meanwhile.
 *    With the keys, copy the write-ahead log after that, so that the log has every block that the copy of the database lacks.
 * 3. Link or, on another file system, copy everything to `out.part`.
 * 4. Open the database there, which shows that it can be opened, and read the height for the mark.
 * 5. Verify all its files.
 * 6. Sync the files that are not synced yet, and rename `out.part` to `out`.
 *
 * A backup that fails or is ended leaves nothing; one that was killed leaves `out.part`, which the next one to `out` removes.
 * @returns the height of the newest block in the copy
 * @throws ConfigError; DatabaseError when the database is damaged, or in another format; `signal.reason`
 */
export async function makeBackup(options: BackupOptions): Promise<number> {
  const { homedir, out, withKeys, signal } = options
  const paths = dataPaths(homedir)
  for (const path of [paths.genesis, paths.db]) {
    if (!existsSync(path))
      throw new ConfigError(`${path} does not exist: HOMEDIR must be the data directory of a chain`)
  }
  if (isSwitching(paths)) throw new ConfigError(`the restore of ${homedir} is not finished: start the node first`)
  refuseOtherFormat(paths.db)
  if (!existsSync(dirname(out))) {
    throw new ConfigError(
      `${dirname(out)} does not exist: create that directory, or mount the disk for the backup, first`,
    )
  }
  if (existsSync(out)) throw new ConfigError(`${out} already exists: name a new directory, a backup overwrites nothing`)
  const part = `${out}.part`
  await removeLeftover(part)
  const work = await makeWorkDirectory(homedir)
  const stage = work.path
  try {
    // 1.
    await mkdir(part, { mode: 0o700 })
    const target = dataPaths(part)
    writeCopyMark(target.copyMark, 0)
    await copyConfig(paths, target, withKeys)
    // 2.
    await stageData(paths, stage, withKeys)
    signal.throwIfAborted()
    // 3.
    await transfer(stage, part, options)
    for (const file of ['addressBook', 'restoredFrom'] as const) {
      if (existsSync(paths[file])) writeFileDurably(target[file], readFileSync(paths[file], 'utf8'), 0o600)
    }
    // 4.
    const height = await readHeight(target.db)
    writeCopyMark(target.copyMark, height)
    // 5.
    await verify(target.db, options)
    // 6.
    await syncTree(part)
    if (existsSync(out))
      throw new ConfigError(`${out} was created in the meantime: name a new directory, a backup overwrites nothing`)
    await rename(part, out)
    syncDirectory(dirname(out))
    return height
  } catch (error) {
    await rm(part, { recursive: true, force: true })
    throw error
  } finally {
    await work.remove()
  }
}

/** @throws ConfigError when the directory was not left by a backup */
async function removeLeftover(part: string): Promise<void> {
  if (!existsSync(part)) return
  if (!existsSync(dataPaths(part).copyMark)) {
    throw new ConfigError(`${part} exists and was not written by a backup: move it away`)
  }
  await rm(part, { recursive: true })
}

async function copyConfig(paths: DataPaths, target: DataPaths, withKeys: boolean): Promise<void> {
  await mkdir(target.config, { mode: 0o700 })
  writeFileDurably(target.genesis, readFileSync(paths.genesis, 'utf8'), 0o644)
  if (!withKeys) return
  for (const key of ['validatorKey', 'nextValidatorKey', 'nodeKey'] as const) {
    if (existsSync(paths[key])) writeFileDurably(target[key], readFileSync(paths[key], 'utf8'), 0o600)
  }
}

/** The log drops its oldest segment about every 16 MB. */
const ATTEMPTS = 10

/** Links the database, and copies the write-ahead log, to `stage/db` and `stage/wal`. */
async function stageData({ db, wal }: DataPaths, stage: string, withWal: boolean): Promise<void> {
  const directory = join(stage, 'db')
  if (!withWal || !existsSync(wal)) return copyDatabase(db, directory)
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const [oldest] = await segmentsOf(wal)
    await copyDatabase(db, directory)
    // If a segment was dropped since, its blocks may be in neither copy.
    if (await copyLog(wal, join(stage, 'wal'), oldest)) return
    await rm(directory, { recursive: true })
    await rm(join(stage, 'wal'), { recursive: true })
  }
  throw new ConfigError(`${wal} changes so fast that it cannot be copied: try again, or stop the node`)
}

const LOG_SEGMENT = /^\d{8}\.wal$/

async function segmentsOf(wal: string): Promise<readonly string[]> {
  return (await readdir(wal)).filter((name) => LOG_SEGMENT.test(name)).sort()
}

/**
 * Copies the log's segments and the evidence. The newest segment may end within a record.
 * @returns false when a segment has disappeared meanwhile
 */
async function copyLog(wal: string, to: string, oldest: string | undefined): Promise<boolean> {
  await mkdir(to, { mode: 0o700 })
  try {
    for (const name of await segmentsOf(wal)) await copyFile(join(wal, name), join(to, name))
    const evidence = join(wal, 'evidence')
    if (existsSync(evidence)) {
      await mkdir(join(to, 'evidence'), { mode: 0o700 })
      for (const name of await readdir(evidence)) {
        if (name.endsWith('.evidence')) await copyFile(join(evidence, name), join(to, 'evidence', name))
      }
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
  return oldest === undefined || existsSync(join(to, oldest))
}

/** Puts the files of `from` into `to`, by links where that is the same file system. */
async function transfer(from: string, to: string, { signal }: Pick<BackupOptions, 'signal'>): Promise<void> {
  for (const entry of await readdir(from, { withFileTypes: true })) {
    signal.throwIfAborted()
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) {
      await mkdir(target, { mode: 0o700 })
      await transfer(source, target, { signal })
    } else {
      await linkOrCopy(source, target)
    }
  }
}

/** Errors of a link that a copy does not have. */
const NO_LINKS = new Set(['EXDEV', 'EPERM', 'EMLINK', 'ENOTSUP', 'EOPNOTSUPP'])

/** Links a file to a second name, or copies it where the file system cannot link; an existing file is an error. */
export async function linkOrCopy(source: string, target: string): Promise<void> {
  try {
    await link(source, target)
  } catch (error) {
    if (!NO_LINKS.has((error as NodeJS.ErrnoException).code ?? '')) throw error
    await copyFile(source, target)
  }
}

/** Opens the database, which writes its log to a table, and returns the height of its newest block. Every listed segment must exist. */
async function readHeight(location: string): Promise<number> {
  // LevelDB would pass over damaged records of its log.
  verifyFiles(location, 0)
  const database = await Database.open(location)
  try {
    const head = readHeadRecord(database)
    await tidySegments(database)
    if (head === undefined) throw new ConfigError('nothing to back up: the node has no blocks yet')
    return head.height
  } finally {
    await database.close()
  }
}

async function verify(location: string, { signal, onProgress, pause }: BackupOptions): Promise<void> {
  verifyFiles(location, 0)
  const segments = segmentFiles(location)
  const total = segments.reduce((sum, path) => sum + statSync(path).size, tableBytes(location))
  let done = 0
  for (const parts of [scrubTables(location), ...segments.map(verifySegmentFile)]) {
    for (const bytes of parts) {
      done += bytes
      onProgress?.(done, total)
      await pause()
      signal.throwIfAborted()
    }
  }
}

async function syncTree(directory: string): Promise<void> {
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name)
    if (entry.isDirectory()) {
      await syncTree(path)
      continue
    }
    const file = await open(path, 'r')
    try {
      await file.sync()
    } finally {
      await file.close()
    }
  }
  syncDirectory(directory)
}
