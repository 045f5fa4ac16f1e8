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
import { type OpenFile, readBytes } from './levelFormat.ts'
import { syncDirectory } from './writeFileDurably.ts'

/*
 * A segment file holds numbered items, the first of which may have any number, in packed frames of some items each. It is written once
 * and never changed:
 *
 *   magic (9) | frames | packed dictionary | footer | length of the footer (4) | its crc32 (4) | sha256 of all before it (32) | magic (9)
 *
 * The footer is RLP of [number of the first item, [bytes, unpacked bytes, crc32] of the dictionary, [items, bytes, crc32] of each frame].
 * Integers outside of RLP are big-endian. What a frame contains is the business of who writes it.
 */

/** The last byte is the version of the format. */
const MAGIC = Uint8Array.of(...new TextEncoder().encode('COINDSEG'), 1)
const SHA256_BYTES = 32
const TRAILER_BYTES = 4 + 4 + SHA256_BYTES + MAGIC.length
/** Far more than the footer of a segment takes: a longer one is none of ours, and is not read into memory. */
const MAX_FOOTER_BYTES = 4 << 20
const MAX_DICTIONARY_BYTES = 1 << 20
/** No more is read at once while the whole file is checked. */
const READ_BYTES = 256 << 10

export interface SegmentFrame {
  /** number of items in it */
  readonly count: number
  readonly bytes: Uint8Array
}

/** Where a frame is. */
interface FramePlace {
  readonly first: number
  readonly count: number
  readonly offset: number
  readonly bytes: number
  readonly checksum: number
}

