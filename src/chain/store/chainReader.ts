import type { Address } from '../../primitives/address.ts'
import type { Hash } from '../../primitives/hash.ts'
import type { WriteBatch } from '../../storage/batch.ts'
import { Column, columnKey, heightBytes, readHeight } from '../../storage/columns.ts'
import { damagedIn } from '../../storage/damage.ts'
import type { DatabaseReader, KeyReader } from '../../storage/database.ts'
import type { BlockEvents, StoredEntry } from '../block/entries.ts'
import { type EthereumHeader, encodeEthereumBlock } from '../block/ethereumBlock.ts'
import type { Receipt } from '../block/receipt.ts'
import type { SignedTransaction } from '../block/transaction.ts'
import { type ConsensusBlock, decodeBlockHeader } from '../comet/block.ts'
import type { LightBlock } from '../comet/lightBlock.ts'
import type { BlockId, Commit, RankedValidatorSet, ValidatorSet } from '../comet/types.ts'
import { indexedCallHeights, readCallsFrom } from '../indexes/callIndex.ts'
import { type EventTerm, indexedEventHeights } from '../indexes/eventIndex.ts'
import { readIndexedFrom } from '../indexes/indexCoverage.ts'
import { bloomLogHeights, indexedLogHeights, type LogTerms } from '../indexes/logIndex.ts'
import { nextRetainedHeight, readRetainedLightBlock } from '../retention/retainedLightBlocks.ts'
import type { StoredBlock } from '../segments/blockFrame.ts'
import { readMovedRecord, readTimeFromSegment } from '../segments/segments.ts'
import { type BlockCache, createBlockCache } from './blockCache.ts'
import { type BlockParts, openBlockParts } from './blockParts.ts'
import { type HashLookups, openHashLookups } from './hashLookups.ts'
import { readValidatorSet, readValidators } from './validatorRecords.ts'
import { readHeadRecord } from './writeBlock.ts'

/** The blocks up to one published head, read synchronously except for the indexes of logs and events. */
export interface ChainReader extends HashLookups {
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
  /** the Ethereum block's transactions with their senders, in order */
  transactions(height: number): readonly SignedTransaction[] | undefined
  /** length of `transactions`, in much less time */
  transactionCount(height: number): number | undefined
  receipts(height: number): readonly Receipt[] | undefined
  /** RLP of the Ethereum block */
  ethereumBlock(height: number): Uint8Array | undefined
  /** its bytes */
  size(height: number): number | undefined
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

  const range = { base, oldestBlock, headHeight: head.height }
  const parts = openBlockParts(db, cache, range)
  const { header, consensusBlock, results, transactions } = parts

  const blockId = (height: number): BlockId | undefined => {
    if (height < base) return undefined
    return height === head.height ? head.decided?.blockId : consensusBlock(height + 1)?.header.lastBlockId
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
    hash: parts.hash,
    packedBelow,
    ...openHashLookups(db, base, parts, blockId),
    transactions,
    transactionCount: parts.transactionCount,
    receipts: (height) => results(height)?.executed.map(({ receipt }) => receipt),
    ethereumBlock,
    size: (height) => ethereumBlock(height)?.length,
    entryResults: parts.entries,
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
      return isThere ? parts.encodedPart('consensusBlock', height) : undefined
    },
    storedBlock: (height) => {
      if (height < oldestBlock || height > head.height) return undefined
      const block = height === 0 ? undefined : parts.encodedPart('consensusBlock', height)
      return { header: parts.encodedPart('header', height), block, results: parts.encodedResults(height) }
    },
    blockId,
    seenCommit: (height): Commit | undefined => {
      if (height < base) return undefined
      return height === head.height ? head.decided?.seenCommit : consensusBlock(height + 1)?.lastCommit
    },
    lightBlock: (height): LightBlock | undefined => {
      if (height < base) return readRetainedLightBlock(db, height)
      const header = consensusBlock(height)?.header
      const commit = reader.seenCommit(height)
      const validators = reader.validatorSetAt(height)
      return header && commit && validators && { header, commit, validators }
    },
    nextLightBlock: (height) =>
      height >= base ? Math.max(height, 1) : Math.min(nextRetainedHeight(db, height) ?? base, base),
    validatorsAt: (height) => (height > head.height + VALIDATORS_AHEAD ? undefined : readValidators(db, height)),
    validatorSetAt: (height) => (height > head.height + VALIDATORS_AHEAD ? undefined : readValidatorSet(db, height)),
    logHeights: (terms, from, to, pause) =>
      logHeights(db, cache, { indexedFrom, oldestBlock, parts }, { terms, from, to, pause }),
    eventHeights: (terms, from, to, pause) => indexedEventHeights(db, terms, Math.max(from, oldestBlock), to, pause),
  }
  return reader
}

/** Yields heights below `indexedFrom` by the bloom filters of their headers, and those above by the index. */
async function* logHeights(
  db: DatabaseReader,
  cache: BlockCache,
  {
    indexedFrom,
    oldestBlock,
    parts,
  }: Pick<ChainReader, 'indexedFrom' | 'oldestBlock'> & {
    readonly parts: Pick<BlockParts, 'header' | 'decodedFrames'>
  },
  {
    terms,
    from,
    to,
    pause,
  }: {
    readonly terms: LogTerms
    readonly from: number
    readonly to: number
    readonly pause: (() => Promise<void>) | undefined
  },
): AsyncIterable<readonly number[]> {
  if (from < indexedFrom) {
    let before = parts.decodedFrames()
    const hasDecoded = (): boolean => {
      const now = parts.decodedFrames()
      const has = now !== before
      before = now
      return has
    }
    const last = Math.min(to, indexedFrom - 1)
    for await (const height of bloomLogHeights({ headerAt: parts.header, hasDecoded }, terms, from, last, pause)) {
      yield [height]
    }
  }
  // The file with the terms of a segment has those of blocks that were dropped, until all its blocks were.
  const lowest = Math.max(from, indexedFrom, oldestBlock)
  if (to >= lowest) yield await indexedLogHeights(db, cache.logHeights, terms, { from: lowest, to }, pause)
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
