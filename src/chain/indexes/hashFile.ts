import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { bytesToBigInt, concatBytes, EMPTY_BYTES, equalBytes } from '../../primitives/bytes.ts'
import { decodeRLP, encodeRLP } from '../../primitives/rlp.ts'
import { damagedFile } from '../../storage/damage.ts'
import {
  createSegmentFile,
  HASHES_EXTENSION,
  PIECE_HEADER_BYTES,
  readSegmentIndex,
  readSegmentParts,
  type SegmentFrame,
  type SegmentIndex,
  segmentsDirectory,
  verifySegmentFile,
} from '../../storage/segmentFile.ts'
import { ByteSink, ByteSource, ColumnError } from '../segments/packedColumns.ts'
import { type HeightRange, rangeName } from '../segments/segments.ts'

/*
 * The hashes of blocks in segments, or of their transactions, with their heights, in files next to
 * the segments: LevelDB takes some twenty bytes for each, such a file six or seven. It is a file of
 * the same format as a segment (src/storage/segmentFile.ts). Its items are pages, 256 in a frame.
 * Hashes are spread evenly, so a page has those that begin with the same bits, as many bits as make
 * pages of 128 to 256 hashes:
 *
 *   page: crc32 of what follows, begun with the page's number (4) | for each hash, ascending: the difference of its first 6 bytes, as a
 *   number, to those before (of the first: to the lowest number of the page), then its height less the file's first one, both as varints
 *
 *   end: for each page its offset from the start of the first frame (6) and its length (4)
 *
 * So a look-up reads ten bytes of the end, and a page. It may return heights of other hashes that
 * begin with the same 6 bytes, which a reader compares: to make such a hash takes 2^48 attempts, so
 * there are few. To make hashes for one page takes far fewer, but a page of 100,000 hashes is still
 * read in a millisecond.
 */

/**
 * The hashed objects of a file: both kinds of header; or EVM and native transactions, EVM ones with
 * two hashes each.
 */
export const HASHED = ['blocks', 'transactions'] as const

export type Hashed = (typeof HASHED)[number]

/** Facts in the name of a file. */
interface NamedHashFile extends HeightRange {
  readonly of: Hashed
  /** Whether it was made of two files. One that was not ends where memory did, which its name does not say. */
  readonly isMerged: boolean
}

/** A file of hashes in the database's list. */
export interface HashFile extends NamedHashFile {
  /** of the file */
  readonly bytes: number
  readonly sha256: Uint8Array
  /** number of hashes */
  readonly count: number
  /** offsets in the file of the first frame, and of the part after the frames */
  readonly pages: number
  readonly directory: number
}

/** Bits of a hash that are stored: its first 6 bytes. */
const PREFIX_BITS = 48
const PAGE_HASHES = 256
const PAGES_PER_FRAME = 256
/** Number of pages read at once when all are read. */
const PAGES_READ = 16
const CRC_BYTES = 4
const OFFSET_BYTES = 6
const ENTRY_BYTES = OFFSET_BYTES + 4

/** Returns the first 6 bytes as a number; undefined for a shorter hash. */
export function hashPrefix(hash: Uint8Array): number | undefined {
  if (hash.length < PREFIX_BITS / 8) return undefined
  return Buffer.from(hash.buffer, hash.byteOffset, hash.length).readUIntBE(0, PREFIX_BITS / 8)
}

/** Of the file. */
export function hashFileName({ of, first, last, isMerged }: NamedHashFile): string {
  const heights = isMerged ? rangeName({ first, last }) : rangeName({ first, last: first }).split('-')[0]
  return `${heights}-${of}${HASHES_EXTENSION}`
}

export function hashFilePath(location: string, file: NamedHashFile): string {
  return join(segmentsDirectory(location), hashFileName(file))
}

/** Returns the bits of a hash that say which page it is in. */
function pageBits(count: number): number {
  let bits = 0
  while (count / 2 ** bits > PAGE_HASHES) bits++
  return bits
}

/** The numbers of a page are from `page * width` on, and below that of the next. */
function pageWidth(count: number): number {
  return 2 ** (PREFIX_BITS - pageBits(count))
}

/** Goes through hashes, ascending. */
export interface HashCursor {
  /** the first 6 bytes as a number; `Infinity` behind the last hash */
  readonly prefix: number
  readonly height: number
  advance(): void
}

/**
 * Hashes that are sorted in memory.
 * @param items first 6 bytes of each, then its height less `first` in 2 bytes
 */
export class SortedHashes implements HashCursor {
  prefix = 0
  height = 0
  readonly #items: BigUint64Array
  readonly #first: number
  #at = 0

  constructor(items: BigUint64Array, first: number) {
    this.#items = items.sort()
    this.#first = first
    this.advance()
  }