/** What the end of a segment file says. It is read once; frames are read by {@link readFrame}. */
export interface SegmentIndex {
  readonly path: string
  /** of the whole file */
  readonly bytes: number
  readonly sha256: Uint8Array
  /** numbers of its first and last item */
  readonly first: number
  readonly last: number
  readonly dictionary: Uint8Array
  readonly frames: readonly FramePlace[]
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
    await writeContent(descriptor, content, pause)
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

/** What a segment file is made of. */
interface SegmentContent {
  /** number of the first item */
  readonly first: number
  readonly dictionary: Uint8Array
  readonly frames: Iterable<SegmentFrame>
}

async function writeContent(
  descriptor: number,
  { first, dictionary, frames }: SegmentContent,
  pause: () => Promise<void>,
): Promise<void> {
  const sha256 = createHash('sha256')
  const write = (bytes: Uint8Array): void => {
    sha256.update(bytes)
    writeAll(descriptor, bytes)
  }
  write(MAGIC)
  const places: bigint[][] = []
  for (const { count, bytes } of frames) {
    write(bytes)
    places.push([BigInt(count), BigInt(bytes.length), BigInt(crc32(bytes))])
    await pause()
  }
  const packed = dictionary.length === 0 ? EMPTY_BYTES : zstdCompressSync(dictionary)
  write(packed)
  const ofDictionary = [BigInt(packed.length), BigInt(dictionary.length), BigInt(crc32(packed))]
  const footer = encodeRLP([BigInt(first), ofDictionary, places])
  write(footer)
  write(uint32Bytes(footer.length, crc32(footer)))
  writeAll(descriptor, concatBytes(sha256.digest(), MAGIC))
}

function writeAll(descriptor: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(descriptor, bytes, done)
}

/**
 * Reads the end of a segment file.
 * @throws DatabaseError when it is missing, or no such file, or damaged there
 */
export function readSegmentIndex(path: string): SegmentIndex {
  return withFile(path, (file) => {
    const size = fstatSync(file.descriptor).size
    const trailerAt = size - TRAILER_BYTES
    if (trailerAt < MAGIC.length) throw damagedFile(path, undefined, 'it is too short for a segment')
    const trailer = readBytes(file, trailerAt, TRAILER_BYTES)
    const isWhole = [readBytes(file, 0, MAGIC.length), trailer.subarray(8 + SHA256_BYTES)].every((magic) =>
      equalBytes(magic, MAGIC),
    )
    if (!isWhole) throw damagedFile(path, undefined, 'it does not begin or end as a segment does')
    const view = new DataView(trailer.buffer)
    const footerBytes = view.getUint32(0)
    const footerAt = trailerAt - footerBytes
    if (footerBytes > MAX_FOOTER_BYTES || footerAt < MAGIC.length) {
      throw damagedFile(path, trailerAt, 'its footer cannot be so long')
    }
    const footer = readBytes(file, footerAt, footerBytes)
    if (crc32(footer) !== view.getUint32(4)) throw damagedFile(path, footerAt, 'its footer does not have its checksum')
    const index = decoded(file, footerAt, () => decodeFooter(footer))
    return {
      path,
      bytes: size,
      sha256: trailer.subarray(8, 8 + SHA256_BYTES),
      ...placed(file, footerAt, index),
    }
  })
}

interface Footer {
  readonly first: number
  readonly dictionary: readonly number[]
  readonly frames: readonly (readonly number[])[]
}

function decodeFooter(footer: Uint8Array): Footer {
  const [first, dictionary, frames] = decodeRLP(footer) as [Uint8Array, Uint8Array[], Uint8Array[][]]
  const numbers = (items: readonly Uint8Array[]): number[] => {
    if (items.length !== 3) throw new RangeError('three numbers were expected')
    return items.map(toNumber)
  }
  return { first: toNumber(first), dictionary: numbers(dictionary), frames: frames.map(numbers) }
}

function toNumber(bytes: Uint8Array): number {
  const value = Number(bytesToBigInt(bytes))
  if (!Number.isSafeInteger(value)) throw new RangeError('a number is out of range')
  return value
}

/** Where everything is. Frames and dictionary lie side by side from the magic bytes to the footer. */
function placed(
  file: OpenFile,
  footerAt: number,
  { first, dictionary, frames }: Footer,
): Pick<SegmentIndex, 'first' | 'last' | 'dictionary' | 'frames'> {
  const { path } = file
  let offset = MAGIC.length
  let next = first
  const places = frames.map(([count, bytes, checksum]): FramePlace => {
    const place = { first: next, count: count!, offset, bytes: bytes!, checksum: checksum! }
    if (place.count === 0) throw damagedFile(path, footerAt, 'a frame is empty')
    next += place.count
    offset += place.bytes
    return place
  })
  const [packedBytes, unpackedBytes, checksum] = dictionary as [number, number, number]
  if (offset + packedBytes !== footerAt || places.length === 0) {
    throw damagedFile(path, footerAt, 'its footer names what is not there')
  }
  return { first, last: next - 1, frames: places, dictionary: readDictionary() }

  function readDictionary(): Uint8Array {
    if (packedBytes === 0) return EMPTY_BYTES
    if (unpackedBytes > MAX_DICTIONARY_BYTES) throw damagedFile(path, offset, 'its dictionary cannot be so long')
    const packed = readBytes(file, offset, packedBytes)
    if (crc32(packed) !== checksum) throw damagedFile(path, offset, 'its dictionary does not have its checksum')
    return decoded(file, offset, () => {
      const unpacked = zstdDecompressSync(packed, { maxOutputLength: Math.max(1, unpackedBytes) })
      return new Uint8Array(unpacked.buffer, unpacked.byteOffset, unpacked.length)
    })
  }
}

/** The place of the frame that has an item; undefined when the file does not have it. */
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
export function readFrame({ path }: Pick<SegmentIndex, 'path'>, { offset, bytes, checksum }: FramePlace): Uint8Array {
  return withFile(path, (file) => {
    // Before memory is taken: a damaged footer may name any length.
    if (offset + bytes > fstatSync(file.descriptor).size) throw damagedFile(path, offset, 'it ends before')
    const frame = readBytes(file, offset, bytes)
    if (crc32(frame) !== checksum) throw damagedFile(path, offset, 'a frame does not have its checksum')
    return frame
  })
}

/**
 * Checks every byte of a file in small steps: gives after each how many bytes it has read, so that the caller can wait between them.
 * @throws DatabaseError
 */
export function* verifySegmentFile(path: string): Generator<number, void, void> {
  const { bytes, sha256 } = readSegmentIndex(path)
  const digest = createHash('sha256')
  const end = bytes - SHA256_BYTES - MAGIC.length
  for (let offset = 0; offset < end; ) {
    const length = Math.min(READ_BYTES, end - offset)
    digest.update(withFile(path, (file) => readBytes(file, offset, length)))
    offset += length
    yield length
  }
  if (!equalBytes(digest.digest(), sha256)) throw damagedFile(path, undefined, 'it does not have its sha256')
}

/** Whether {@link createSegmentFile} has completed this file. */
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

/** Directory of the segments of a database. */
export function segmentsDirectory(location: string): string {
  return join(location, 'segments')
}

/** Paths of the complete segment files of a database, in the order of their names. */
export function segmentFiles(location: string): readonly string[] {
  const directory = segmentsDirectory(location)
  if (!existsSync(directory)) return []
  const names = readdirSync(directory).filter((name) => name.endsWith(SEGMENT_EXTENSION))
  return names.sort().map((name) => join(directory, name))
}

/** Of complete files. */
export const SEGMENT_EXTENSION = '.segment'

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

/** What does not decode although its checksum is right was damaged before it was written, or made by somebody else. */
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
