import { resolve } from 'node:path'
import { ClassicLevel } from 'classic-level'
import type { WriteBatch } from './batch.ts'
import { checkedValue } from './checksum.ts'
import { columnName } from './columns.ts'
import { FORMAT, formatOf } from './format.ts'

export type Level = ClassicLevel<Uint8Array, Uint8Array>
type LevelSnapshot = ReturnType<Level['snapshot']>
type ReadOptions = { readonly keyEncoding: 'view'; readonly valueEncoding: 'view'; readonly snapshot: LevelSnapshot }

/** Keys from `start` (included) to `end` (excluded; undefined for the end of the database). */
export interface KeyRange {
  readonly start: Uint8Array
  readonly end: Uint8Array | undefined
  readonly reverse?: boolean
  readonly limit?: number
}

/** Looks up single keys. */
export interface KeyReader {
  get(key: Uint8Array): Uint8Array | undefined
  /** see `DatabaseOptions.onDamage`: for damage that only shows in what entries say of each other */
  readonly onDamage?: ((error: DatabaseError) => void) | undefined
}

/** Looks up many keys at once, in another thread. */
export interface BulkReader {
  /**
   * Returns the values in the order of the keys, as of the call.
   * @throws DatabaseError, as `KeyReader.get`
   */
  getMany(keys: readonly Uint8Array[]): Promise<readonly (Uint8Array | undefined)[]>
}

/** A readable database: its present contents or a snapshot. */
export interface DatabaseReader extends KeyReader {
  /** its directory */
  readonly location: string
  /** of a snapshot: the database as it is now */
  readonly newest?: KeyReader
  /** Yields entries of the range in key order, as of the first step of the iteration. */
  entries(range: KeyRange): AsyncIterable<readonly [Uint8Array, Uint8Array]>
}

/** A database as it was at one moment, until it is closed. */
export interface DatabaseView extends DatabaseReader, BulkReader {
  /** whether a range read first writes the entries that are delayed in memory (`BufferedDatabase`); by default false */
  readonly rangesFlush?: boolean
  close(): Promise<void>
}

/** A database for its only writer. */
export interface WritableDatabase extends DatabaseReader {
  snapshot(): DatabaseView
  /** Writes the whole batch or nothing; with `sync` it is on stable storage when this returns. */
  write(batch: WriteBatch, options: { readonly sync: boolean }): Promise<void>
}

/** `format`: a chain in another format */
export type DatabaseErrorCode = 'locked' | 'corrupt' | 'absent' | 'format' | 'io'

export class DatabaseError extends Error {
  override readonly name = 'DatabaseError'
  readonly code: DatabaseErrorCode

  constructor(code: DatabaseErrorCode, message: string, cause: unknown) {
    super(message, { cause })
    this.code = code
  }
}

export interface DatabaseOptions {
  /** If true, the database is not created, and `write` throws. By default false. */
  readonly readOnly?: boolean
  /** If true, a chain whose number of its format is damaged is opened too: for a repair. By default false. */
  readonly mayBeDamaged?: boolean
  /** block cache in bytes; the value of the first handle in the process counts */
  readonly cacheBytes?: number
  /** size in bytes at which the memory table is written to a file */
  readonly writeBufferBytes?: number
  /**
   * Called when a read encounters damage, in addition to the error that the read throws: the code
   * that catches that error may take it for the failure of a single request. `close` closes the
   * handle.
   */
  readonly onDamage?: ((error: DatabaseError, close: () => Promise<void>) => void) | undefined
}

const VIEWS = { keyEncoding: 'view', valueEncoding: 'view' } as const

/** State that the readers of a handle share. */
interface Handle {
  readonly level: Level
  readonly onDamage: ((error: DatabaseError) => void) | undefined
}

/**
 * LevelDB keeps 1,000 files open. With its default of 2 MB a file, a read of a database above 2 GB would often have to open a file
 * first, which takes ten times as long as the read.
 */
const FILE_BYTES = 16 << 20

/** By default. The state's hot entries are cached decoded, and what else is read often is in the system's memory. */
const CACHE_BYTES = 16 << 20
/**
 * By default; LevelDB has up to two. With larger ones it merges less, but longer at a time, and a start reads more from its log: half a second
 * for so many bytes. Where many accounts change, a fourth of them takes LevelDB twice the processor time (docs/benchmarks.md).
 */
