import type { Address } from '../../primitives/address.ts'
import { EMPTY_BYTES } from '../../primitives/bytes.ts'
import { keccak256 } from '../../primitives/hash.ts'
import { Column, columnKey, heightBytes } from '../../storage/columns.ts'
import type { DatabaseReader, KeyReader } from '../../storage/database.ts'
import type { EthereumHeader } from '../block/ethereumBlock.ts'
import { bloomBits, bloomMayContainAny, forEachLogItem, isEmptyBloom, type Log } from '../block/receipt.ts'
import type { HeightCache } from './heightCache.ts'
import { LOG_DIGEST_BYTES, logDigest } from './logDigest.ts'
import { forEachPackedEntry, logFingerprint, packableFingerprints, packedHeights } from './packedLogTerms.ts'
import { indexedHeights } from './termHeights.ts'

/**
 * The index of logs maps a term to the heights of blocks that contain it. A term is a kind byte and
 * 8 bytes of the keccak256 of an address or topic. Different addresses or topics may have the same
 * term, so a reader filters the logs themselves. Where a block has thousands of terms they are
 * packed into few entries (packedLogTerms.ts), except the term that any log has.
 */
const TERM_BYTES = 1 + LOG_DIGEST_BYTES

/** Kinds of terms: any log at all (0), the address, the topics at position 1 to 4 behind it. */
const Kind = { any: 0, address: 1 } as const

/** The parts of a log filter that the index can use: the alternatives of each position. An empty list matches anything. */
export interface LogTerms {
  readonly addresses: readonly Address[]
  /** by position */
  readonly topics: readonly (readonly Uint8Array[])[]
}

function logTerm(kind: number, bytes: Uint8Array): Uint8Array {
  return termOf(kind, keccak256(bytes), 0)
}

/** Returns the term with the bytes of a digest from `at` on. */
function termOf(kind: number, digest: Uint8Array, at: number): Uint8Array {
  const term = new Uint8Array(TERM_BYTES)
  term[0] = kind
  for (let i = 0; i < LOG_DIGEST_BYTES; i++) term[i + 1] = digest[at + i]!
  return term
}

const ANY_LOG = new Uint8Array(TERM_BYTES)
/** Value of the entry of any log where the other terms of the block are packed. */
const PACKED = Uint8Array.of(1)

/** Whether the database may have a block's terms packed: not where an older version has written an entry for each. */
export function mayBePacked(db: Pick<KeyReader, 'get'>, height: number): boolean {
  return db.get(columnKey(Column.logTerm, ANY_LOG, heightBytes(height)))?.length !== 0
}

/**
 * Calls `visit` for each entry of the index for a block with these logs, once.
 * @param isPackable false: every term has an entry of its own, however many there are
 */
export function forEachLogEntry(
  height: number,
  logs: readonly Log[],
  isPackable: boolean,
  visit: (key: Uint8Array, value: Uint8Array) => void,
): void {
  const prints = isPackable ? packableFingerprints(logs) : undefined
  if (prints === undefined) {
    for (const key of logIndexKeys(height, logs)) visit(key, EMPTY_BYTES)
  } else {
    visit(columnKey(Column.logTerm, ANY_LOG, heightBytes(height)), PACKED)
    forEachPackedEntry(height, prints, visit)
  }
}

/**
 * Returns the keys of the terms of a block with these logs, each once, as they are where none is
 * packed. A block may have 200,000 different ones: digests are sorted as numbers of 64 bits, so
 * that equal ones are neighbours, because strings in a set take five times as long.
 */
export function logIndexKeys(height: number, logs: readonly Log[]): Uint8Array[] {
  if (logs.length === 0) return []
  const kinds: TermDigests[] = []
  forEachLogItem(logs, (position, bytes) => {
    kinds[position] ??= new TermDigests(logs.length)
    kinds[position].add(logDigest(bytes))
  })
  const suffix = heightBytes(height)
  const keys = [columnKey(Column.logTerm, ANY_LOG, suffix)]
  kinds.forEach((digests, position) => {
    digests.forEachDistinct((bytes, at) => {
      keys.push(columnKey(Column.logTerm, termOf(Kind.address + position, bytes, at), suffix))
    })
  })
  return keys
}

/** The first bytes of many digests. */
class TermDigests {
  readonly #numbers: BigUint64Array
  readonly #bytes: Uint8Array
  #count = 0

  /** @param most digests that are added */
  constructor(most: number) {
    this.#numbers = new BigUint64Array(most)
    this.#bytes = new Uint8Array(this.#numbers.buffer)
  }

  add(digest: Uint8Array): void {
    const at = this.#count++ * LOG_DIGEST_BYTES
    for (let i = 0; i < LOG_DIGEST_BYTES; i++) this.#bytes[at + i] = digest[i]!
  }

