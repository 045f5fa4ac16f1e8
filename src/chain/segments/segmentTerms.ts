import { join } from 'node:path'
import { bytesToBigInt, concatBytes, EMPTY_BYTES, equalBytes } from '../../primitives/bytes.ts'
import { sha256 } from '../../primitives/hash.ts'
import { decodeRLP, encodeRLP } from '../../primitives/rlp.ts'
import type { WriteBatch } from '../../storage/batch.ts'
import { Column, columnKey, HEIGHT_BYTES, heightBytes, prefixEnd } from '../../storage/columns.ts'
import { damagedFile } from '../../storage/damage.ts'
import { DatabaseError, type DatabaseReader, type KeyReader } from '../../storage/database.ts'
import {
  createSegmentFile,
  hasSegmentFile,
  PIECE_HEADER_BYTES,
  readFrame,
  readSegmentEnd,
  readSegmentIndex,
  type SegmentIndex,
  segmentsDirectory,
  TERMS_EXTENSION,
  verifySegmentFile,
} from '../../storage/segmentFile.ts'
import { ByteSink, ByteSource, ColumnError } from './packedColumns.ts'
import { BlockUnavailable, firstOfSegment, type HeightRange, rangeName, SEGMENT_BLOCKS } from './segments.ts'

/*
 * The terms of logs and events of the blocks in a segment, in a file next to the segment: LevelDB
 * takes fourteen bytes and more for each term of each block, this file about four. It is a file of
 * the same format as a segment (src/storage/segmentFile.ts), whose frames are pages. It has the
 * terms as fingerprints, the first 4 bytes of a hash, ascending, each with its heights:
 *
 *   page: for each fingerprint its difference to the one before (of the first: to the page's first), then its heights: the first one as
 *   twice its offset in the segment, plus one when there are more; then how many more, less one, and of each its difference to the height
 *   before, less one. All numbers are varints.
 *
 * Two terms may have the same fingerprint, so a reader may get heights whose blocks do not have its
 * term, but misses none.
 *
 * The database lists each file with the first fingerprint and the length of every page, so that a term is looked up by reading one page.
 */

/** A file of terms in the database's list. */
export interface ListedTerms extends HeightRange {
  /** of the file */
  readonly bytes: number
  readonly sha256: Uint8Array
  /** where the first page is in the file */
  readonly offset: number
  /** first fingerprint and length of each page, 4 bytes each */
  readonly pages: Uint8Array
}

/** A page ends with the term that makes it longer. A look-up reads one page, some thousand terms. */
const PAGE_BYTES = 8 << 10
const PAGE_ENTRY_BYTES = 8
/** Bits of a height's offset in its segment. */
const OFFSET_RANGE = SEGMENT_BLOCKS
/** Number of terms of blocks sorted in memory at once; 8 bytes each. */
const MAX_SORTED = 4 << 20
const FINGERPRINTS = 2 ** 32

/** Of the file of a segment's terms. */
export function termsPath(location: string, { first, last }: HeightRange): string {
  return join(segmentsDirectory(location), termsName({ first, last }))
}

/** Of the file. */
export function termsName(range: HeightRange): string {
  return `${rangeName(range)}${TERMS_EXTENSION}`
}

/** Returns the key of the list's entry for the terms of the segment with a block. */
export function termsKey(height: number): Uint8Array {
  return columnKey(Column.segmentTerms, heightBytes(firstOfSegment(height) / SEGMENT_BLOCKS))
}

/** Returns the key and value of a file in the database's list. */
export function termsEntry(terms: ListedTerms): readonly [Uint8Array, Uint8Array] {
  const { first, last, bytes, sha256, offset, pages } = terms
  const numbers = [first, last, bytes, offset].map(BigInt)
  return [termsKey(first), encodeRLP([...numbers, sha256, pages])]
}

/**
 * Returns the listed terms of the segment with a block; undefined when its terms are in LevelDB, or
 * in no index.
 */