const WRITE_BUFFER_BYTES = 32 << 20

/** Bytes of a key that an error shows. */
const SHOWN_KEY_BYTES = 64

/**
 * One LevelDB directory. Threads of one process may each open it; another process may not. The handle that was opened first must be
 * closed last, because it owns LevelDB's block cache: otherwise the process crashes. The end of a thread closes its handles, so the
 * main thread must be the first to open the database.
 *
 * Each value is stored with a checksum (see `CHECKSUM_BYTES`), which callers do not see: a read of a value that was damaged throws.
 */
export class Database implements WritableDatabase {
  readonly location: string
  readonly readOnly: boolean
  readonly #handle: Handle

  private constructor(location: string, readOnly: boolean, handle: Handle) {
    this.location = location
    this.readOnly = readOnly
    this.#handle = handle
  }

  /**
   * Opens the directory; a writer creates it when it is absent.
   * @throws DatabaseError, also when the directory holds a chain in another format: LevelDB has then merged its log into a table, which
   * `refuseOtherFormat` prevents
   */
  static async open(location: string, options: DatabaseOptions = {}): Promise<Database> {
    const { readOnly = false, mayBeDamaged = false, onDamage } = options
    const level = await openLevel(location, options)
    try {
      checkFormat(level, mayBeDamaged)
      const handle = { level, onDamage: onDamage && ((error: DatabaseError) => onDamage(error, () => level.close())) }
      return new Database(level.location, readOnly, handle)
    } catch (error) {
      await level.close()
      throw error
    }
  }

  get onDamage(): KeyReader['onDamage'] {
    return this.#handle.onDamage
  }

