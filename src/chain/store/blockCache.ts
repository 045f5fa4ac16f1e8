import type { Hash } from '../../primitives/hash.ts'
import type { StoredEntry } from '../block/entries.ts'
import type { EthereumHeader } from '../block/ethereumBlock.ts'
import type { SignedTransaction } from '../block/transaction.ts'
import type { ConsensusBlock } from '../comet/block.ts'
import { createHeightCache, type HeightCache } from '../indexes/heightCache.ts'
import { createSegmentCache, type SegmentCache } from '../segments/segments.ts'
import type { StoredResults } from './storedResults.ts'

/**
 * Decoded parts of blocks by height. Blocks never change until their bodies are dropped, so the readers of all snapshots of a
 * thread may share one; a reader whose snapshot lacks a body does not use the cached one.
 */
export interface BlockCache {
  readonly headers: Map<number, Cached<EthereumHeader>>
  readonly hashes: Map<number, Cached<Hash>>
  readonly consensusBlocks: Map<number, Cached<ConsensusBlock>>
  readonly results: Map<number, Cached<StoredResults>>
  readonly transactions: Map<number, Cached<readonly SignedTransaction[]>>
  readonly transactionCounts: Map<number, Cached<number>>
  readonly entries: Map<number, Cached<readonly StoredEntry[]>>
  readonly segments: SegmentCache
  /** of terms of the index of logs */
  readonly logHeights: HeightCache
}

/** Weight of a decoded part of a block against the limits of its cache. */
export interface Weight {
  readonly transactions: number
  /** encoded */
  readonly bytes: number
}

interface Cached<T> extends Weight {
  readonly value: T
}

const NO_WEIGHT: Weight = { transactions: 0, bytes: 0 }

/** Memory for lists of the index of logs: 60,000 heights, or more in long lists. */
const HEIGHT_CACHE_BYTES = 2 * 1_048_576

export function createBlockCache(): BlockCache {
  return {
    headers: new Map(),
    hashes: new Map(),
    consensusBlocks: new Map(),
    results: new Map(),
    transactions: new Map(),
    transactionCounts: new Map(),
    entries: new Map(),
    segments: createSegmentCache(),
    logHeights: createHeightCache(HEIGHT_CACHE_BYTES),
  }
}

/** Decoded blocks that a thread caches: many requests ask for the newest blocks. */
const CACHED_BLOCKS = 32
/**
 * Block hashes that a thread caches: twice as many as BLOCKHASH can read. With fewer than 256, code
 * that reads all of them in turn, for 20 gas each, would have each header read and hashed again.
 */
export const CACHED_HASHES = 512
/** The most transactions in them, besides those of the newest look-up. A decoded one takes 1 to 2 KB with its receipt. */
const CACHED_TRANSACTIONS = 8_000
/** The most encoded bytes, besides those of the newest look-up: few transactions can have 12 MB of logs or 4 MB of data in a block. */
const CACHED_BYTES = 2 << 20

/** Heights of the blocks that a database has. */
export interface StoredRange {
  /** see `ChainReader.base` and `ChainReader.oldestBlock` */
  readonly base: number
  readonly oldestBlock: number
  readonly headHeight: number
}

/** Wraps `read` with a cache of the newest look-ups; undefined above the head and below the base. */
export function cachedByHeight<T>(
  { base, headHeight }: StoredRange,
  known: Map<number, Cached<T>>,
  read: (height: number) => T | undefined,
  weightOf: (value: T, height: number) => Weight = () => NO_WEIGHT,
  most = CACHED_BLOCKS,
): (height: number) => T | undefined {
  return (height) => {
    if (height > headHeight || height < base) return undefined
    const cached = known.get(height)
    if (cached !== undefined) return cached.value
    const value = read(height)
    if (value === undefined) return undefined
    known.set(height, { value, ...weightOf(value, height) })
    forgetOldest(known, most)
    return value
  }
}

/** Does the same for parts that are dropped below the oldest block, which are read without the cache there. */
export function cachedBody<T>(
  range: StoredRange,
  known: Map<number, Cached<T>>,
  read: (height: number) => T | undefined,
  weightOf?: (value: T, height: number) => Weight,
): (height: number) => T | undefined {
  const { base, oldestBlock } = range
  const cached = cachedByHeight(range, known, read, weightOf)
  return (height) => (height >= base && height < oldestBlock ? read(height) : cached(height))
}

/** Drops the oldest look-ups of a cache that has too many blocks, transactions or bytes; the newest always stays. */
function forgetOldest<T>(known: Map<number, Cached<T>>, most: number): void {
  let transactions = 0
  let bytes = 0
  for (const cached of known.values()) {
    transactions += cached.transactions
    bytes += cached.bytes
  }
  for (const [height, cached] of known) {
    const isSmall = known.size <= most && transactions <= CACHED_TRANSACTIONS && bytes <= CACHED_BYTES
    if (isSmall || known.size === 1) return
    known.delete(height)
    transactions -= cached.transactions
    bytes -= cached.bytes
  }
}
