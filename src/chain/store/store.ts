import type { Address } from '../../primitives/address.ts'
import { bytesToBigInt, equalBytes } from '../../primitives/bytes.ts'
import type { Hash } from '../../primitives/hash.ts'
import type { WriteBatch } from '../../storage/batch.ts'
import { Column, columnKey, heightBytes, readHeight } from '../../storage/columns.ts'
import { damagedIn } from '../../storage/damage.ts'
import type { DatabaseReader, KeyReader } from '../../storage/database.ts'
import { type BlockEvents, entryHash, type StoredEntry } from '../block/entries.ts'
import {
  decodeEthereumHeader,
  type EthereumHeader,
  encodeEthereumBlock,
  ethereumHeaderHash,
} from '../block/ethereumBlock.ts'
import type { Receipt } from '../block/receipt.ts'
import { decodeTransaction, type SignedTransaction } from '../block/transaction.ts'
import { type ConsensusBlock, decodeBlock, decodeBlockHeader } from '../comet/block.ts'
import type { LightBlock } from '../comet/lightBlock.ts'
import type { BlockId, Commit, RankedValidatorSet, ValidatorSet } from '../comet/types.ts'
import { indexedCallHeights, readCallsFrom } from '../indexes/callIndex.ts'
import { type EventTerm, indexedEventHeights } from '../indexes/eventIndex.ts'
import { HashKind, readShortHashHeights } from '../indexes/hashIndex.ts'
import { readIndexedFrom } from '../indexes/indexCoverage.ts'
import { createKeptHeights, type KeptHeights } from '../indexes/keptHeights.ts'
import { bloomLogHeights, indexedLogHeights, type LogTerms } from '../indexes/logIndex.ts'
import { nextKeptHeight, readKeptLightBlock } from '../retention/keptLightBlocks.ts'
import type { StoredBlock } from '../segments/blockFrame.ts'
import type { Hashed } from '../segments/hashFile.ts'
import { findHashHeights } from '../segments/hashFiles.ts'
import {
  createSegmentCache,
  readFromSegment,
  readMovedRecord,
  readTimeFromSegment,
  type SegmentCache,
} from '../segments/segments.ts'
import { countExecuted, decodeResults, NO_RESULTS, type StoredResults } from './storedResults.ts'
import { readValidatorSet, readValidators } from './validatorRecords.ts'
import { consensusHashKey, readHeadRecord } from './writeBlock.ts'