  /** @throws DatabaseError when a file or the value is damaged, or cannot be read */
  get(key: Uint8Array): Uint8Array | undefined {
    return readValue(this.#handle, key, undefined)
  }

  getMany(keys: readonly Uint8Array[]): Promise<readonly (Uint8Array | undefined)[]> {
    return readValues(this.#handle, keys, VIEWS)
  }

  entries(range: KeyRange): AsyncIterable<readonly [Uint8Array, Uint8Array]> {
    return readEntries(this.#handle, range, undefined)
  }

  /** Returns the database as it is now, until it is closed. */
  snapshot(): DatabaseSnapshot {
    return new DatabaseSnapshot(this.#handle)
  }

  /**
   * Writes the whole batch or nothing. With `sync`, this batch and everything written before it is
   * on disk when this returns.
   * Without it, the batch survives a crash of the process but not of the machine.
   * @throws DatabaseError; after it the contents are unknown until the database is opened again
   */
  async write(batch: WriteBatch, options: { readonly sync: boolean }): Promise<void> {
    if (this.readOnly) throw new Error('the database was opened for reading')
    if (batch.length === 0 && !options.sync) return
    // A chained batch takes half the time of the array form on this thread.
    const chain = this.#handle.level.batch()
    batch.forEachStored((key, value) => {
      if (value === undefined) chain.del(key)
      else chain.put(key, value)
    })
    // LevelDB would not sync its file for an empty batch; it does for the delete of a key that no column uses.
    if (chain.length === 0) chain.del(Uint8Array.of(0))
    try {
      await chain.write({ sync: options.sync })
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error)
      const advice = 'check the disk and the space on it, then start again'
      throw new DatabaseError('io', `${this.location} cannot be written: ${text}: ${advice}`, error)
    }
  }

  /** Returns the bytes in files that the keys from `start` to `end` take; the newest writes may not be counted. */
  approximateSize(start: Uint8Array, end: Uint8Array): Promise<number> {
    return this.#handle.level.approximateSize(start, end)
  }

  /** Merges the files of a range, which drops overwritten and deleted entries. */
  compact(start: Uint8Array, end: Uint8Array): Promise<void> {
    return this.#handle.level.compactRange(start, end)
  }

  /** Waits for running operations. Closes all snapshots too. */
  close(): Promise<void> {
    return this.#handle.level.close()
  }
}

/** The database as it was when the snapshot was made. Reads of single keys are synchronous, range reads asynchronous. */
export class DatabaseSnapshot implements DatabaseView {
  readonly #handle: Handle
  readonly #snapshot: LevelSnapshot
  readonly #options: ReadOptions

  constructor(handle: Handle) {
    this.#handle = handle
    this.#snapshot = handle.level.snapshot()
    this.#options = { keyEncoding: 'view', valueEncoding: 'view', snapshot: this.#snapshot }
  }

  get location(): string {
    return this.#handle.level.location
  }

  get onDamage(): KeyReader['onDamage'] {
    return this.#handle.onDamage
  }

  get newest(): KeyReader {
    return { get: (key) => readValue(this.#handle, key, undefined) }
  }

  /** @throws DatabaseError when a file or the value is damaged, or cannot be read; Error after `close` */
  get(key: Uint8Array): Uint8Array | undefined {
    return readValue(this.#handle, key, this.#options)
  }

  getMany(keys: readonly Uint8Array[]): Promise<readonly (Uint8Array | undefined)[]> {
    return readValues(this.#handle, keys, this.#options)
  }

  entries(range: KeyRange): AsyncIterable<readonly [Uint8Array, Uint8Array]> {
    return readEntries(this.#handle, range, this.#snapshot)
  }

  /** Waits for running range reads of the snapshot. */
  close(): Promise<void> {
    return this.#snapshot.close()
  }
}

/**
 * Opens the directory without a look at what is in it.
 * @throws DatabaseError
 */
export async function openLevel(location: string, options: DatabaseOptions): Promise<Level> {
  const { readOnly = false, cacheBytes = CACHE_BYTES, writeBufferBytes = WRITE_BUFFER_BYTES } = options
  // LevelDB recognizes handles of the same database by the text of the path.
  const path = resolve(location)
  const level: Level = new ClassicLevel(path, {
    keyEncoding: 'view',
    valueEncoding: 'view',
    multithreading: true,
    createIfMissing: !readOnly,
    cacheSize: cacheBytes,
    writeBufferSize: writeBufferBytes,
    maxFileSize: FILE_BYTES,
  })
  try {
    await level.open()
  } catch (error) {
    throw openError(path, error)
  }
  return level
}

/** @throws DatabaseError */
function checkFormat(level: Level, mayBeDamaged: boolean): void {
  const { location } = level
  const format = formatOf((key) => level.getSync(key))
  if (format === undefined || format === FORMAT) return
  if (format !== 'damaged') throw otherFormat(location, format)
  if (!mayBeDamaged) throw damage(location, 'the number of its format does not match its checksum', undefined)
}

/** Returns the error for a chain in another format, with what to do. */
export function otherFormat(location: string, format: number): DatabaseError {
  const message =
    format < FORMAT
      ? `${location} has format ${format}: an older version of coind wrote it, whose rules differ, and this version needs format ${FORMAT}. ` +
        'Start a new chain with a new data directory (HOMEDIR), or run the version that wrote this one'
      : `${location} has format ${format}: a newer version of coind wrote it, and this version needs format ${FORMAT}. Run the version ` +
        'that wrote it'
  return new DatabaseError('format', message, undefined)
}

function readValue({ level, onDamage }: Handle, key: Uint8Array, options: ReadOptions | undefined) {
  const name = outsideOfHeap(key)
  try {
    const stored = options === undefined ? level.getSync(name) : level.getSync<Uint8Array, Uint8Array>(name, options)
    return stored && verifiedValue(level, name, stored)
  } catch (error) {
    throw readError(level.location, error, onDamage)
  }
}

async function readValues(
  { level, onDamage }: Handle,
  keys: readonly Uint8Array[],
  options: Omit<ReadOptions, 'snapshot'>,
): Promise<readonly (Uint8Array | undefined)[]> {
  try {
    const stored = await level.getMany<Uint8Array, Uint8Array>(keys as Uint8Array[], options)
    return stored.map((value, index) => value && verifiedValue(level, keys[index]!, value))
  } catch (error) {
    throw readError(level.location, error, onDamage)
  }
}

async function* readEntries(
  { level, onDamage }: Handle,
  range: KeyRange,
  snapshot: LevelSnapshot | undefined,
): AsyncIterable<readonly [Uint8Array, Uint8Array]> {
  const { start, end, reverse = false, limit = -1 } = range
  const options = { gte: start, reverse, limit, ...(end && { lt: end }), ...(snapshot && { snapshot }) }
  const iterator = level.iterator<Uint8Array, Uint8Array>({ keyEncoding: 'view', valueEncoding: 'view', ...options })
  try {
    for (let entry = await iterator.next(); entry !== undefined; entry = await iterator.next()) {
      yield [asBytes(entry[0]), verifiedValue(level, entry[0], entry[1])]
    }
  } catch (error) {
    throw readError(level.location, error, onDamage)
  } finally {
    await iterator.close()
  }
}

/** @throws DatabaseError when the value is not what was written under this key */
function verifiedValue({ location }: Level, key: Uint8Array, stored: Uint8Array): Uint8Array {
  const value = checkedValue(key, stored)
  if (value !== undefined) return value
  const name = Buffer.from(key.subarray(1, 1 + SHOWN_KEY_BYTES)).toString('hex')
  const rest = key.length > 1 + SHOWN_KEY_BYTES ? '…' : ''
  throw damage(location, `the value of ${columnName(key[0])} 0x${name}${rest} does not match its checksum`, undefined)
}

const keyMemory = new Uint8Array(256)

/**
 * Returns a copy in memory outside of the heap. V8 would permanently move a small array there when
 * it is passed to LevelDB.
 */
function outsideOfHeap(key: Uint8Array): Uint8Array {
  const { length } = key
  if (length > 64) return key
  for (let i = 0; i < length; i++) keyMemory[i] = key[i]!
  return keyMemory.subarray(0, length)
}

/**
 * Returns a plain array: LevelDB returns `Buffer`s, whose `slice` shares memory, and all other code
 * here expects `Uint8Array`s.
 */
function asBytes(value: Uint8Array): Uint8Array {
  return new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
}

/** Advice to the operator about damage. */
export const DAMAGE_ADVICE =
  'check the disk, then stop the node and run `coind repair`, which finds all damage and says how to mend it; do not put back an older ' +
  'wal/ or a copy of the whole directory from before the last start of a validator, which could sign twice (docs/operations.md, "A ' +
  'damaged disk")'

function damage(location: string, what: string, cause: unknown): DatabaseError {
  return new DatabaseError('corrupt', `${location} is damaged (${what}): ${DAMAGE_ADVICE}`, cause)
}

/**
 * Returns the error for a failed read: LevelDB reports a damaged file when it cannot decode one of
 * its blocks. Other errors are returned as they are.
 * @param onDamage is told when the database is damaged
 */
export function readError(location: string, error: unknown, onDamage: Handle['onDamage']): unknown {
  const known = error instanceof DatabaseError ? error : levelError(location, error)
  if (known?.code === 'corrupt') onDamage?.(known)
  return known ?? error
}

function levelError(location: string, error: unknown): DatabaseError | undefined {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  const text = cause instanceof Error ? cause.message : String(cause)
  // A read behind the end of a file that was cut off is an invalid argument.
  if (/^Corruption/.test(text) || /^IO error: .*(Invalid argument|No such file)/.test(text)) {
    return damage(location, text, error)
  }
  if (!/^IO error/.test(text)) return undefined
  return new DatabaseError('io', `${location} cannot be read: ${text}: check the disk`, error)
}

function openError(path: string, error: unknown): DatabaseError {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  const code = typeof cause === 'object' && cause !== null && 'code' in cause ? cause.code : undefined
  const text = cause instanceof Error ? cause.message : String(cause)
  if (code === 'LEVEL_LOCKED') {
    return new DatabaseError('locked', `${path} is in use by another process`, error)
  }
  if (/does not exist \(create_if_missing is false\)/.test(text)) {
    return new DatabaseError('absent', `${path} holds no database`, error)
  }
  // CURRENT names a file that does not exist.
  const isCut = text.startsWith(`IO error: ${path}/`) && /No such file/.test(text) && !text.includes(`${path}/LOCK`)
  if (code === 'LEVEL_CORRUPTION' || isCut || /^Corruption|missing files|CURRENT/i.test(text)) {
    return damage(path, text, error)
  }
  return new DatabaseError('io', `${path} cannot be opened: ${text}`, error)
}
