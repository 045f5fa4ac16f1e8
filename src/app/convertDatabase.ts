import { existsSync } from 'node:fs'
import { readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { equalBytes } from '../primitives/bytes.ts'
import { WriteBatch } from '../storage/batch.ts'
import { Column, columnKey } from '../storage/columns.ts'
import { Database, DatabaseError } from '../storage/database.ts'
import { freeBytesIn } from '../storage/diskBytes.ts'
import { encodeFormat, FORMAT_KEY, FORMER_FORMAT } from '../storage/format.ts'
import { StoredEntries } from '../storage/storedEntries.ts'
import { START_BYTES, scrubTables, tableBytes, verifyFiles } from '../storage/verifyFiles.ts'
import { syncDirectory } from '../storage/writeFileDurably.ts'
import type { DataPaths } from './dataDirectory.ts'

type DatabasePaths = Pick<DataPaths, 'db' | 'convertingDb' | 'replacedDb'>

interface ConversionProgress {
  /** all tables are checked before anything is converted */
  readonly step: 'checking' | 'converting'
  /** how much of it is done, from 0 to 1 */
  readonly share: number
  /** entries that were converted since this start */
  readonly entries: number
}

export interface ConversionOptions {
  /** called after every batch of a step */
  readonly onProgress: (progress: ConversionProgress) => void
  /** ends the conversion; the next one goes on where this one was */
  readonly signal?: AbortSignal | undefined
  /** size of the parts that are written, and synced, at once */
  readonly batchBytes?: number
  /** bytes that can be written to the file system of a directory */
  readonly freeBytes?: (directory: string) => Promise<number>
}

/** In the database that is being made: the head of the one that it is made from. No column has keys like this. */
const SOURCE_KEY = Uint8Array.of(0, 1)
const HEAD_KEY = columnKey(Column.chainMeta, new TextEncoder().encode('head'))
const BATCH_BYTES = 4 << 20
/** Checksums are as large as some values, and LevelDB merges tables meanwhile. */
const ROOM = 1.5

/**
 * Opens the database as `Database.open` does, for the process that has locked the data directory. Its files are checked before:
 * LevelDB would drop writes from damaged ones without a word, already when it opens them. A database in `FORMER_FORMAT`
 * is converted first:
 *
 * 1. What an earlier conversion has left of `db.replaced` is deleted, and all tables are checked, since checksums must not be made for
 *    values that are damaged.
 * 2. All entries are written to `db.converting`, in the order of their keys, each batch synced. An interrupted conversion goes on
 *    after the last key there, unless `db` has got another head meanwhile (by a start of the former version).
 * 3. The number of the format is written last: with it `db.converting` is complete.
 * 4. `db` becomes `db.replaced`, then `db.converting` becomes `db`. A start that finds only the other two finishes this: there are both
 *    only when `db.converting` is complete.
 * 5. `db.replaced` is deleted, and what the new `db` says of its source.
 *
 * @throws DatabaseError also when there is too little room; `options.signal.reason`
 */
export async function openConverted(paths: DatabasePaths, options: ConversionOptions): Promise<Database> {
  if (!existsSync(paths.db) && existsSync(paths.replacedDb) && existsSync(paths.convertingDb)) await finishSwap(paths)
  verifyFiles(paths.db, START_BYTES)
  try {
    return await openCurrent(paths)
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.code !== 'former') throw error
  }
  await convert(paths, options)
  return openCurrent(paths)
}

async function openCurrent({ db, convertingDb, replacedDb }: DatabasePaths): Promise<Database> {
  const database = await Database.open(db)
  if (database.get(FORMAT_KEY) === undefined) return database
  // The database is complete in this version's format: all else is left over.
  for (const path of [replacedDb, convertingDb]) await rm(path, { recursive: true, force: true })
  if (database.get(SOURCE_KEY) !== undefined) {
    const batch = new WriteBatch()
    batch.del(SOURCE_KEY)
    await database.write(batch, { sync: true })
  }
  return database
}

async function convert(paths: DatabasePaths, options: ConversionOptions): Promise<void> {
  await rm(paths.replacedDb, { recursive: true, force: true })
  syncDirectory(dirname(paths.db))
  await checkRoom(paths, options.freeBytes ?? freeBytesIn)
  await checkTables(paths.db, options)
  const source = await StoredEntries.open(paths.db)
  try {
    const target = await openTarget(paths.convertingDb, source.get(HEAD_KEY) ?? new Uint8Array())
    try {
      await copyEntries(source, target, options)
    } finally {
      await target.close()
    }
  } finally {
    await source.close()
  }
  syncDirectory(paths.convertingDb)
  await rename(paths.db, paths.replacedDb)
  await finishSwap(paths)
}