/** The blocks up to one published head, read synchronously except for the indexes of logs and events. */
export interface ChainReader {
  readonly headHeight: number
  /**
   * lowest block whose header and commit are there: 0, or higher where the node started from a
   * snapshot
   */
  readonly base: number
  /**
   * lowest block whose body and receipts are retained (0 unless BLOCK_HISTORY drops them); never
   * below `base`
   */
  readonly oldestBlock: number
  /**
   * height from which on every block is in the indexes of logs and events; `Infinity` where new
   * blocks are not indexed (INDEX)
   */
  readonly indexedFrom: number
  /** the same for who called whom; `Infinity` where new blocks are not in that index (INDEX_TRACES) */
  readonly callsFrom: number
  /** from `base` on, and of block 0 */
  header(height: number): EthereumHeader | undefined
  /** keccak256(rlp(header)) */
  hash(height: number): Hash | undefined
  /** blocks below it may be in a segment alone: to read one, 64 blocks are decoded, which takes milliseconds */
  readonly packedBelow: number
  heightOf(hash: Hash): number | undefined
  /** heights that `heightOf` may return, without reading a block */
  heightsOf(hash: Hash): readonly number[]
  /** height of the block whose consensus header has this hash */
  heightOfConsensusHash(hash: Uint8Array): number | undefined
  /** heights that `heightOfConsensusHash` may return, without reading a block */
  heightsOfConsensusHash(hash: Uint8Array): readonly number[]
  /** the Ethereum block's transactions with their senders, in order */
  transactions(height: number): readonly SignedTransaction[] | undefined
  /** length of `transactions`, in much less time */
  transactionCount(height: number): number | undefined
  receipts(height: number): readonly Receipt[] | undefined
  /** RLP of the Ethereum block */
  ethereumBlock(height: number): Uint8Array | undefined
  /** its bytes */
  size(height: number): number | undefined
  locate(transactionHash: Hash): TransactionLocation | undefined
  /** heights of blocks in which `locate` or `locateNative` may find a transaction, without reading a block */
  heightsOfTransaction(hash: Hash): readonly number[]
  /** the block and position of a native transaction that started, by the sha256 of its bytes */
  locateNative(hash: Hash): NativeLocation | undefined
  /** by position in data.txs */
  entryResults(height: number): readonly StoredEntry[] | undefined
  blockEvents(height: number): BlockEvents | undefined
  consensusBlock(height: number): ConsensusBlock | undefined
  /** header.time of a decided block in milliseconds; from a segment for far less work than the block */
  blockTimeMs(height: number): number | undefined
  /** the same in protobuf, as it is stored */
  encodedBlock(height: number): Uint8Array | undefined
  /** the parts of a block as they are stored; undefined where its body was dropped */
  storedBlock(height: number): StoredBlock | undefined
  blockId(height: number): BlockId | undefined
  /** the commit for `height` that this node saw */
  seenCommit(height: number): Commit | undefined
  /**
   * header, commit and validators of a block; undefined where one of them is missing. Some below
   * `base` are retained permanently.
   */
  lightBlock(height: number): LightBlock | undefined
  /** the lowest height from `height` on that `lightBlock` has; above the head `height` itself */
  nextLightBlock(height: number): number
  /** validators of block `height` with their priorities in its round 0; up to the head's height + 2 */
  validatorsAt(height: number): RankedValidatorSet | undefined
  /** the same without priorities, which takes a fraction of the time */
  validatorSetAt(height: number): ValidatorSet | undefined
  /**
   * Yields the heights in [from, to], ascending, whose blocks contain a matching log; collisions of
   * hash prefixes may add others. Below `indexedFrom` every header is read, for its bloom filter.
   */
  logHeights(terms: LogTerms, from: number, to: number, pause?: () => Promise<void>): AsyncIterable<readonly number[]>
  /**
   * Returns the heights in [from, to], ascending, in whose EVM transactions one of these addresses
   * may have called or been called. To be asked for nothing below `callsFrom`.
   */
  callHeights(
    addresses: readonly Address[],
    from: number,
    to: number,
    pause: () => Promise<void>,
  ): Promise<readonly number[]>
  /**
   * Yields the heights in [from, to], ascending, whose blocks may contain all terms, in events of
   * entries or of the block itself. The caller checks the events, because some blocks may not
   * match, and asks for nothing below `indexedFrom` but `ENVELOPE_HASH_KEY`.
   */
  eventHeights(
    terms: readonly EventTerm[],
    from: number,
    to: number,
    pause?: () => Promise<void>,
  ): AsyncIterable<number>
}

export interface TransactionLocation {
  readonly height: number
  /** among the Ethereum block's transactions */
  readonly index: number
}

interface NativeLocation {
  readonly height: number
  /** in data.txs */
  readonly position: number
}

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
  readonly logHeights: KeptHeights
}

/** Weight of a decoded part of a block against the limits of its cache. */
interface Weight {
  readonly transactions: number
  /** encoded */
  readonly bytes: number
}

interface Cached<T> extends Weight {
  readonly value: T
}

const NO_WEIGHT: Weight = { transactions: 0, bytes: 0 }

/** Memory for lists of the index of logs: 60,000 heights, or more in long lists. */
const KEPT_HEIGHTS_BYTES = 2 * 1_048_576

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
    logHeights: createKeptHeights(KEPT_HEIGHTS_BYTES),
  }
}

