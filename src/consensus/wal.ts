import { mkdir, open, readdir, readFile, rename, rm, truncate } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { concatBytes } from '../primitives/bytes.ts'
import { syncDirectory } from '../storage/writeFileDurably.ts'
import { newerEntry } from './signer.ts'
import { encodeWalEntry, entryHeight, isSignerEntry, type SignerEntry, type WalEntry } from './walEntry.ts'
import {
  damaged,
  encodeSegmentHeader,
  encodeSyncMark,
  frameRecord,
  readSegment,
  SALT_LENGTH,
  WAL_ADVICE,
  WalError,
} from './walSegment.ts'

export interface WalOptions {
  readonly directory: string
  /** 32 bytes, named in each segment: a log of another genesis is refused */
  readonly genesisHash: Uint8Array
  /** returns unpredictable bytes */
  readonly randomBytes: (length: number) => Uint8Array
  /** size at which a new segment is begun; default 16 MB */
  readonly segmentBytes?: number
  readonly warn: (message: string, fields: Readonly<Record<string, unknown>>) => void
  /** default: the file system of this machine */
  readonly disk?: WalDisk
}

/** An entry that waits to be written. */
interface Pending {
  readonly payload: Uint8Array
  readonly height: number
  /** the entry itself, if the signer has to remember it */
  readonly signed: SignerEntry | undefined
}

interface Segment {
  readonly number: number
  /** highest height of its entries; 0 without any */
  height: number
}

const SEGMENT_NAME = /^(\d{8})\.wal$/

function segmentName(number: number): string {
  return `${String(number).padStart(8, '0')}.wal`
}

/**
 * Opens the log in `directory`, which is created when it is missing. The order:
 * 1. Read all segments and pass every entry to `replay`, oldest first. Damage before the end of the log is an error.
 * 2. Copy a torn end, which a crash may leave, to another file, and cut it off once the copy is on
 *    disk.
 * 3. Continue the newest segment, or begin the first. It is synced before this resolves: a restart must not act on entries that were
 *    written but never synced, because another crash could lose them.
 * @throws WalError when the log cannot be used: damage, another genesis, a newer format
 */
export async function openWal(options: WalOptions, replay: (entry: WalEntry) => void): Promise<Wal> {
  const { directory, genesisHash, warn, disk = nodeDisk } = options
  await disk.makeDirectory(directory)
  const numbers = await segmentNumbers(disk, directory)
  const segments: Segment[] = []
  let lastSigned: SignerEntry | undefined
  let current: { salt: Uint8Array; length: number } | undefined
  for (const [index, number] of numbers.entries()) {
    const path = join(directory, segmentName(number))
    const bytes = await disk.read(path)
    const segment: Segment = { number, height: 0 }
    // 1.
    const content = readSegment(path, bytes, genesisHash, (entry) => {
      if (entry.kind !== 'lastSigned') segment.height = Math.max(segment.height, entryHeight(entry))
      if (isSignerEntry(entry)) lastSigned = newerEntry(lastSigned, entry)
      if (entry.kind === 'lastSigned') lastSigned ??= entry.entry
      replay(entry)
    })
    const length = content?.length ?? 0
    // 2.
    if (length < bytes.length || content === undefined) {
      if (index < numbers.length - 1) throw damaged(path, length)
      await keepTornEnd(disk, path, bytes, length, warn)
    }
    if (content === undefined) {
      await disk.remove(path)
      break
    }
    segments.push(segment)
    current = content
  }
  // 3.
  const wal = new Wal(options, disk, segments, lastSigned)
  const last = segments.at(-1)
  if (last === undefined || current === undefined) await wal.startSegment(numbers.at(-1) ?? 1)
  else await wal.continueSegment(last, current)
  return wal
}

/** Numbers of the segments, ascending. */
async function segmentNumbers(disk: WalDisk, directory: string): Promise<number[]> {
  const numbers: number[] = []
  for (const name of await disk.list(directory)) {
    const number = SEGMENT_NAME.exec(name)?.[1]
    if (number !== undefined) numbers.push(Number(number))
  }
  numbers.sort((a, b) => a - b)
  for (const [index, number] of numbers.entries()) {
    const expected = numbers[0]! + index
    if (number !== expected) {
      throw new WalError(`${join(directory, segmentName(expected))} is missing: ${WAL_ADVICE}`)
    }
  }
  return numbers
}

