import { closeSync, existsSync, openSync, readdirSync, statSync } from 'node:fs'
import { damagedFile } from './damage.ts'
import { DatabaseError } from './database.ts'
import { logNumber, logPath, type OpenFile, readUint32, tablePaths } from './levelFormat.ts'
import { type Manifest, readManifest, readWholeFile, type Table, tablesIn } from './manifestFile.ts'
import { readRecords } from './recordFile.ts'
import { segmentFiles, verifySegmentFile } from './segmentFile.ts'
import { checkExtent, checkTableFrame } from './tableFile.ts'

/*
 * Finds damage in the files of a LevelDB directory by LevelDB's own checksums. LevelDB, as it is opened here, does not: it passes over
 * damaged records of its log, checks no checksum of a table, and begins a new database where CURRENT is lost.
 */

/** So many bytes of tables are read before a node answers; the background reads the others (`scrubTables`). */
export const START_BYTES = 256 << 20

/**
 * Checks a directory that no process has open:
 *
 * 1. CURRENT names a MANIFEST, and that is whole.
 * 2. Every table that it lists exists with its size.
 * 3. No write is missing within the logs. Their end may be: a killed process leaves it so, and the write-ahead log has the blocks.
 * 4. Every block of the tables has its checksum, the newest tables first, and every segment, until `bytes` are read.
 *
 * A directory without a database passes.
 * @param bytes by default all
 * @throws DatabaseError that names the file and the place
 */
export function verifyFiles(location: string, bytes = Number.POSITIVE_INFINITY): void {
  // 1.
  const manifest = readManifest(location)
  if (manifest === undefined) return
  // 2.
  for (const { number, size } of manifest.tables) {
    const path = tablePaths(location, number).find(existsSync)
    if (path === undefined) throw damagedFile(tablePaths(location, number)[0]!, undefined, 'it is missing')
    const found = statSync(path).size
    if (found !== size) throw damagedFile(path, undefined, `it has ${found} bytes instead of ${size}`)
  }
  // 3.
  checkLogs(location, manifest)
  // 4.
  let left = bytes
  for (const table of manifest.tables) {
    if (left <= 0) return
    for (const read of scrubTable(location, table)) left -= read
  }
  for (const path of segmentFiles(location)) {
    if (left <= 0) return
    for (const read of verifySegmentFile(path)) left -= read
  }
}

/**
 * Checks every table of a database that may be in use, in small steps: yields after each how many
 * bytes it has read, so that the caller can wait between them. Tables that are merged into others
 * meanwhile are skipped.
 * @throws DatabaseError that names the file and the place
 */
export function* scrubTables(location: string): Generator<number, void, void> {
  for (const table of readManifest(location)?.tables ?? []) yield* scrubTable(location, table)
}

/**
 * Finds every damaged file of LevelDB in a directory that no process has open. Yields an error for
 * each, with the first damage in it, and between them how many bytes were read. Without a readable
 * MANIFEST it checks the tables that are there.
 */
export function* findDamagedFiles(location: string): Generator<number | DatabaseError, void, void> {
  let manifest: Manifest | undefined
  try {
    manifest = readManifest(location)
    if (manifest !== undefined) checkLogs(location, manifest)
  } catch (error) {
    yield asDamage(error)
  }
  for (const table of manifest?.tables ?? tablesIn(location)) {
    try {
      yield* scrubTable(location, table)
    } catch (error) {
      yield asDamage(error)
    }
  }
}

/** @throws the error when it is not damage */
function asDamage(error: unknown): DatabaseError {
  if (error instanceof DatabaseError && error.code === 'corrupt') return error
  throw error
}

/** The search for the damage that a read has met ends after this many bytes of tables: half a minute. */
const SEARCH_BYTES = 8 * 2 ** 30

/**
 * Returns the error to report when a database that is closed again has failed. A read that
 * encountered damage does not know in which file, but the checksums of the tables may show it. All
 * other errors are returned as they are.
 */