export function findTerms(db: KeyReader, height: number): ListedTerms | undefined {
  const bytes = db.get(termsKey(height))
  const terms = bytes && decodeTermsEntry(bytes)
  return terms !== undefined && height >= terms.first && height <= terms.last ? terms : undefined
}

/**
 * Adds to a batch the delete that unlists the terms of the segment with a block.
 * @returns their file, if there is one
 */
export function unlistTerms(
  db: KeyReader & Pick<DatabaseReader, 'location'>,
  batch: WriteBatch,
  height: number,
): readonly string[] {
  const terms = findTerms(db, height)
  if (terms === undefined) return []
  batch.del(termsKey(height))
  return [termsPath(db.location, terms)]
}

/**
 * Yields all listed files of terms, oldest first, one at a time: the list of pages of each may take
 * some kilobytes.
 */
export async function* listTerms(db: Pick<DatabaseReader, 'entries'>): AsyncIterable<ListedTerms> {
  const start = columnKey(Column.segmentTerms)
  for await (const [, value] of db.entries({ start, end: prefixEnd(start) })) yield decodeTermsEntry(value)
}

function decodeTermsEntry(bytes: Uint8Array): ListedTerms {
  const [first, last, size, offset, sha256, pages] = decodeRLP(bytes) as Uint8Array[]
  const number = (item: Uint8Array | undefined): number => Number(bytesToBigInt(item!))
  const numbers = { first: number(first), last: number(last), bytes: number(size), offset: number(offset) }
  return { ...numbers, sha256: sha256!, pages: pages! }
}

interface TermsSource extends HeightRange {
  readonly genesisHash: Uint8Array
  /** keys of the indexes for a block: column, term and height */
  readonly keysAt: (height: number) => readonly Uint8Array[]
  /** see {@link MAX_SORTED} */
  readonly maxSorted?: number
}

/**
 * Writes the terms of a segment's blocks: when this resolves, the file is on stable storage,
 * checked, and has replaced any other. All nodes make the same bytes from the same blocks.
 * @param pause awaited between small steps; if it throws, the work ends and leaves nothing that
 * counts
 */
export async function writeTerms(
  location: string,
  source: TermsSource,
  pause: () => Promise<void>,
): Promise<ListedTerms> {
  const { first, last, genesisHash } = source
  const pages = await packPages(source, pause)
  const content = {
    first: 0,
    label: encodeRLP([genesisHash, BigInt(first), BigInt(last)]),
    dictionary: EMPTY_BYTES,
    frames: pages.map(({ bytes }) => ({ count: 1, bytes })),
    end: encodePageList(pages),
  }
  const check = async (written: SegmentIndex): Promise<void> => {
    for (const [number, { bytes }] of pages.entries()) {
      const place = written.frames[number]
      if (place === undefined || !equalBytes(readFrame(written, place), bytes)) {
        throw new Error(`page ${number} of ${written.path} is not what was written`)
      }
      await pause()
    }
  }
  return listedTerms(await createSegmentFile(termsPath(location, source), content, check, pause), source, content.end)
}

/** Returns the database's list entry for a file. */
function listedTerms({ bytes, sha256, frames }: SegmentIndex, { first, last }: HeightRange, pages: Uint8Array) {
  return { first, last, bytes, sha256, offset: frames[0]!.offset, pages }
}

interface Page {
  /** its first fingerprint */
  readonly first: number
  readonly bytes: Uint8Array
}

/** Packs the terms into at least one page, so that there is a file even when no block has terms. */
async function packPages(source: TermsSource, pause: () => Promise<void>): Promise<readonly Page[]> {
  const pages: Page[] = []
  const maxSorted = source.maxSorted ?? MAX_SORTED
  // Blocks with more terms than are sorted at once are read several times, for the fingerprints of one range each.
  for (let parts = 1; ; parts *= 2) {
    pages.length = 0
    let part = 0
    for (; part < parts; part++) {
      const range = { low: (part * FINGERPRINTS) / parts, high: ((part + 1) * FINGERPRINTS) / parts }
      const sorted = await sortedTerms(source, range, maxSorted, pause)
      if (sorted === undefined) break
      pages.push(...pagesOf(sorted))
    }
    if (part === parts) break
    if (parts > FINGERPRINTS / 2) throw new Error(`more than ${maxSorted} blocks of one segment have the same term`)
  }
  return pages.length === 0 ? [{ first: 0, bytes: EMPTY_BYTES }] : pages
}