/** @throws DatabaseError when the conversion could fill the disk */
async function checkRoom(
  { db, convertingDb }: DatabasePaths,
  freeBytes: (directory: string) => Promise<number>,
): Promise<void> {
  const needed = Math.ceil((await bytesIn(db)) * ROOM) - (await bytesIn(convertingDb))
  const free = await freeBytes(dirname(db))
  if (free >= needed) return
  throw new DatabaseError(
    'io',
    `${db} is in format ${FORMER_FORMAT} and has to be converted, beside itself: that needs ${megabytes(needed)} MB, and there are ` +
      `${megabytes(free)}. Make room and start again; nothing was changed`,
    undefined,
  )
}

const megabytes = (bytes: number): number => Math.ceil(bytes / 1e6)

async function bytesIn(directory: string): Promise<number> {
  if (!existsSync(directory)) return 0
  let bytes = 0
  for (const name of await readdir(directory)) bytes += (await stat(join(directory, name))).size
  return bytes
}

/** @throws DatabaseError that names the damaged file; `signal.reason` */
async function checkTables(db: string, options: ConversionOptions): Promise<void> {
  const { onProgress, signal, batchBytes = BATCH_BYTES } = options
  const all = tableBytes(db)
  let checked = 0
  let told = 0
  for (const bytes of scrubTables(db)) {
    checked += bytes
    if (checked - told < batchBytes) continue
    told = checked
    onProgress({ step: 'checking', share: checked / all, entries: 0 })
    // A signal is noticed between two turns of the event loop.
    await setImmediate()
    signal?.throwIfAborted()
  }
}

/** The unfinished database, begun anew when it was not made from `db` as it is. */
async function openTarget(location: string, head: Uint8Array): Promise<Database> {
  if (existsSync(location)) {
    const begun = await openBegun(location, head)
    if (begun !== undefined) return begun
    await rm(location, { recursive: true })
  }
  const target = await Database.open(location)
  const batch = new WriteBatch()
  batch.put(SOURCE_KEY, head)
  await target.write(batch, { sync: true })
  return target
}

async function openBegun(location: string, head: Uint8Array): Promise<Database | undefined> {
  let target: Database | undefined
  try {
    // LevelDB would pass over writes that its log has lost, and the conversion goes on after the last one.
    verifyFiles(location, 0)
    target = await Database.open(location)
    const source = target.get(SOURCE_KEY)
    if (source !== undefined && equalBytes(source, head)) return target
  } catch (error) {
    // Its removal was interrupted, or its disk has failed: `db` still has everything.
    if (!(error instanceof DatabaseError) || error.code !== 'corrupt') throw error
  }
  await target?.close()
  return undefined
}

async function copyEntries(
  source: StoredEntries,
  target: Database,
  { onProgress, signal, batchBytes = BATCH_BYTES }: ConversionOptions,
): Promise<void> {
  let last = await lastKey(target)
  let entries = 0
  for await (const stored of source.batches(last, batchBytes)) {
    signal?.throwIfAborted()
    const batch = new WriteBatch()
    // Values of the former format are stored as they are; a batch adds their checksums.
    for (const [key, value] of stored) if (!equalBytes(key, FORMAT_KEY)) batch.put(key, value)
    await target.write(batch, { sync: true })
    entries += stored.length
    last = stored.at(-1)![0]
    onProgress({ step: 'converting', share: await source.shareUpTo(last), entries })
  }
  const end = new WriteBatch()
  end.put(FORMAT_KEY, encodeFormat())
  await target.write(end, { sync: true })
}

async function lastKey(target: Database): Promise<Uint8Array> {
  for await (const [key] of target.entries({ start: SOURCE_KEY, end: undefined, reverse: true, limit: 1 })) return key
  return SOURCE_KEY
}

/** After `db` became `db.replaced`: the only step of the swap that may be left to a later start. */
async function finishSwap({ db, convertingDb }: DatabasePaths): Promise<void> {
  // Both renames on the disk at once could leave neither name.
  syncDirectory(dirname(db))
  await rename(convertingDb, db)
  syncDirectory(dirname(db))
}
