import { concatBytes } from '../../primitives/bytes.ts'
import { heightBytes, readHeight } from '../../storage/columns.ts'
import type { DatabaseReader } from '../../storage/database.ts'
import { firstOfSegment, SEGMENT_BLOCKS } from '../segments/segments.ts'
import { readTermHeights } from '../segments/segmentTerms.ts'
import { findHashHeights } from './hashFileList.ts'

/** The heights of one term in one segment, for a reader that comes back to them. */
export interface TermMemo {
  segment?: { readonly first: number; readonly heights: readonly number[] }
}

interface LookUp {
  /** awaited again and again while segments are read; if it throws, the search ends */
  readonly pause?: (() => Promise<void>) | undefined
  readonly memo?: TermMemo
}

/** Segments whose terms are looked up between two pauses: some 50 µs each when the file is in the system's memory. */
const SEGMENTS_PER_PAUSE = 8

/**
 * Yields the heights in [from, to], ascending, that an index has for a term: from LevelDB, and from
 * the files next to segments.
 * @param term with its column
 */
export async function* indexedHeights(
  db: DatabaseReader,
  term: Uint8Array,
  from: number,
  to: number,
  lookUp: LookUp = {},
): AsyncIterable<number> {
  const stored = storedHeights(db, term, from, to)[Symbol.asyncIterator]()
  try {
    let next = await stored.next()
    for await (const height of movedHeights(db, term, from, to, lookUp)) {
      for (; next.done !== true && next.value < height; next = await stored.next()) yield next.value
      // Until a listed block is moved, both have it.
      if (next.done !== true && next.value === height) next = await stored.next()
      yield height
    }
    for (; next.done !== true; next = await stored.next()) yield next.value
  } finally {
    await stored.return?.()
  }
}

/**
 * The same for a term under which transactions are found by their hashes: of blocks in segments these are in other files.
 * @param hash the beginning of the hash
 */
export async function* hashedHeights(
  db: DatabaseReader,
  term: Uint8Array,
  hash: Uint8Array,
  { from, to }: { readonly from: number; readonly to: number },
): AsyncIterable<number> {
  const moved = findHashHeights(db, 'transactions', hash).filter((height) => height >= from && height <= to)
  const stored = await Array.fromAsync(storedHeights(db, term, from, to))
  yield* [...new Set([...moved, ...stored])].sort((a, b) => a - b)
}

/** Yields the heights in LevelDB alone. */
async function* storedHeights(db: DatabaseReader, term: Uint8Array, from: number, to: number): AsyncIterable<number> {
  const range = { start: concatBytes(term, heightBytes(from)), end: concatBytes(term, heightBytes(to + 1)) }
  for await (const [key] of db.entries(range)) yield readHeight(key, term.length)
}

async function* movedHeights(
  db: DatabaseReader,
  term: Uint8Array,
  from: number,
  to: number,
  { pause, memo = {} }: LookUp,
): AsyncIterable<number> {
  let sincePause = 0
  for (let first = firstOfSegment(from); first <= to; first += SEGMENT_BLOCKS) {
    if (++sincePause % SEGMENTS_PER_PAUSE === 0) await pause?.()
    if (memo.segment?.first !== first) memo.segment = { first, heights: readTermHeights(db, first, term) }
    for (const height of memo.segment.heights) if (height >= from && height <= to) yield height
  }
}
