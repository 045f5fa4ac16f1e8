import { join } from 'node:path'
import { bytesToBigInt, equalBytes } from '../../primitives/bytes.ts'
import { decodeRLP, encodeRLP } from '../../primitives/rlp.ts'
import type { WriteBatch } from '../../storage/batch.ts'
import { Column, columnKey, heightBytes, readHeight } from '../../storage/columns.ts'
import { damagedFile, damagedIn } from '../../storage/damage.ts'
import { DatabaseError, type DatabaseReader, type KeyReader } from '../../storage/database.ts'
import {
  createSegmentFile,
  type FramePlace,
  frameOf,
  readFrame,
  readSegmentIndex,
  SEGMENT_EXTENSION,
  type SegmentContent,
  type SegmentFrame,
  type SegmentIndex,
  segmentsDirectory,
  verifySegmentFile,
} from '../../storage/segmentFile.ts'
import { encodeCommit } from '../comet/commit.ts'
import type { Commit } from '../comet/types.ts'
import { decodeFrame, decodeFrameTimes, encodeFrame, FRAME_BLOCKS, type StoredBlock } from './blockFrame.ts'
import { ColumnError, NO_DICTIONARY } from './packedColumns.ts'

/*
 * Old blocks in files: 8,192 blocks per segment (src/storage/segmentFile.ts), in frames of at most
 * 64 blocks (blockFrame.ts). The database lists its segments; files that it does not list are not
 * part of it.
 */

/** Blocks in a segment. The first one of a chain that started from a snapshot may have fewer. */
export const SEGMENT_BLOCKS = 8_192
/** A frame ends with the block that makes it longer, before it is packed. */
const FRAME_BYTES = 512 << 10
/**
 * Bytes of the first frame; later frames need few bytes for the parts that they have in common with
 * it.
 */
const DICTIONARY_BYTES = 16 << 10

/** Heights of the first and last block. */
export interface HeightRange {
  readonly first: number
  readonly last: number
}

/** Facts in the name of a segment's file. */
export interface NamedSegment extends HeightRange {
  /** whether its blocks are without transactions and results, which the node has dropped */
  readonly isBare?: boolean
}

/** A segment in the database's list. */
export interface ListedSegment extends NamedSegment {
  /** of the file */
  readonly bytes: number
  readonly sha256: Uint8Array
}

export function segmentPath(location: string, segment: NamedSegment): string {
  return join(segmentsDirectory(location), segmentName(segment))
}

/** Of its file. */
export function segmentName(segment: NamedSegment): string {
  return `${rangeName(segment)}${segment.isBare === true ? '-bare' : ''}${SEGMENT_EXTENSION}`
}

/** Heights in the names of files, which sort as the heights do. */
export function rangeName({ first, last }: HeightRange): string {
  const digits = (height: number): string => String(height).padStart(9, '0')
  return `${digits(first)}-${digits(last)}`
}

/**
 * Checks the file of a listed segment in small steps, and yields the number of bytes read after
 * each.
 * @throws DatabaseError when it is missing, damaged or a different file
 */
export function* checkSegmentFile(location: string, segment: ListedSegment): Generator<number, void, void> {
  const path = segmentPath(location, segment)
  yield* verifySegmentFile(path)
  checkListed(readSegmentIndex(path), segment)
}

/** @throws DatabaseError when the file is not the one in the list */
function checkListed({ path, bytes, sha256 }: SegmentIndex, segment: ListedSegment): void {
  if (bytes === segment.bytes && equalBytes(sha256, segment.sha256)) return
  throw damagedFile(path, undefined, 'it is not the file that the database lists')
}

/** Returns the first height of the segment that a block belongs to. */
export function firstOfSegment(height: number): number {
  return height - (height % SEGMENT_BLOCKS)
}

/** The last one. */
export function lastOfSegment(height: number): number {
  return firstOfSegment(height) + SEGMENT_BLOCKS - 1
}

/** Returns the key and value of a segment in the database's list. */
export function segmentEntry(segment: ListedSegment): readonly [Uint8Array, Uint8Array] {
  const { first, last, bytes, sha256, isBare = false } = segment
  const fields = [BigInt(first), BigInt(last), BigInt(bytes), sha256]
  return [segmentKey(first), encodeRLP(isBare ? [...fields, 1n] : fields)]
}

/** Returns the key of a segment in the database's list. @param height of any of its blocks */
export function segmentKey(height: number): Uint8Array {
  return columnKey(Column.segment, heightBytes(Math.floor(height / SEGMENT_BLOCKS)))
}

/** Returns the listed segment that has a block; undefined when no segment has it. */
export function findSegment(db: KeyReader, height: number): ListedSegment | undefined {
  const bytes = db.get(segmentKey(height))
  const segment = bytes && decodeSegmentEntry(bytes)
  return segment !== undefined && height >= segment.first && height <= segment.last ? segment : undefined
}

const MOVED_KEY = columnKey(Column.chainMeta, new TextEncoder().encode('moved'))