/**
 * Returns the blocks that a database has now (a snapshot does not change).
 * @throws Error when the database holds no chain
 */
export function openChainReader(db: DatabaseReader, cache: BlockCache = createBlockCache()): ChainReader {
  const head = readHeadRecord(db)
  if (head === undefined) throw new Error('the database holds no chain')
  const base = readBase(db)
  const oldest = db.get(OLDEST_KEY)
  const oldestBlock = Math.max(base, oldest === undefined ? 0 : readHeight(oldest, 0))
  const indexedFrom = readIndexedFrom(db)
  const callsFrom = readCallsFrom(db)
  const packedBelow = readMovedRecord(db) ?? 0

  /** Wraps `read` with a cache of the newest look-ups; undefined above the head and below the base. */
  const remember =
    <T>(
      known: Map<number, Cached<T>>,
      read: (height: number) => T | undefined,
      weightOf: (value: T, height: number) => Weight = () => NO_WEIGHT,
      most = CACHED_BLOCKS,
    ) =>
    (height: number): T | undefined => {
      if (height > head.height || height < base) return undefined
      const cached = known.get(height)
      if (cached !== undefined) return cached.value
      const value = read(height)
      if (value === undefined) return undefined
      known.set(height, { value, ...weightOf(value, height) })
      forgetOldest(known, most)
      return value
    }
  /** The same for parts that are dropped below the oldest block. */
  const rememberBody = <T>(
    known: Map<number, Cached<T>>,
    read: (height: number) => T | undefined,
    weightOf?: (value: T, height: number) => Weight,
  ): ((height: number) => T | undefined) => {
    const remembered = remember(known, read, weightOf)
    return (height) => (height >= base && height < oldestBlock ? read(height) : remembered(height))
  }

  let decoded = 0
  const readMoved = (height: number) =>
    readFromSegment(db, cache.segments, height, () => {
      decoded++
    })
  /** A part that every block up to the head has, from LevelDB or from a segment. @throws DatabaseError when it is missing */
  const readPart = (part: 'header' | 'consensusBlock', height: number): Uint8Array => {
    const bytes = db.get(columnKey(Column[part], heightBytes(height)))
    if (bytes !== undefined) return bytes
    const moved = readMoved(height)
    const found = part === 'header' ? moved?.header : moved?.block
    if (found === undefined) throw damagedIn(db, `a part of block ${height} is missing`)
    return found
  }
  const readResults = (height: number): Uint8Array | undefined =>
    db.get(columnKey(Column.results, heightBytes(height))) ?? readMoved(height)?.results
  const headerFrom = remember(cache.headers, (height: number): EthereumHeader | undefined => {
    return decodeEthereumHeader(readPart('header', height))
  })
  /** Also that of block 0 where the chain begins above it: it follows from the genesis, and a restore writes it. */
  const header = (height: number): EthereumHeader | undefined => {
    if (height !== 0 || base === 0) return headerFrom(height)
    const bytes = db.get(columnKey(Column.header, heightBytes(0)))
    return bytes && decodeEthereumHeader(bytes)
  }
  const consensusBlock = rememberBody(
    cache.consensusBlocks,
    (height: number): ConsensusBlock | undefined => {
      // Block 0 was not decided.
      return height === 0 ? undefined : decodeBlock(readPart('consensusBlock', height))
    },
    ({ txs }) => ({ transactions: txs.length, bytes: bytesIn(txs) }),
  )
  const results = rememberBody(
    cache.results,
    (height: number): StoredResults | undefined => {
      if (height < oldestBlock) return undefined
      const bytes = readResults(height)
      if (bytes !== undefined) return decodeResults(bytes)
      const entries = consensusBlock(height)?.txs.length ?? 0
      if (entries > 0) throw damagedIn(db, `the results of block ${height} are missing`)
      return NO_RESULTS
    },
    ({ executed, native, bytes }) => ({ transactions: executed.length + native.length, bytes }),
  )
  const transactions = rememberBody(
    cache.transactions,
    (height: number): readonly SignedTransaction[] | undefined => {
      const stored = results(height)
      if (stored === undefined) return undefined
      if (stored.executed.length === 0) return []
      const { txs } = consensusBlock(height)!
      return stored.executed.map(({ position, sender }) => ({
        transaction: decodeTransaction(txs[position]!),
        sender,
      }))
    },
    (included) => ({
      transactions: included.length,
      bytes: bytesIn(included.map(({ transaction }) => transaction.raw)),
    }),
  )
  const transactionCount = rememberBody(cache.transactionCounts, (height: number): number | undefined => {
    if (height < oldestBlock) return undefined
    const bytes = readResults(height)
    return bytes === undefined ? results(height)?.executed.length : countExecuted(bytes)
  })
  const entries = rememberBody(
    cache.entries,
    (height: number): readonly StoredEntry[] | undefined => {
      const stored = results(height)
      const included = transactions(height)
      if (stored === undefined || included === undefined) return undefined
      const isEmpty = stored.executed.length + stored.native.length + stored.skipped.length === 0
      return isEmpty ? [] : entriesOf(stored, included, consensusBlock(height)!.txs)
    },
    (included, height) => ({ transactions: included.length, bytes: results(height)?.bytes ?? 0 }),
  )

  const blockId = (height: number): BlockId | undefined => {
    if (height < base) return undefined
    return height === head.height ? head.decided?.blockId : consensusBlock(height + 1)?.header.lastBlockId
  }

  const hashOf = (height: number): Hash | undefined => {
    const found = header(height)
    return found && ethereumHeaderHash(found)
  }
  const hashFrom = remember(cache.hashes, hashOf, undefined, CACHED_HASHES)
  const hash = (height: number): Hash | undefined => (height === 0 ? hashOf(0) : hashFrom(height))

  /** Returns the heights of blocks in segments that a hash may be of. */
  const movedHeights = (of: Hashed, kind: HashKind, wanted: Uint8Array): readonly number[] => [
    ...readShortHashHeights(db, kind, wanted),
    ...findHashHeights(db, of, wanted),
  ]

  /** Height of a block in LevelDB, by the hash of its header. */
  const listedHeight = (wanted: Hash): number | undefined => {
    const bytes = db.get(columnKey(Column.blockHash, wanted))
    return bytes && readHeight(bytes, 0)
  }
  function* consensusHashHeights(wanted: Uint8Array): Generator<number, void, void> {
    const listed = db.get(consensusHashKey(wanted))
    if (listed !== undefined) yield readHeight(listed, 0)
    yield* movedHeights('blocks', HashKind.consensus, wanted)
  }

  const ethereumBlock = (height: number): Uint8Array | undefined => {
    const found = header(height)
    const included = transactions(height)
    return found && included && encodeEthereumBlock(found, included)
  }
  const reader: ChainReader = {
    headHeight: head.height,
    base,
    oldestBlock,
    indexedFrom,
    callsFrom,
    callHeights: (addresses, from, to, pause) => indexedCallHeights(db, addresses, { from, to }, pause),
    header,
    hash,
    packedBelow,
    heightOf: (wanted) => {
      const listed = listedHeight(wanted)
      if (listed === undefined) {
        return movedHeights('blocks', HashKind.block, wanted).find((height) => isHash(hash(height), wanted))
      }
      return listed > 0 && listed < base ? undefined : listed
    },
    heightsOf: (wanted) => {
      const listed = listedHeight(wanted)
      return listed === undefined ? movedHeights('blocks', HashKind.block, wanted) : [listed]
    },
    heightOfConsensusHash: (wanted) =>
      consensusHashHeights(wanted).find((height) => isHash(blockId(height)?.hash, wanted)),
    heightsOfConsensusHash: (wanted) => [...consensusHashHeights(wanted)],
    transactions,
    transactionCount,
    receipts: (height) => results(height)?.executed.map(({ receipt }) => receipt),
    ethereumBlock,
    size: (height) => ethereumBlock(height)?.length,
    heightsOfTransaction: (wanted) => {
      const listed =
        db.get(columnKey(Column.transaction, wanted)) ?? db.get(columnKey(Column.nativeTransaction, wanted))
      if (listed !== undefined) return [readHeight(listed, 0)]
      const kinds = [HashKind.transaction, HashKind.native]
      return [
        ...kinds.flatMap((kind) => readShortHashHeights(db, kind, wanted)),
        ...findHashHeights(db, 'transactions', wanted),
      ]
    },
    locate: (wanted) => {
      const bytes = db.get(columnKey(Column.transaction, wanted))
      if (bytes !== undefined) return { height: readHeight(bytes, 0), index: Number(bytesToBigInt(bytes.subarray(6))) }
      for (const height of movedHeights('transactions', HashKind.transaction, wanted)) {
        const index = transactions(height)?.findIndex(({ transaction }) => isHash(transaction.hash, wanted)) ?? -1
        if (index >= 0) return { height, index }
      }
      return undefined
    },
    locateNative: (wanted) => {
      const bytes = db.get(columnKey(Column.nativeTransaction, wanted))
      if (bytes !== undefined) {
        return { height: readHeight(bytes, 0), position: Number(bytesToBigInt(bytes.subarray(6))) }
      }
      for (const height of movedHeights('transactions', HashKind.native, wanted)) {
        const isWanted = (entry: StoredEntry): boolean =>
          entry.kind === 'native' && isHash(entryHash(entry.raw), wanted)
        const position = entries(height)?.findIndex(isWanted) ?? -1
        if (position >= 0) return { height, position }
      }
      return undefined
    },
    entryResults: entries,
    blockEvents: (height) => results(height)?.events,
    consensusBlock,
    blockTimeMs: (height) => {
      if (height < Math.max(base, 1) || height > head.height) return undefined
      const cached = cache.consensusBlocks.get(height)
      if (cached !== undefined) return cached.value.header.timeMs
      const bytes = db.get(columnKey(Column.consensusBlock, heightBytes(height)))
      if (bytes !== undefined) return decodeBlockHeader(bytes).timeMs
      const timeMs = readTimeFromSegment(db, cache.segments, height)
      if (timeMs === undefined) throw damagedIn(db, `a part of block ${height} is missing`)
      return timeMs
    },
    encodedBlock: (height) => {
      const isThere = height >= Math.max(base, 1) && height <= head.height
      return isThere ? readPart('consensusBlock', height) : undefined
    },
    storedBlock: (height) => {
      if (height < oldestBlock || height > head.height) return undefined
      const block = height === 0 ? undefined : readPart('consensusBlock', height)
      return { header: readPart('header', height), block, results: readResults(height) }
    },
    blockId,
    seenCommit: (height): Commit | undefined => {
      if (height < base) return undefined
      return height === head.height ? head.decided?.seenCommit : consensusBlock(height + 1)?.lastCommit
    },
    lightBlock: (height): LightBlock | undefined => {
      if (height < base) return readKeptLightBlock(db, height)
      const header = consensusBlock(height)?.header
      const commit = reader.seenCommit(height)
      const validators = reader.validatorSetAt(height)
      return header && commit && validators && { header, commit, validators }
    },
    nextLightBlock: (height) =>
      height >= base ? Math.max(height, 1) : Math.min(nextKeptHeight(db, height) ?? base, base),
    validatorsAt: (height) => (height > head.height + VALIDATORS_AHEAD ? undefined : readValidators(db, height)),
    validatorSetAt: (height) => (height > head.height + VALIDATORS_AHEAD ? undefined : readValidatorSet(db, height)),
    logHeights: async function* (terms, from, to, pause) {
      if (from < indexedFrom) {
        let before = decoded
        const hasDecoded = (): boolean => {
          const has = decoded !== before
          before = decoded
          return has
        }
        const last = Math.min(to, indexedFrom - 1)
        for await (const height of bloomLogHeights({ headerAt: header, hasDecoded }, terms, from, last, pause)) {
          yield [height]
        }
      }
      // The file with the terms of a segment has those of blocks that were dropped, until all its blocks were.
      const lowest = Math.max(from, indexedFrom, oldestBlock)
      if (to >= lowest) yield await indexedLogHeights(db, cache.logHeights, terms, { from: lowest, to }, pause)
    },
    eventHeights: (terms, from, to, pause) => indexedEventHeights(db, terms, Math.max(from, oldestBlock), to, pause),
  }
  return reader
}