  advance(): void {
    const item = this.#items[this.#at++]
    this.prefix = item === undefined ? Number.POSITIVE_INFINITY : Number(item >> 16n)
    this.height = item === undefined ? 0 : this.#first + Number(item & 0xffffn)
  }
}

/** The hashes of a file, with a few pages in memory at a time. */
export class FileHashes implements HashCursor {
  prefix = 0
  height = 0
  readonly #path: string
  readonly #file: HashFile
  readonly #pages: number
  /** the first one that was not read */
  #page = 0
  #read: PageHashes[] = []

  /** @throws DatabaseError, as `advance` does, when the file is damaged */
  constructor(path: string, file: HashFile) {
    this.#path = path
    this.#file = file
    this.#pages = 2 ** pageBits(file.count)
    this.advance()
  }

  advance(): void {
    while (this.#read[0]?.advance() !== true) {
      this.#read.shift()
      if (this.#read.length > 0) continue
      if (this.#page === this.#pages) {
        this.prefix = Number.POSITIVE_INFINITY
        return
      }
      const end = Math.min(this.#page + PAGES_READ, this.#pages)
      this.#read = readPages(this.#path, this.#file, this.#page, end)
      this.#page = end
    }
    const { prefix, height } = this.#read[0]
    this.prefix = prefix
    this.height = height
  }
}

/** The hashes of two sources, merged. */
export class MergedHashes implements HashCursor {
  prefix = 0
  height = 0
  readonly #a: HashCursor
  readonly #b: HashCursor
  #next: HashCursor

  constructor(a: HashCursor, b: HashCursor) {
    this.#a = a
    this.#b = b
    this.#next = this.#take()
  }

  advance(): void {
    this.#next.advance()
    this.#next = this.#take()
  }

  #take(): HashCursor {
    const next = this.#b.prefix < this.#a.prefix ? this.#b : this.#a
    this.prefix = next.prefix
    this.height = next.height
    return next
  }
}

interface HashSource extends NamedHashFile {
  readonly count: number
  readonly hashes: HashCursor
}

/**
 * Writes a file: when this resolves, it is on stable storage, checked, and has replaced any other.
 * All nodes make the same bytes from the same blocks.
 * @param pause awaited between small steps; if it throws, the work ends and leaves nothing that
 * counts
 */
export async function writeHashFile(
  location: string,
  source: HashSource,
  pause: () => Promise<void>,
): Promise<HashFile> {
  const { of, first, last, isMerged, count } = source
  const directory = Buffer.alloc(ENTRY_BYTES * 2 ** pageBits(count))
  const numbers = [first, last, HASHED.indexOf(of), isMerged ? 1 : 0, count].map(BigInt)
  const content = {
    first: 0,
    label: encodeRLP(numbers),
    dictionary: EMPTY_BYTES,
    frames: packFrames(source, directory),
    end: directory,
  }
  const check = async (written: SegmentIndex): Promise<void> => {
    const hashes = new FileHashes(written.path, fileOf(written))
    let before = 0
    let found = 0
    for (; hashes.prefix < Number.POSITIVE_INFINITY; hashes.advance(), found++) {
      if (hashes.prefix < before) throw new Error(`the hashes in ${written.path} are not in their order`)
      before = hashes.prefix
      if (found % (PAGES_PER_FRAME * PAGE_HASHES) === 0) await pause()
    }
    if (found !== count) throw new Error(`${written.path} has ${found} hashes instead of ${count}`)
  }
  return fileOf(await createSegmentFile(hashFilePath(location, source), content, check, pause))
}

/** @param directory gets the places of the pages */
function* packFrames({ hashes, first, count }: HashSource, directory: Buffer): Iterable<SegmentFrame> {
  const pages = 2 ** pageBits(count)
  const width = pageWidth(count)
  let offset = 0
  for (let page = 0; page < pages; ) {
    const frame: Uint8Array[] = []
    const end = Math.min(page + PAGES_PER_FRAME, pages)
    offset += PIECE_HEADER_BYTES
    for (; page < end; page++) {
      const bytes = packPage(hashes, page, width, first)
      const at = directory.writeUIntBE(offset, page * ENTRY_BYTES, OFFSET_BYTES)
      directory.writeUInt32BE(bytes.length, at)
      offset += bytes.length
      frame.push(bytes)
    }
    yield { count: frame.length, bytes: concatBytes(...frame) }
  }
}

function packPage(hashes: HashCursor, page: number, width: number, first: number): Uint8Array {
  const sink = new ByteSink()
  let before = page * width
  for (const end = before + width; hashes.prefix < end; hashes.advance()) {
    sink.varint(hashes.prefix - before)
    sink.varint(hashes.height - first)
    before = hashes.prefix
  }
  const content = sink.written()
  const checksum = Buffer.alloc(CRC_BYTES)
  checksum.writeUInt32BE(crc32(content, page))
  return concatBytes(checksum, content)
}

/**
 * Reads the database's list entry from a file that {@link writeHashFile} has completed.
 * @throws DatabaseError when it is damaged
 */
export function readHashFile(path: string): HashFile {
  return fileOf(readSegmentIndex(path))
}

function fileOf({ path, bytes, sha256, label, frames }: SegmentIndex): HashFile {
  const [first, last, of, isMerged, count] = (decodeRLP(label) as Uint8Array[]).map((number) =>
    Number(bytesToBigInt(number)),
  )
  const hashed = HASHED[of ?? -1]
  if (count === undefined || hashed === undefined) throw damagedFile(path, undefined, 'it has no hashes')
  const end = frames.at(-1)!
  return {
    of: hashed,
    first: first!,
    last: last!,
    isMerged: isMerged === 1,
    bytes,
    sha256: sha256.slice(),
    count,
    pages: frames[0]!.offset,
    directory: end.offset + 2 * PIECE_HEADER_BYTES + end.bytes,
  }
}

/** Returns the items of a file's list entry. */
export function encodeHashFile({ first, last, isMerged, bytes, sha256, count, pages, directory }: HashFile) {
  return [sha256, ...[first, last, isMerged ? 1 : 0, bytes, count, pages, directory].map(BigInt)]
}

export function decodeHashFile(of: Hashed, [sha256, ...items]: readonly Uint8Array[]): HashFile {
  const [first, last, isMerged, bytes, count, pages, directory] = items.map((item) => Number(bytesToBigInt(item)))
  return {
    of,
    first: first!,
    last: last!,
    isMerged: isMerged === 1,
    bytes: bytes!,
    sha256: sha256!,
    count: count!,
    pages: pages!,
    directory: directory!,
  }
}

/**
 * Returns the heights of the blocks that may be meant, ascending.
 * @param prefix see {@link hashPrefix}
 * @throws DatabaseError when the file is missing or damaged
 */
export function heightsInFile(location: string, file: HashFile, prefix: number): readonly number[] {
  const page = Math.floor(prefix / pageWidth(file.count))
  const hashes = readPages(hashFilePath(location, file), file, page, page + 1)[0]!
  const heights: number[] = []
  while (hashes.advance() && hashes.prefix <= prefix) if (hashes.prefix === prefix) heights.push(hashes.height)
  return heights
}

/** Reads the pages from `from` on, without `end`. @throws DatabaseError when one is damaged */
function readPages(path: string, { first, last, pages, directory, count }: HashFile, from: number, end: number) {
  return readSegmentParts(path, (readAt) => {
    const read: PageHashes[] = []
    for (let page = from; page < end; page++) {
      const entryAt = directory + page * ENTRY_BYTES
      const entry = Buffer.from(readAt(entryAt, ENTRY_BYTES).buffer)
      const offset = pages + entry.readUIntBE(0, OFFSET_BYTES)
      const length = entry.readUInt32BE(OFFSET_BYTES)
      if (length < CRC_BYTES || offset + length > directory) throw damagedFile(path, entryAt, 'it names no page')
      const bytes = readAt(offset, length)
      const content = bytes.subarray(CRC_BYTES)
      if (crc32(content, page) !== Buffer.from(bytes.buffer).readUInt32BE()) {
        throw damagedFile(path, offset, 'a page does not have its checksum')
      }
      const damaged = (cause: ColumnError): Error =>
        damagedFile(path, offset, `a page cannot be decoded: ${cause.message}`, cause)
      read.push(new PageHashes(content, page * pageWidth(count), { first, last }, damaged))
    }
    return read
  })
}

class PageHashes {
  prefix: number
  height = 0
  readonly #source: ByteSource
  readonly #range: HeightRange
  readonly #damaged: (cause: ColumnError) => Error

  constructor(content: Uint8Array, lowest: number, range: HeightRange, damaged: (cause: ColumnError) => Error) {
    this.prefix = lowest
    this.#source = new ByteSource(content)
    this.#range = range
    this.#damaged = damaged
  }

  /** Moves to the next hash; false at the end. @throws DatabaseError */
  advance(): boolean {
    if (this.#source.isAtEnd) return false
    try {
      this.prefix += this.#source.varint()
      this.height = this.#range.first + this.#source.varint()
      if (this.height > this.#range.last) throw new ColumnError('a height is of another file')
    } catch (error) {
      throw error instanceof ColumnError ? this.#damaged(error) : error
    }
    return true
  }
}

/**
 * Checks a listed file in small steps, and yields the number of bytes read after each.
 * @throws DatabaseError when it is missing, damaged or a different file
 */
export function* checkHashFile(location: string, file: HashFile): Generator<number, void, void> {
  const path = hashFilePath(location, file)
  yield* verifySegmentFile(path)
  if (equalBytes(readSegmentIndex(path).sha256, file.sha256)) return
  throw damagedFile(path, undefined, 'it is not the file that the database lists')
}