/** Lowest height from which on every block is in LevelDB; undefined where no block was moved to a segment. */
export function readMovedRecord(db: KeyReader): number | undefined {
  const moved = db.get(MOVED_KEY)
  return moved && readHeight(moved, 0)
}

export function writeMovedRecord(batch: WriteBatch, height: number): void {
  batch.put(MOVED_KEY, heightBytes(height))
}

/** Returns all listed segments, oldest first. */
export async function listSegments(db: Pick<DatabaseReader, 'entries'>): Promise<readonly ListedSegment[]> {
  const segments: ListedSegment[] = []
  const range = { start: columnKey(Column.segment), end: columnKey(Column.segment + 1) }
  for await (const [, value] of db.entries(range)) segments.push(decodeSegmentEntry(value))
  return segments
}

function decodeSegmentEntry(bytes: Uint8Array): ListedSegment {
  const [first, last, size, sha256, bare] = decodeRLP(bytes) as [
    Uint8Array,
    Uint8Array,
    Uint8Array,
    Uint8Array,
    unknown,
  ]
  const number = (item: Uint8Array): number => Number(bytesToBigInt(item))
  return { first: number(first), last: number(last), bytes: number(size), sha256, isBare: bare !== undefined }
}

/** Contents of a segment file that is to be written. */
interface SegmentSource extends NamedSegment {
  readonly genesisHash: Uint8Array
  /** that decided the last block: those of the others are in the next blocks */
  readonly lastCommit: Commit
  /** a block of the database */
  readonly read: (height: number) => StoredBlock
}

/**
 * Writes a segment and reads it again: when this resolves, the file is on stable storage and has
 * each block as `source` has it.
 * @param pause awaited between small steps; if it throws, the work ends and leaves nothing that
 * counts
 * @throws Error when the file does not read back as it was written
 */
export async function writeSegment(
  location: string,
  source: SegmentSource,
  pause: () => Promise<void>,
): Promise<ListedSegment> {
  const { first, last, isBare = false, read } = source
  const path = segmentPath(location, source)
  const check = async (written: SegmentIndex): Promise<void> => {
    if (written.first !== first || written.last !== last) throw new Error(`${path} has other blocks than it should`)
    const height = await differingBlock(written, read, pause)
    if (height !== undefined) throw new Error(`block ${height} is not the same in ${written.path} and in the database`)
  }
  const { bytes, sha256 } = await createSegmentFile(path, packSegment(source), check, pause)
  return { first, last, bytes, sha256, isBare }
}

/**
 * Returns the first block of a segment file that differs from the one that `read` returns;
 * undefined when all are the same.
 * @param pause awaited between small steps
 * @throws DatabaseError when the file is damaged
 */
export async function differingBlock(
  index: SegmentIndex,
  read: (height: number) => StoredBlock,
  pause: () => Promise<void>,
): Promise<number | undefined> {
  const cache = createSegmentCache()
  for (let height = index.first; height <= index.last; height++) {
    if (!isSame(readFromIndex(index, cache, height), read(height))) return height
    if (height % FRAME_BLOCKS === 0) await pause()
  }
  return undefined
}

/**
 * Returns the blocks as the content of a segment file. The first frame makes the dictionary.
 * @throws Error, while the frames are made, when a block would not be the same again
 */
export function packSegment({ first, last, genesisHash, lastCommit, read }: SegmentSource): SegmentContent {
  const dictionary = encodeFrame(readFrameBlocks(first, last, read), NO_DICTIONARY).sample.slice(0, DICTIONARY_BYTES)
  return { first, label: genesisHash, dictionary, frames: frames(), end: encodeCommit(lastCommit) }

  function* frames(): Iterable<SegmentFrame> {
    for (let height = first; height <= last; ) {
      const blocks = readFrameBlocks(height, last, read)
      const { bytes } = encodeFrame(blocks, dictionary)
      const again = decodeFrame(bytes, height, blocks.length, dictionary)
      const lost = blocks.findIndex((block, index) => !isSame(block, again[index]!))
      if (lost !== -1) throw new Error(`block ${height + lost} cannot be packed without loss`)
      yield { count: blocks.length, bytes }
      height += blocks.length
    }
  }
}

function readFrameBlocks(from: number, last: number, read: (height: number) => StoredBlock): readonly StoredBlock[] {
  const blocks: StoredBlock[] = []
  let bytes = 0
  for (let height = from; height <= last && blocks.length < FRAME_BLOCKS && bytes < FRAME_BYTES; height++) {
    const block = read(height)
    bytes += block.header.length + (block.block?.length ?? 0) + (block.results?.length ?? 0)
    blocks.push(block)
  }
  return blocks
}

function isSame(a: StoredBlock, b: StoredBlock): boolean {
  const parts = [
    [a.header, b.header],
    [a.block, b.block],
    [a.results, b.results],
  ] as const
  return parts.every(([x, y]) => (x === undefined || y === undefined ? x === y : equalBytes(x, y)))
}