function isHash(found: Uint8Array | undefined, wanted: Uint8Array): boolean {
  return found !== undefined && equalBytes(found, wanted)
}

/** Returns the entries of a block by position in data.txs, from its stored parts. */
export function entriesOf(
  { executed, native, skipped }: StoredResults,
  transactions: readonly SignedTransaction[],
  txs: readonly Uint8Array[],
): readonly StoredEntry[] {
  const entries: StoredEntry[] = []
  for (const [index, { position, receipt, transfers, events }] of executed.entries()) {
    entries[position] = { kind: 'evm', index, signed: transactions[index]!, receipt, transfers, events }
  }
  for (const { position, result } of native) entries[position] = { kind: 'native', raw: txs[position]!, result }
  for (const { position, ...skip } of skipped) entries[position] = { kind: 'skipped', ...skip }
  return entries
}

/** Decoded blocks that a thread caches: many requests ask for the newest blocks. */
const CACHED_BLOCKS = 32
/**
 * Block hashes that a thread caches: twice as many as BLOCKHASH can read. With fewer than 256, code
 * that reads all of them in turn, for 20 gas each, would have each header read and hashed again.
 */
const CACHED_HASHES = 512
/** The most transactions in them, besides those of the newest look-up. A decoded one takes 1 to 2 KB with its receipt. */
const CACHED_TRANSACTIONS = 8_000
/** The most encoded bytes, besides those of the newest look-up: few transactions can have 12 MB of logs or 4 MB of data in a block. */
const CACHED_BYTES = 2 << 20

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

