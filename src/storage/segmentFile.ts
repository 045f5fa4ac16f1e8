import { createHash } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { crc32, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { bytesToBigInt, concatBytes, EMPTY_BYTES, equalBytes } from '../primitives/bytes.ts'
import { decodeRLP, encodeRLP } from '../primitives/rlp.ts'
import { damagedFile } from './damage.ts'
import { DatabaseError } from './database.ts'
import { RULES } from './format.ts'
import { type OpenFile, readBytes } from './levelFormat.ts'
import { syncDirectory } from './writeFileDurably.ts'

/*
 * A segment file holds numbered items, starting at any number, in packed frames of some items each.
 * It is written once and never changed:
 *
 *   magic (9) | start | dictionary | frames | end | footer | length of the footer (4) | its crc32 (4) | sha256 of all before it (32) | magic (9)
 *
 * Start, dictionary, each frame and the end are pieces. A piece is a number (4 bytes: of a frame
 * how many items it has, of the dictionary its length when unpacked, otherwise 0), the length of
 * the content (4), the crc32 of number, length and content (4), and the content. The start is RLP
 * of [number of the first item, label]. So a file can be read from its start, as far as it goes.
 * The footer, RLP of [items, length] of each frame, is for reading any item at once. Integers
 * outside of RLP are big-endian. The writer defines the contents of label, frames and end.
 */

/** The last byte is the version of the rules: blocks in the file are executed by them. */
export const SEGMENT_MAGIC = Uint8Array.of(...new TextEncoder().encode('COINDSEG'), RULES)
/** Before the content of each frame. */
export const PIECE_HEADER_BYTES = 12
const SHA256_BYTES = 32
const TRAILER_BYTES = 4 + 4 + SHA256_BYTES + SEGMENT_MAGIC.length
/** Far more than the footer of a segment takes: a longer one is not from this software, and is not read into memory. */
const MAX_FOOTER_BYTES = 4 << 20
const MAX_DICTIONARY_BYTES = 1 << 20
/** No more is read at once while the whole file is checked. */
const READ_BYTES = 256 << 10

export interface SegmentFrame {
  /** number of items in it */
  readonly count: number
  readonly bytes: Uint8Array
}

/** Contents of a segment file. */
export interface SegmentContent {
  /** number of the first item */
  readonly first: number
  readonly label: Uint8Array
  readonly dictionary: Uint8Array
  /** each is packed when it is asked for */
  readonly frames: Iterable<SegmentFrame>
  /** asked for after the last frame */
  readonly end: Uint8Array
}

/** Where a frame is. */
export interface FramePlace {
  readonly first: number
  readonly count: number
  readonly offset: number
  readonly bytes: number
}

/** Contents of a segment file's start and end. They are read once; frames are read by {@link readFrame}. */
export interface SegmentIndex {
  readonly path: string
  /** of the whole file */
  readonly bytes: number
  readonly sha256: Uint8Array
  /** numbers of its first and last item */
  readonly first: number
  readonly last: number
  readonly label: Uint8Array
  readonly dictionary: Uint8Array
  readonly frames: readonly FramePlace[]
}

/** Returns the bytes of a segment file in parts, each made when it is asked for. */
export function* encodeSegmentFile(content: SegmentContent): Iterable<Uint8Array> {
  const { first, label, dictionary, frames } = content
  const sha256 = createHash('sha256')
  const hashed = (bytes: Uint8Array): Uint8Array => {
    sha256.update(bytes)
    return bytes
  }
  yield hashed(SEGMENT_MAGIC)
  yield hashed(encodePiece(0, encodeRLP([BigInt(first), label])))
  yield hashed(encodePiece(dictionary.length, dictionary.length === 0 ? EMPTY_BYTES : zstdCompressSync(dictionary)))
  const places: bigint[][] = []
  for (const { count, bytes } of frames) {
    places.push([BigInt(count), BigInt(bytes.length)])
    yield hashed(encodePiece(count, bytes))
  }
  yield hashed(encodePiece(0, content.end))
  const footer = encodeRLP(places)
  yield hashed(concatBytes(footer, uint32Bytes(footer.length, crc32(footer))))
  yield concatBytes(sha256.digest(), SEGMENT_MAGIC)
}

function encodePiece(number: number, content: Uint8Array): Uint8Array {
  const head = uint32Bytes(number, content.length)
  return concatBytes(head, uint32Bytes(crc32(content, crc32(head))), content)
}

/**
 * Writes a file so that it is there as a whole, on stable storage and checked, or not at all. What an error leaves has another name.
 * @param check reads what was written and throws when it is not what it should be
 * @param pause awaited between small steps; what it throws ends the work
 */
export async function createSegmentFile(
  path: string,
  content: SegmentContent,
  check: (index: SegmentIndex) => Promise<void>,
  pause: () => Promise<void>,
): Promise<SegmentIndex> {
  const directory = dirname(path)
  if (!existsSync(directory)) {
    mkdirSync(directory)
    syncDirectory(dirname(directory))
  }
  const temporary = `${path}.new`
  const descriptor = openSync(temporary, 'w', 0o644)
  try {
    for (const bytes of encodeSegmentFile(content)) {
      for (let done = 0; done < bytes.length; ) done += writeSync(descriptor, bytes, done)
      await pause()
    }
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
  const index = readSegmentIndex(temporary)
  for (const _ of verifySegmentFile(temporary)) await pause()
  await check(index)
  renameSync(temporary, path)
  syncDirectory(directory)
  return { ...index, path }
}

/** A part of a segment file that is read from its start. */
export type SegmentPiece =
  | ({ readonly kind: 'start' } & Pick<SegmentContent, 'first' | 'label' | 'dictionary'>)
  | ({ readonly kind: 'frame' } & SegmentFrame)
  | { readonly kind: 'end'; readonly content: Uint8Array }

/**
 * Reads a segment file from behind its magic bytes to the end of its items. Its footer is not read.
 * @param read returns the next bytes, or throws when there are not enough
 * @param fail makes the error for bytes that are wrong
 */
export async function* readSegmentPieces(
  read: (length: number) => Promise<Uint8Array>,
  fail: (what: string, cause?: unknown) => Error,
): AsyncIterable<SegmentPiece> {
  const piece = async () => {
    const head = decodePieceHeader(await read(PIECE_HEADER_BYTES))
    const content = await read(head.bytes)
    if (!head.isOf(content)) throw fail('a part does not have its checksum')
    return { number: head.number, content }
  }
  const start = await piece()
  const packed = await piece()
  const decode = (): SegmentPiece => {
    try {
      const dictionary = unpackDictionary(packed.number, packed.content)
      return { kind: 'start', ...decodeStart(start.content), dictionary }
    } catch (cause) {
      throw fail(`its start cannot be decoded: ${(cause as Error).message}`, cause)
    }
  }
  yield decode()
  for (;;) {
    const { number, content } = await piece()
    if (number === 0) {
      yield { kind: 'end', content }
      return
    }
    yield { kind: 'frame', count: number, bytes: content }
  }
}

function decodePieceHeader(header: Uint8Array) {
  const view = new DataView(header.buffer, header.byteOffset)
  const checksum = view.getUint32(8)
  return {
    number: view.getUint32(0),
    bytes: view.getUint32(4),
    isOf: (content: Uint8Array): boolean => crc32(content, crc32(header.subarray(0, 8))) === checksum,
  }
}

function decodeStart(content: Uint8Array): Pick<SegmentContent, 'first' | 'label'> {
  const [first, label] = decodeRLP(content) as [Uint8Array, Uint8Array]
  if (!(label instanceof Uint8Array)) throw new RangeError('a label was expected')
  return { first: toNumber(first), label }
}

function unpackDictionary(length: number, packed: Uint8Array): Uint8Array {
  if (packed.length === 0) return EMPTY_BYTES
  if (length > MAX_DICTIONARY_BYTES) throw new RangeError('its dictionary cannot be so long')
  const unpacked = zstdDecompressSync(packed, { maxOutputLength: Math.max(1, length) })
  return new Uint8Array(unpacked.buffer, unpacked.byteOffset, unpacked.length)
}

/**
 * Reads what a segment file says of its frames.
 * @throws DatabaseError when it is missing, or no such file, or damaged there
 */
export function readSegmentIndex(path: string): SegmentIndex {
  return withFile(path, (file) => {
    const size = fstatSync(file.descriptor).size
    const trailerAt = size - TRAILER_BYTES
    if (trailerAt < SEGMENT_MAGIC.length) throw damagedFile(path, undefined, 'it is too short for a segment')
    const trailer = readBytes(file, trailerAt, TRAILER_BYTES)
    const ends = [readBytes(file, 0, SEGMENT_MAGIC.length), trailer.subarray(8 + SHA256_BYTES)]
    if (!ends.every((magic) => equalBytes(magic, SEGMENT_MAGIC))) {
      throw damagedFile(path, undefined, 'it does not begin or end as a segment does')
    }
    const view = new DataView(trailer.buffer)
    const footerBytes = view.getUint32(0)
    const footerAt = trailerAt - footerBytes
    if (footerBytes > MAX_FOOTER_BYTES || footerAt < SEGMENT_MAGIC.length) {
      throw damagedFile(path, trailerAt, 'its footer cannot be so long')
    }
    const footer = readBytes(file, footerAt, footerBytes)
    if (crc32(footer) !== view.getUint32(4)) throw damagedFile(path, footerAt, 'its footer does not have its checksum')
    const start = readPiece(file, SEGMENT_MAGIC.length, footerAt)
    const packed = readPiece(file, start.end, footerAt)
    const { first, label } = decoded(file, SEGMENT_MAGIC.length, () => decodeStart(start.content))
    const dictionary = decoded(file, start.end, () => unpackDictionary(packed.number, packed.content))
    const lengths = decoded(file, footerAt, () => (decodeRLP(footer) as Uint8Array[][]).map(decodeFramePlace))
    const frames: FramePlace[] = []
    let next = { first, offset: packed.end }
    for (const { count, bytes } of lengths) {
      if (count === 0) throw damagedFile(path, footerAt, 'a frame is empty')
      frames.push({ ...next, count, bytes })
      next = { first: next.first + count, offset: next.offset + PIECE_HEADER_BYTES + bytes }
    }
    if (frames.length === 0 || next.offset > footerAt || readPiece(file, next.offset, footerAt).end !== footerAt) {
      throw damagedFile(path, footerAt, 'its footer names what is not there')
    }
    const sha256 = trailer.subarray(8, 8 + SHA256_BYTES)
    return { path, bytes: size, sha256, first, last: next.first - 1, label, dictionary, frames }
  })
}

function decodeFramePlace(items: readonly Uint8Array[]): Pick<FramePlace, 'count' | 'bytes'> {
  if (items.length !== 2) throw new RangeError('two numbers were expected')
  const [count, bytes] = items.map(toNumber)
  return { count: count!, bytes: bytes! }
}

function toNumber(bytes: Uint8Array): number {
  const value = Number(bytesToBigInt(bytes))
  if (!Number.isSafeInteger(value)) throw new RangeError('a number is out of range')
  return value
}

/** @param limit where the pieces end: a damaged length may be any */
function readPiece(file: OpenFile, offset: number, limit: number) {
  const { path } = file
  if (offset + PIECE_HEADER_BYTES > limit) throw damagedFile(path, offset, 'a part is cut off')
  const head = decodePieceHeader(readBytes(file, offset, PIECE_HEADER_BYTES))
  const end = offset + PIECE_HEADER_BYTES + head.bytes
  if (end > limit) throw damagedFile(path, offset, 'a part is cut off')
  const content = readBytes(file, offset + PIECE_HEADER_BYTES, head.bytes)
  if (!head.isOf(content)) throw damagedFile(path, offset, 'a part does not have its checksum')
  return { number: head.number, content, end }
}

/** Returns the place of the frame that has an item; undefined when the file does not have it. */
export function frameOf({ frames }: Pick<SegmentIndex, 'frames'>, number: number): FramePlace | undefined {
  let low = 0
  let high = frames.length - 1
  while (low <= high) {
    const middle = (low + high) >> 1
    const frame = frames[middle]!
    if (number < frame.first) high = middle - 1
    else if (number >= frame.first + frame.count) low = middle + 1
    else return frame
  }
  return undefined
}

/** @throws DatabaseError when it is not what was written */
export function readFrame({ path }: Pick<SegmentIndex, 'path'>, { offset, count, bytes }: FramePlace): Uint8Array {
  return withFile(path, (file) => {
    const { number, content } = readPiece(file, offset, fstatSync(file.descriptor).size)
    if (number !== count || content.length !== bytes)
      throw damagedFile(path, offset, 'it is not the frame of its footer')
    return content
  })
}

/** Reads other parts of a file, which is open meanwhile. @throws DatabaseError when it ends before */
export function readSegmentParts<T>(path: string, read: (readAt: ReadAt) => T): T {
  return withFile(path, (file) => read((offset, length) => readBytes(file, offset, length)))
}

type ReadAt = (offset: number, length: number) => Uint8Array

/** Reads the end of a segment file, after the frames. @throws DatabaseError when it is not what was written */
export function readSegmentEnd({ path, frames }: SegmentIndex): Uint8Array {
  const { offset, bytes } = frames.at(-1)!
  return withFile(path, (file) => {
    return readPiece(file, offset + PIECE_HEADER_BYTES + bytes, fstatSync(file.descriptor).size).content
  })
}

/**
 * Checks every byte of a file in small steps: yields after each how many bytes it has read, so that
 * the caller can wait between them.
 * @throws DatabaseError
 */
export function* verifySegmentFile(path: string): Generator<number, void, void> {
  const { bytes, sha256 } = readSegmentIndex(path)
  const digest = createHash('sha256')
  const end = bytes - SHA256_BYTES - SEGMENT_MAGIC.length
  for (let offset = 0; offset < end; ) {
    const length = Math.min(READ_BYTES, end - offset)
    digest.update(withFile(path, (file) => readBytes(file, offset, length)))
    offset += length
    yield length
  }
  if (!equalBytes(digest.digest(), sha256)) throw damagedFile(path, undefined, 'it does not have its sha256')
}

/** Returns whether these are the bytes of the segment file with this length and sha256. */
export function isSegmentFile(file: Uint8Array, { bytes, sha256 }: Pick<SegmentIndex, 'bytes' | 'sha256'>): boolean {
  const end = file.length - SHA256_BYTES - SEGMENT_MAGIC.length
  if (file.length !== bytes || end < 0) return false
  const digest = createHash('sha256').update(file.subarray(0, end)).digest()
  return equalBytes(digest, sha256) && equalBytes(file.subarray(end), concatBytes(sha256, SEGMENT_MAGIC))
}

/** Removes a file that the database does not list any more. A crash may leave it: see {@link tidySegmentFiles}. */
export function removeSegmentFile(path: string): void {
  rmSync(path, { force: true })
}

/** Returns whether {@link createSegmentFile} has completed this file. */
export function hasSegmentFile(path: string): boolean {
  return existsSync(path)
}

/**
 * Checks that a database has the listed files in their sizes, and removes all others: a crash may leave files that were not listed yet,
 * or no longer.
 * @throws DatabaseError
 */
export function tidySegmentFiles(
  location: string,
  listed: readonly { readonly name: string; readonly bytes: number }[],
): void {
  const directory = segmentsDirectory(location)
  const sizes = new Map(listed.map(({ name, bytes }) => [name, bytes]))
  for (const name of existsSync(directory) ? readdirSync(directory) : []) {
    const path = join(directory, name)
    const bytes = sizes.get(name)
    if (bytes === undefined) rmSync(path, { recursive: true })
    else {
      const found = statSync(path).size
      if (found !== bytes) throw damagedFile(path, undefined, `it has ${found} bytes instead of ${bytes}`)
    }
    sizes.delete(name)
  }
  for (const name of sizes.keys()) throw damagedFile(join(directory, name), undefined, 'it is missing')
}

/** Returns the directory of the segments of a database. */
export function segmentsDirectory(location: string): string {
  return join(location, 'segments')
}

/** Paths of the complete segment files of a database, and of those with their terms and hashes, in the order of their names. */
export function segmentFiles(location: string): readonly string[] {
  const directory = segmentsDirectory(location)
  if (!existsSync(directory)) return []
  const extensions = [SEGMENT_EXTENSION, TERMS_EXTENSION, HASHES_EXTENSION]
  const names = readdirSync(directory).filter((name) => extensions.some((extension) => name.endsWith(extension)))
  return names.sort().map((name) => join(directory, name))
}

/** Extension of complete files. */
export const SEGMENT_EXTENSION = '.segment'
/** Extension of complete files with the terms of a segment's blocks (src/chain/segments/segmentTerms.ts). */
export const TERMS_EXTENSION = '.terms'
/** Extension of complete files with hashes of blocks in segments (src/chain/indexes/hashFile.ts). */
export const HASHES_EXTENSION = '.hashes'

/** Files are open only while they are read: there may be thousands, in each thread. */
function withFile<T>(path: string, read: (file: OpenFile) => T): T {
  let descriptor: number
  try {
    descriptor = openSync(path, 'r')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') throw damagedFile(path, undefined, 'it is missing', error)
    throw new DatabaseError('io', `${path} cannot be read: ${message}: check the disk`, error)
  }
  try {
    return read({ path, descriptor })
  } finally {
    closeSync(descriptor)
  }
}

/**
 * Decodes a piece. If that fails although its checksum is right, it was damaged before it was
 * written, or other software made it.
 */
function decoded<T>({ path }: OpenFile, offset: number, decode: () => T): T {
  try {
    return decode()
  } catch (error) {
    throw damagedFile(path, offset, `it cannot be decoded: ${(error as Error).message}`, error)
  }
}

function uint32Bytes(...values: number[]): Uint8Array {
  const bytes = new Uint8Array(4 * values.length)
  const view = new DataView(bytes.buffer)
  for (const [index, value] of values.entries()) view.setUint32(4 * index, value)
  return bytes
}