async function keepTornEnd(
  disk: WalDisk,
  path: string,
  bytes: Uint8Array,
  length: number,
  warn: WalOptions['warn'],
): Promise<void> {
  const copy = `${path}.torn-${length}`
  const file = await disk.open(copy, 'w')
  try {
    await writeAll(file, bytes.subarray(length), 0)
  } finally {
    await file.close()
  }
  await disk.truncate(path, length)
  warn('write-ahead log had a torn end, which is cut off', {
    file: path,
    copy,
    offset: length,
    bytes: bytes.length - length,
  })
}

/**
 * The write-ahead log of one validator: its signatures, received messages and decided blocks. It
 * has only one writer. After a failed operation all further ones fail too: the contents of the disk
 * are unknown then, so the caller must halt.
 */
export class Wal {
  readonly #options: WalOptions
  readonly #disk: WalDisk
  readonly #segmentBytes: number
  /** oldest first; the last one is being written */
  readonly #segments: Segment[]
  #lastSigned: SignerEntry | undefined
  #file: WalFile | undefined
  #salt: Uint8Array = new Uint8Array(SALT_LENGTH)
  /** bytes of the current segment that are on stable storage */
  #syncedLength = 0
  #pending: Pending[] = []
  #running: Promise<void> = Promise.resolve()
  #next: Promise<void> | undefined
  #failure: Error | undefined

  /** Use {@link openWal}. */
  constructor(options: WalOptions, disk: WalDisk, segments: Segment[], lastSigned: SignerEntry | undefined) {
    this.#options = options
    this.#disk = disk
    this.#segmentBytes = options.segmentBytes ?? 16 << 20
    this.#segments = segments
    this.#lastSigned = lastSigned
  }

  get segmentCount(): number {
    return this.#segments.length
  }