/** A thread's cache of segments: ends of files, and a few frames. */
export interface SegmentCache {
  /** by path */
  readonly indexes: Map<string, SegmentIndex>
  /** by path and number of the first block */
  readonly frames: Map<string, readonly StoredBlock[]>
  /** how many frames are cached */
  readonly mostFrames: number
}

/** A frame of long blocks takes some megabytes. */
const CACHED_FRAMES = 4

/** @param mostFrames more than by default where several readers go through the chain at the same time */
export function createSegmentCache(mostFrames = CACHED_FRAMES): SegmentCache {
  return { indexes: new Map(), frames: new Map(), mostFrames }
}

/** The end of a file takes some kilobytes. */
const CACHED_INDEXES = 64

/** A block was dropped while a reader still used an older snapshot of the database. */
export class BlockUnavailable extends Error {
  override readonly name = 'BlockUnavailable'

  constructor(height: number) {
    super(`pruned history unavailable: block ${height} was dropped`)
  }
}

/**
 * Reads a block from its segment; undefined when no segment has it.
 * @param onDecode called before a frame is decoded, when the block is not in the cache
 * @throws DatabaseError when the segment is damaged; BlockUnavailable when the database no longer
 * lists it
 */
export function readFromSegment(
  db: SegmentDatabase,
  cache: SegmentCache,
  height: number,
  onDecode?: () => void,
): StoredBlock | undefined {
  return fromSegment(db, cache, height, (index) => readFromIndex(index, cache, height, onDecode))
}

/**
 * Reads header.time of a block in its segment, in milliseconds; undefined when no segment has it.
 * Takes far less work than the block.
 * @throws the errors of {@link readFromSegment}
 */
export function readTimeFromSegment(db: SegmentDatabase, cache: SegmentCache, height: number): number | undefined {
  return fromSegment(db, cache, height, (index) => {
    const frame = requireFrame(index, height)
    const bytes = readFrame(index, frame)
    const times = wholeFrame(index, frame, () => decodeFrameTimes(bytes, frame.count, index.dictionary))
    return times[height - frame.first]
  })
}

type SegmentDatabase = Pick<DatabaseReader, 'location' | 'get' | 'newest' | 'onDamage'>

function fromSegment<T>(
  db: SegmentDatabase,
  cache: SegmentCache,
  height: number,
  read: (index: SegmentIndex) => T,
): T | undefined {
  const segment = findSegment(db, height)
  if (segment === undefined) return undefined
  const path = segmentPath(db.location, segment)
  try {
    const index = remember(cache.indexes, CACHED_INDEXES, path, () => readSegmentIndex(path))
    checkListed(index, segment)
    return read(index)
  } catch (error) {
    if (!(error instanceof DatabaseError && error.code === 'corrupt')) throw error
    // A file that is no longer listed may be removed while snapshots still list it.
    const listed = findSegment(db.newest ?? db, height)
    if (listed === undefined || segmentPath(db.location, listed) !== path) throw new BlockUnavailable(height)
    db.onDamage?.(error)
    throw error
  }
}

/** Reads a block of a file that is known to be whole. @throws DatabaseError when it is not */
export function readFromIndex(
  index: SegmentIndex,
  { frames, mostFrames }: SegmentCache,
  height: number,
  onDecode?: () => void,
): StoredBlock {
  const frame = requireFrame(index, height)
  const { first, count } = frame
  const blocks = remember(frames, mostFrames, `${index.path} ${first}`, () => {
    onDecode?.()
    const bytes = readFrame(index, frame)
    return wholeFrame(index, frame, () => decodeFrame(bytes, first, count, index.dictionary))
  })
  return blocks[height - first]!
}

function requireFrame(index: SegmentIndex, height: number): FramePlace {
  const frame = frameOf(index, height)
  if (frame === undefined) throw damagedFile(index.path, undefined, `it does not have block ${height}`)
  return frame
}

/** @throws DatabaseError when the frame cannot be decoded */
function wholeFrame<T>({ path }: SegmentIndex, { offset }: FramePlace, decode: () => T): T {
  try {
    return decode()
  } catch (error) {
    if (!(error instanceof ColumnError)) throw error
    throw damagedFile(path, offset, `a frame cannot be decoded: ${error.message}`, error)
  }
}

/**
 * Returns the value under a key from a cache of at most `most` values, which drops the oldest
 * first.
 */
function remember<T>(known: Map<string, T>, most: number, key: string, read: () => T): T {
  const cached = known.get(key)
  if (cached !== undefined) return cached
  const value = read()
  known.set(key, value)
  if (known.size > most) known.delete(known.keys().next().value!)
  return value
}

/** Reads a block as LevelDB has it. @throws DatabaseError when it has not */
export function storedBlock(db: KeyReader, height: number): StoredBlock {
  const suffix = heightBytes(height)
  const header = db.get(columnKey(Column.header, suffix))
  const block = db.get(columnKey(Column.consensusBlock, suffix))
  if (header === undefined || (block === undefined && height > 0)) {
    throw damagedIn(db, `a part of block ${height} is missing`)
  }
  return { header, block, results: db.get(columnKey(Column.results, suffix)) }
}