/** Fingerprints of a range, each with the offset of a block that has it, ascending; undefined when there are too many. */
async function sortedTerms(
  { first, last, keysAt }: TermsSource,
  { low, high }: { readonly low: number; readonly high: number },
  most: number,
  pause: () => Promise<void>,
): Promise<Float64Array | undefined> {
  let items = new Float64Array(1_024)
  let count = 0
  for (let height = first; height <= last; height++) {
    const offset = height - firstOfSegment(height)
    for (const key of keysAt(height)) {
      const print = fingerprint(key.subarray(0, key.length - HEIGHT_BYTES))
      if (print < low || print >= high) continue
      if (count === most) return undefined
      if (count === items.length) {
        const larger = new Float64Array(Math.min(most, items.length * 2))
        larger.set(items)
        items = larger
      }
      items[count++] = print * OFFSET_RANGE + offset
    }
    await pause()
  }
  return items.subarray(0, count).sort()
}

function* pagesOf(sorted: Float64Array): Iterable<Page> {
  let sink = new ByteSink()
  let pageFirst = 0
  let before = 0
  for (let at = 0; at < sorted.length; ) {
    const print = Math.floor(sorted[at]! / OFFSET_RANGE)
    const offsets: number[] = []
    for (; at < sorted.length && Math.floor(sorted[at]! / OFFSET_RANGE) === print; at++) {
      const offset = sorted[at]! % OFFSET_RANGE
      if (offset !== offsets.at(-1)) offsets.push(offset)
    }
    if (sink.length === 0) {
      pageFirst = print
      before = print
    }
    sink.varint(print - before)
    before = print
    writeOffsets(sink, offsets)
    if (sink.length < PAGE_BYTES) continue
    yield { first: pageFirst, bytes: sink.written() }
    sink = new ByteSink()
  }
  if (sink.length > 0) yield { first: pageFirst, bytes: sink.written() }
}

function writeOffsets(sink: ByteSink, offsets: readonly number[]): void {
  sink.varint(offsets[0]! * 2 + (offsets.length > 1 ? 1 : 0))
  if (offsets.length === 1) return
  sink.varint(offsets.length - 2)
  for (let i = 1; i < offsets.length; i++) sink.varint(offsets[i]! - offsets[i - 1]! - 1)
}

/** Offsets of a term, or undefined where `wanted` is false: then they are passed over. */
function readOffsets(source: ByteSource, wanted: boolean): readonly number[] | undefined {
  const head = source.varint()
  const offsets = [Math.floor(head / 2)]
  const more = head % 2 === 0 ? 0 : source.varint() + 1
  if (more >= SEGMENT_BLOCKS) throw new ColumnError('a term has more heights than there are')
  for (let i = 0; i < more; i++) {
    const gap = source.varint()
    if (wanted) offsets.push(offsets[i]! + gap + 1)
  }
  return wanted ? offsets : undefined
}

function encodePageList(pages: readonly Page[]): Uint8Array {
  return concatBytes(
    ...pages.map(({ first, bytes }) => {
      const entry = new Uint8Array(PAGE_ENTRY_BYTES)
      const view = new DataView(entry.buffer)
      view.setUint32(0, first)
      view.setUint32(4, bytes.length)
      return entry
    }),
  )
}

/** @param key of an index, without the height */
function fingerprint(key: Uint8Array): number {
  const hash = sha256(key)
  return new DataView(hash.buffer, hash.byteOffset).getUint32(0)
}