  /**
   * Adds an entry in memory; {@link sync} makes it durable.
   * @throws WalError after a failure or `close`
   */
  append(entry: WalEntry): void {
    if (this.#failure !== undefined) throw this.#failure
    if (this.#file === undefined) throw new WalError('the write-ahead log is closed')
    const signed = isSignerEntry(entry) ? entry : undefined
    this.#pending.push({ payload: encodeWalEntry(entry), height: entryHeight(entry), signed })
  }

  /**
   * Resolves when everything appended so far is on stable storage. Calls made meanwhile share the next fdatasync. Rejects when the
   * disk fails (ENOSPC, EIO); then nothing that was signed since the last success may be used.
   */
  sync(): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure)
    this.#next ??= this.#enqueue(() => {
      this.#next = undefined
      return this.#flush()
    })
    return this.#next
  }

  /**
   * Drops the segments that only have entries of `height` or lower. The newest segment stays: it
   * has the signer's last signature.
   */
  prune(height: number): Promise<void> {
    const has = () => this.#segments.length > 1 && this.#segments[0]!.height <= height
    if (this.#failure !== undefined || !has()) return Promise.resolve()
    return this.#enqueue(async () => {
      while (has()) await this.#dropOldest()
    })
  }

  /** Makes everything durable and closes the file. */
  async close(): Promise<void> {
    try {
      if (this.#failure === undefined) await this.sync()
    } finally {
      const file = this.#file
      this.#file = undefined
      await file?.close()
    }
  }

  /** Continues a segment that was read, after syncing its content. For {@link openWal}. */
  async continueSegment(segment: Segment, { salt, length }: { salt: Uint8Array; length: number }): Promise<void> {
    this.#salt = salt
    this.#file = await this.#disk.open(join(this.#options.directory, segmentName(segment.number)), 'r+')
    await this.#file.sync()
    await this.#disk.syncDirectory(this.#options.directory)
    this.#syncedLength = length
  }

  /** Begins a segment with its header and the last signed message. Both are on stable storage before the segment is used. */
  async startSegment(number: number): Promise<void> {
    const { directory, genesisHash, randomBytes } = this.#options
    const path = join(directory, segmentName(number))
    const temporary = `${path}.new`
    await this.#disk.remove(temporary)
    const salt = randomBytes(SALT_LENGTH)
    const parts = [encodeSegmentHeader(genesisHash, salt)]
    const entry = this.#lastSigned
    if (entry !== undefined) parts.push(frameRecord(salt, encodeWalEntry({ kind: 'lastSigned', entry })))
    const bytes = concatBytes(...parts)
    const file = await this.#disk.open(temporary, 'wx')
    try {
      await writeAll(file, bytes, 0)
      await file.sync()
      await this.#disk.rename(temporary, path)
      await this.#disk.syncDirectory(this.#options.directory)
    } catch (error) {
      await file.close()
      throw error
    }
    await this.#file?.close()
    this.#file = file
    this.#salt = salt
    this.#syncedLength = bytes.length
    this.#segments.push({ number, height: 0 })
  }

  /** Runs `work` after the operations that are already waiting. The first failure is final. */
  #enqueue(work: () => Promise<void>): Promise<void> {
    const result = this.#running.then(async () => {
      if (this.#failure !== undefined) throw this.#failure
      try {
        await work()
      } catch (cause) {
        const why = cause instanceof Error ? cause.message : String(cause)
        this.#failure = new WalError(`the write-ahead log cannot be written: ${why}`, { cause })
        throw this.#failure
      }
    })
    this.#running = result.catch(() => {
      // The caller gets the error from `result`, later operations from #failure.
    })
    return result
  }

  async #flush(): Promise<void> {
    if (this.#pending.length === 0) return
    const file = this.#file
    if (file === undefined) throw new WalError('the write-ahead log is closed')
    const batch = this.#pending
    this.#pending = []
    const begin = this.#syncedLength
    const records = batch.map(({ payload }) => frameRecord(this.#salt, payload))
    const bytes = concatBytes(encodeSyncMark(begin, this.#salt), ...records)
    await writeAll(file, bytes, begin)
    await file.datasync()
    this.#syncedLength = begin + bytes.length
    const segment = this.#segments.at(-1)!
    for (const { height, signed } of batch) {
      segment.height = Math.max(segment.height, height)
      if (signed !== undefined) this.#lastSigned = newerEntry(this.#lastSigned, signed)
    }
    if (this.#syncedLength >= this.#segmentBytes) await this.startSegment(segment.number + 1)
  }

  async #dropOldest(): Promise<void> {
    const { directory } = this.#options
    const { number } = this.#segments[0]!
    const name = segmentName(number)
    for (const file of await this.#disk.list(directory)) {
      if (file.startsWith(`${name}.torn-`)) await this.#disk.remove(join(directory, file))
    }
    await this.#disk.remove(join(directory, name))
    this.#segments.shift()
    await this.#disk.syncDirectory(this.#options.directory)
  }
}

async function writeAll(file: WalFile, bytes: Uint8Array, position: number): Promise<void> {
  let done = 0
  while (done < bytes.length) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, position + done)
    if (bytesWritten === 0) throw new WalError('the disk takes no more bytes')
    done += bytesWritten
  }
}

/** An open file, as in `node:fs/promises`. */
export interface WalFile {
  write(bytes: Uint8Array, offset: number, length: number, position: number): Promise<{ readonly bytesWritten: number }>
  datasync(): Promise<void>
  sync(): Promise<void>
  close(): Promise<void>
}

/**
 * The file system as the write-ahead log uses it. Written data is on stable storage after the file's `sync` or `datasync`, a name in a
 * directory after `syncDirectory`. The simulator's disk loses everything else in a crash.
 */
export interface WalDisk {
  /** Creates the directory if it is missing. It is on stable storage afterwards. */
  makeDirectory(path: string): Promise<void>
  /** names, in any order */
  list(directory: string): Promise<readonly string[]>
  read(path: string): Promise<Uint8Array>
  /** @param flags `wx`: a new file; `w`: a new or emptied one; `r+`: an existing one */
  open(path: string, flags: 'wx' | 'w' | 'r+'): Promise<WalFile>
  rename(from: string, to: string): Promise<void>
  /** does nothing when there is no such file */
  remove(path: string): Promise<void>
  truncate(path: string, length: number): Promise<void>
  syncDirectory(path: string): Promise<void>
}

/** Only the owner may read the log. */
const FILE_MODE = 0o600
const DIRECTORY_MODE = 0o700

export const nodeDisk: WalDisk = {
  makeDirectory: async (path) => {
    const made = await mkdir(path, { recursive: true, mode: DIRECTORY_MODE })
    // If a power failure removed the directory, the signer would lose the memory of its signatures.
    if (made !== undefined) syncDirectory(dirname(made))
  },
  list: (directory) => readdir(directory),
  read: async (path) => {
    const file = await readFile(path)
    return new Uint8Array(file.buffer, file.byteOffset, file.length)
  },
  open: (path, flags) => open(path, flags, FILE_MODE),
  rename,
  remove: (path) => rm(path, { force: true }),
  truncate,
  syncDirectory: async (path) => {
    const directory = await open(path, 'r')
    try {
      await directory.sync()
    } finally {
      await directory.close()
    }
  },
}