function bytesIn(parts: readonly Uint8Array[]): number {
  return parts.reduce((sum, { length }) => sum + length, 0)
}

/** Returns the lowest block whose header and commit are there (see `ChainReader.base`). */
export function readBase(db: KeyReader): number {
  const base = db.get(BASE_KEY)
  return base === undefined ? 0 : readHeight(base, 0)
}

/**
 * Returns the key and value that record `height` as the lowest block whose header and commit are
 * there.
 */
export function baseEntry(height: number): readonly [Uint8Array, Uint8Array] {
  return [BASE_KEY, heightBytes(height)]
}

/**
 * Records where the blocks of a chain begin that a snapshot brought: those from `base` on are there with header and commit, those from
 * `oldestBlock` on with receipts and indexes too.
 */
export function writeOldestBlocks(
  batch: WriteBatch,
  { base, oldestBlock }: { readonly base: number; readonly oldestBlock: number },
): void {
  batch.put(...baseEntry(base))
  batch.put(...oldestBlockEntry(oldestBlock))
}

const BASE_KEY = columnKey(Column.chainMeta, new TextEncoder().encode('base'))
/** height ‖ state root of the snapshot with which this database began */
export const RESTORED_KEY = columnKey(Column.chainMeta, new TextEncoder().encode('restored'))
const OLDEST_KEY = columnKey(Column.chainMeta, new TextEncoder().encode('oldest'))
/** A block determines the validators of the second block after it. */
const VALIDATORS_AHEAD = 2

/** Returns the key and value that record `height` as the lowest block whose body is retained. */
export function oldestBlockEntry(height: number): readonly [Uint8Array, Uint8Array] {
  return [OLDEST_KEY, heightBytes(height)]
}