  /** Calls `visit` for each digest once, with the bytes in which it is and its place there, and forgets in which order they were added. */
  forEachDistinct(visit: (bytes: Uint8Array, at: number) => void): void {
    const numbers = this.#numbers.subarray(0, this.#count).sort()
    for (let i = 0; i < numbers.length; i++) {
      if (i === 0 || numbers[i] !== numbers[i - 1]) visit(this.#bytes, i * LOG_DIGEST_BYTES)
    }
  }
}

/**
 * Entries that are read between two pauses, how many of them the start of another list counts as, and of how many bytes of a packed entry
 * one takes as long.
 */
const ENTRIES_PER_PAUSE = 1_000
const LIST_COST = 50
const BYTES_PER_ENTRY = 10_000

/** A term as it is in the index by itself, and as it is where it is packed: that of any log never is. */
interface IndexTerm {
  readonly term: Uint8Array
  readonly print?: number
}

/** @param position 0 for an address, 1 to 4 for topics */
function indexTerm(position: number, bytes: Uint8Array): IndexTerm {
  return { term: logTerm(Kind.address + position, bytes), print: logFingerprint(position, bytes) }
}

/**
 * Returns the heights in [from, to], ascending, whose blocks contain a term of every position (any
 * of its alternatives).
 * @param cache cache of the terms' lists
 * @param pause awaited again and again while many entries are read; if it throws, the search ends
 */
export async function indexedLogHeights(
  db: DatabaseReader,
  cache: HeightCache,
  terms: LogTerms,
  { from, to }: { readonly from: number; readonly to: number },
  pause?: () => Promise<void>,
): Promise<readonly number[]> {
  const positions: IndexTerm[][] = []
  for (const [position, alternatives] of [terms.addresses, ...terms.topics].entries()) {
    if (alternatives.length > 0) positions.push(alternatives.map((bytes) => indexTerm(position, bytes)))
  }
  if (positions.length === 0) positions.push([{ term: ANY_LOG }])

  let sincePause = 0
  const count = (entries: number): Promise<void> | undefined => {
    sincePause += entries
    if (sincePause < ENTRIES_PER_PAUSE) return undefined
    sincePause = 0
    return pause?.()
  }
  const read = async (key: Uint8Array, print: number | undefined, first: number, last: number) => {
    const heights: number[] = []
    for await (const height of indexedHeights(db, key, first, last, { pause })) {
      await count(1)
      heights.push(height)
    }
    if (print === undefined) return heights
    const packed: number[] = []
    for await (const { height, isFound, bytes } of packedHeights(db, print, first, last)) {
      await count(1 + bytes / BYTES_PER_ENTRY)
      if (isFound) packed.push(height)
    }
    return union(heights, packed)
  }
  let matching: readonly number[] | undefined
  for (const alternatives of positions) {
    let found: readonly number[] = []
    for (const { term, print } of alternatives) {
      await count(LIST_COST)
      const heights = await cache.find(columnKey(Column.logTerm, term), from, to, (key, first, last) =>
        read(key, print, first, last),
      )
      found = found.length === 0 ? heights : union(found, heights)
    }
    const others = matching && new Set(matching)
    matching = others === undefined ? found : found.filter((height) => others.has(height))
    if (matching.length === 0) break
  }
  return matching ?? []
}

/** Of two ascending lists. */
function union(a: readonly number[], b: readonly number[]): readonly number[] {
  if (a.length === 0) return b
  return b.length === 0 ? a : [...new Set([...a, ...b])].sort((one, other) => one - other)
}

/** Headers in LevelDB whose bloom filters are looked into between two pauses; one of a block in a segment may take as long. */
const HEADERS_PER_PAUSE = 100

interface BloomSource {
  readonly headerAt: (height: number) => Pick<EthereumHeader, 'logsBloom'> | undefined
  /** whether a part of a segment was decoded, which takes some milliseconds, since this was asked before */
  readonly hasDecoded: () => boolean
}

/**
 * Yields the same for blocks that are in no index, by the bloom filters of their headers: these may
 * contain items that the block does not have. A height without a header is included, since its
 * block has to be searched.
 */
export async function* bloomLogHeights(
  { headerAt, hasDecoded }: BloomSource,
  { addresses, topics }: LogTerms,
  from: number,
  to: number,
  pause?: () => Promise<void>,
): AsyncIterable<number> {
  const positions = [addresses, ...topics].filter((alternatives) => alternatives.length > 0).map(bloomBits)
  let sincePause = 0
  for (let height = from; height <= to; height++) {
    const bloom = headerAt(height)?.logsBloom
    if (++sincePause === HEADERS_PER_PAUSE || hasDecoded()) {
      sincePause = 0
      await pause?.()
    }
    if (bloom === undefined) yield height
    else if (!isEmptyBloom(bloom) && positions.every((bits) => bloomMayContainAny(bloom, bits))) yield height
  }
}