export function nameDamagedFile(error: unknown, location: string): unknown {
  if (!isDamageWithoutName(error)) return error
  let left = SEARCH_BYTES
  try {
    for (const bytes of scrubTables(location)) {
      left -= bytes
      if (left < 0) break
    }
  } catch (found) {
    if (found instanceof DatabaseError) return new DatabaseError(found.code, found.message, error)
    // A search that fails otherwise must not hide the error that is reported.
  }
  return error
}

/** Checks by name and code: an error from another thread has lost its class. */
function isDamageWithoutName(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const isDamage = error.name === 'DatabaseError' && 'code' in error && error.code === 'corrupt'
  if (isDamage) return !/\d\.(ldb|sst|log|segment)\b|MANIFEST|CURRENT/.test(error.message)
  return isDamageWithoutName(error.cause)
}

/** Returns the bytes of all tables of a database that may be in use. @throws DatabaseError */
export function tableBytes(location: string): number {
  return (readManifest(location)?.tables ?? []).reduce((sum, { size }) => sum + size, 0)
}

function* scrubTable(location: string, table: Table): Generator<number, void, void> {
  const file = openTable(location, table)
  if (file === undefined) return
  try {
    for (const extent of checkTableFrame(file, table.size)) yield checkExtent(file, extent)
  } finally {
    closeSync(file.descriptor)
  }
}

/** Opens a table; returns undefined when it has gone because it was merged into others. */
function openTable(location: string, { number }: Table): OpenFile | undefined {
  const paths = tablePaths(location, number)
  for (const path of paths) {
    try {
      return { path, descriptor: openSync(path, 'r') }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }
  if (readManifest(location)?.tables.some((listed) => listed.number === number)) {
    throw damagedFile(paths[0]!, undefined, 'it is missing')
  }
  return undefined
}

/**
 * Checks the logs. Nothing is written behind a damaged or missing record: whatever follows one was
 * written before the damage. LevelDB skips such a record, and what follows would become the state
 * without what was before. Writes are numbered without gaps, which shows records that are missing
 * without a trace.
 */
function checkLogs(location: string, { firstLog, sequenceAtFirstLog }: Manifest): void {
  const logs = readdirSync(location)
    .map(logNumber)
    .filter((number) => number !== undefined)
    .filter((number) => number >= firstLog)
    .sort((a, b) => a - b)
  if (firstLog > 0 && logs[0] !== firstLog) throw damagedFile(logPath(location, firstLog), undefined, 'it is missing')
  let next = sequenceAtFirstLog + 1
  let isFirst = true
  /** where records are missing if there are further ones */
  let end: { readonly path: string; readonly offset: number; readonly isDamaged: boolean } | undefined
  for (const number of logs) {
    const path = logPath(location, number)
    const bytes = readWholeFile(path)
    const { records, damagedAt } = readRecords(bytes)
    for (const { offset, payload } of records) {
      if (damagedAt !== undefined && offset >= damagedAt) throw damagedFile(path, damagedAt, MISSING_WRITES)
      if (end?.isDamaged) throw damagedFile(end.path, end.offset, MISSING_WRITES)
      if (payload.length < BATCH_HEADER_BYTES) throw damagedFile(path, offset, 'a batch is too short')
      const { first, count } = readBatchHeader(payload)
      if (first > next) throw damagedFile(end?.path ?? path, end?.offset ?? offset, MISSING_WRITES)
      next = isFirst ? first + count : Math.max(next, first + count)
      isFirst = false
    }
    if (bytes.length > 0) end = { path, offset: damagedAt ?? bytes.length, isDamaged: damagedAt !== undefined }
  }
}

const MISSING_WRITES = 'writes are missing there'

/** The header of a batch: number of its first write (8 bytes, little-endian), how many it has (4 bytes). */
const BATCH_HEADER_BYTES = 12

function readBatchHeader(batch: Uint8Array): { readonly first: number; readonly count: number } {
  return { first: readUint32(batch, 4) * 2 ** 32 + readUint32(batch, 0), count: readUint32(batch, 8) }
}