/**
 * Returns the heights of blocks in a segment that may have a term, ascending; none when the
 * database lists no terms of this segment.
 * @param height of any block of the segment
 * @param key column and term
 * @throws DatabaseError when the file is damaged; BlockUnavailable when the database no longer
 * lists it
 */
export function readTermHeights(
  db: Pick<DatabaseReader, 'location' | 'get' | 'newest' | 'onDamage'>,
  height: number,
  key: Uint8Array,
): readonly number[] {
  const bytes = db.get(termsKey(height))
  if (bytes === undefined) return []
  const terms = decodeTermsEntry(bytes)
  const wanted = fingerprint(key)
  const page = findPage(terms, wanted)
  if (page === undefined) return []
  const path = termsPath(db.location, terms)
  try {
    const content = readFrame({ path }, page.place)
    const start = firstOfSegment(terms.first)
    const found = offsetsIn(content, page.first, wanted).map((offset) => start + offset)
    if (found.some((at) => at < terms.first || at > terms.last)) throw new ColumnError('a height is of another segment')
    return found
  } catch (cause) {
    const error =
      cause instanceof ColumnError
        ? damagedFile(path, page.place.offset, `a page cannot be decoded: ${cause.message}`, cause)
        : cause
    if (!(error instanceof DatabaseError && error.code === 'corrupt')) throw error
    // A file that is no longer listed may be removed while snapshots still list it.
    if (findTerms(db.newest ?? db, height) === undefined) throw new BlockUnavailable(height)
    db.onDamage?.(error)
    throw error
  }
}

/** Returns the only page that may have a fingerprint. */
function findPage({ offset, pages }: ListedTerms, wanted: number) {
  const view = new DataView(pages.buffer, pages.byteOffset, pages.length)
  let number = -1
  for (let low = 0, high = pages.length / PAGE_ENTRY_BYTES - 1; low <= high; ) {
    const middle = (low + high) >> 1
    if (view.getUint32(middle * PAGE_ENTRY_BYTES) <= wanted) {
      number = middle
      low = middle + 1
    } else high = middle - 1
  }
  if (number < 0) return undefined
  let at = offset
  for (let i = 0; i < number; i++) at += PIECE_HEADER_BYTES + view.getUint32(i * PAGE_ENTRY_BYTES + 4)
  const bytes = view.getUint32(number * PAGE_ENTRY_BYTES + 4)
  return {
    first: view.getUint32(number * PAGE_ENTRY_BYTES),
    place: { first: number, count: 1, offset: at, bytes },
  }
}

function offsetsIn(page: Uint8Array, first: number, wanted: number): readonly number[] {
  const source = new ByteSource(page)
  for (let print = first; !source.isAtEnd; ) {
    print += source.varint()
    const offsets = readOffsets(source, print === wanted)
    if (offsets !== undefined) return offsets
    if (print > wanted) break
  }
  return []
}

/** Whether the file waits to be listed, or is. */
export function hasTermsFile(location: string, range: HeightRange): boolean {
  return hasSegmentFile(termsPath(location, range))
}

/**
 * Reads the database's list entry from a file that {@link writeTerms} has completed.
 * @throws DatabaseError when it is damaged
 */
export function readTermsFile(location: string, range: HeightRange): ListedTerms {
  const index = readSegmentIndex(termsPath(location, range))
  return listedTerms(index, range, readSegmentEnd(index))
}

/**
 * Checks the file of listed terms in small steps, and yields the number of bytes read after each.
 * @throws DatabaseError when it is missing, damaged or a different file
 */
export function* checkTermsFile(location: string, terms: ListedTerms): Generator<number, void, void> {
  const path = termsPath(location, terms)
  yield* verifySegmentFile(path)
  const { bytes, sha256 } = readSegmentIndex(path)
  if (bytes === terms.bytes && equalBytes(sha256, terms.sha256)) return
  throw damagedFile(path, undefined, 'it is not the file that the database lists')
}
