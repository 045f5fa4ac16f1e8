import { equalBytes } from '../../primitives/bytes.ts'
import { keccak256 } from '../../primitives/hash.ts'
import type { WriteBatch } from '../../storage/batch.ts'
import { Column, columnKey, heightBytes, readHeight } from '../../storage/columns.ts'
import { damagedIn } from '../../storage/damage.ts'
import type { DatabaseReader, KeyReader } from '../../storage/database.ts'
import { GENESIS_HASH_KEY } from '../../storage/format.ts'
import { hasSegmentFile, readSegmentIndex } from '../../storage/segmentFile.ts'
import { NO_BLOCK_EVENTS } from '../block/entries.ts'
import { envelopeKeys } from '../indexes/eventIndex.ts'
import { readHashCoverage } from '../indexes/hashFileList.ts'
import { readIndexedFrom } from '../indexes/indexCoverage.ts'
import { type ChainReader, openChainReader, readBase } from '../store/chainReader.ts'
import { consensusHashKey, deleteTermEntries, termKeys, transactionKey } from '../store/writeBlock.ts'
import type { StoredBlock } from './blockFrame.ts'
import {
  createSegmentCache,
  findSegment,
  firstOfSegment,
  type HeightRange,
  type ListedSegment,
  lastOfSegment,
  type NamedSegment,
  readFromSegment,
  readMovedRecord,
  segmentEntry,
  segmentPath,
  storedBlock,
  writeMovedRecord,
  writeSegment,
} from './segments.ts'
import { findTerms, hasTermsFile, type ListedTerms, readTermsFile, termsEntry, writeTerms } from './segmentTerms.ts'

/*
 * How blocks leave LevelDB for segments, so that a crash between any two steps loses nothing:
 *
 * 1. A background thread writes the file of the next segment, reads it again and compares it (`makeNextSegment`). Only then it has its
 *    name. Where logs and events are indexed, it writes the file with the terms of these blocks before that (segmentTerms.ts).
 * 2. The executor finds the files and lists them, with the batch of a block (`listNextSegment`). From then on readers find the blocks
 *    there too, with the same answers.
 * 3. When files with the hashes of these blocks are listed too (makeHashFiles.ts), it deletes the blocks from LevelDB, with their terms and
 *    hashes, a few with the batch of each of the next blocks (`moveBlocks`).
 *
 * Files that a crash left unlisted are removed at the next start, and made again.
 */

/** Settings that decide which blocks no longer change and may be moved to segments. */
export interface MoveRules {
  /** number of newest blocks that stay in LevelDB */
  readonly unpackedBlocks: number
  /** whether bodies are dropped from old blocks: then they are moved without them */
  readonly dropsBodies: boolean
  /** whether blocks are still to come below the lowest one: then a segment with that one in its middle has to wait for them */
  readonly expectsOlder?: (db: DatabaseReader) => boolean
}

/** Enough for whatever looks back a little: the hashes that code can read, fee history, snapshots, evidence that is on its way. */
export const MIN_UNPACKED_BLOCKS = 1_024

/**
 * @param pruning number of newest blocks whose state is retained; the chain can be rolled back
 * within them
 */
export function moveRules(pruning: 'archive' | number, blockHistory: number): MoveRules {
  const unpackedBlocks = pruning === 'archive' ? MIN_UNPACKED_BLOCKS : Math.max(MIN_UNPACKED_BLOCKS, pruning)
  return { unpackedBlocks, dropsBodies: blockHistory > 0 }
}

/** Below this height of the newest block there is no segment to make. */
export function firstSegmentDue({ unpackedBlocks }: MoveRules): number {
  return lastOfSegment(0) + unpackedBlocks
}

/** Returns the lowest height from which on every block is in LevelDB. */
export function readMoved(db: KeyReader): number {
  return readMovedRecord(db) ?? readBase(db)
}

/**
 * Returns the lowest height whose block is in a segment and no more in LevelDB. Those from the base
 * up to it were fetched later, by a node that started from a snapshot, and are in LevelDB too: it
 * has [base, filled) and [moved, head], the segments have [filled, moved).
 */
export function readFilled(db: KeyReader): number {
  const base = readBase(db)
  const filled = db.get(FILLED_KEY)
  return filled === undefined ? base : Math.max(base, readHeight(filled, 0))
}

/** Records where the segments begin, if there are any, before the base falls below it. */
export function writeFilled(batch: WriteBatch, db: KeyReader): void {
  const filled = db.get(FILLED_KEY)
  const base = readBase(db)
  // Otherwise it may also fall with this batch, by blocks that are moved.
  const isOld = filled === undefined || readHeight(filled, 0) < base
  if (isOld && readMovedRecord(db) !== undefined) batch.put(FILLED_KEY, heightBytes(base))
}

const FILLED_KEY = columnKey(Column.chainMeta, new TextEncoder().encode('filled'))

/**
 * Returns the height of the first block that no listed segment has. Blocks from there on can be
 * undone.
 */
export function firstAfterSegments(db: KeyReader): number {
  let first = readMoved(db)
  for (let listed = findSegment(db, first); listed !== undefined; listed = findSegment(db, first)) {
    first = listed.last + 1
  }
  return first
}

/**
 * Returns the first and last height of the blocks in listed segments; without such blocks the last
 * one is lower than the first.
 */
export function heightsInSegments(db: KeyReader): HeightRange {
  const base = readBase(db)
  let first = readFilled(db)
  while (first > base) {
    const older = findSegment(db, first - 1)
    if (older === undefined) break
    first = older.first
  }
  return { first, last: firstAfterSegments(db) - 1 }
}

/**
 * Returns the segments to be made next: one of newer blocks, and one of older blocks that were
 * fetched later.
 * @param headHeight of the newest block
 */
function nextSegments(db: DatabaseReader, headHeight: number, rules: MoveRules): readonly NamedSegment[] {
  return [nextNewer(db, headHeight, rules), nextOlder(db, rules)].filter((next) => next !== undefined)
}

/** undefined while some of its blocks may still change */
function nextNewer(db: DatabaseReader, headHeight: number, rules: MoveRules): NamedSegment | undefined {
  const { unpackedBlocks, dropsBodies } = rules
  const lowest = firstAfterSegments(db)
  const isSettled = (height: number): boolean => lastOfSegment(height) <= headHeight - unpackedBlocks
  if (!isSettled(lowest)) return undefined
  const waits = !hasSegments(db) && lowest > firstOfSegment(lowest) && rules.expectsOlder?.(db) === true
  const first = waits ? lastOfSegment(lowest) + 1 : lowest
  if (!isSettled(first)) return undefined
  const last = lastOfSegment(first)
  return dropsBodies && last >= openChainReader(db).oldestBlock ? undefined : { first, last, isBare: dropsBodies }
}

/** undefined while blocks at its beginning are still to come */
function nextOlder(db: DatabaseReader, { dropsBodies, expectsOlder }: MoveRules): NamedSegment | undefined {
  const base = readBase(db)
  const end = heightsInSegments(db).first
  if (end <= base || !hasSegments(db)) return undefined
  const begin = firstOfSegment(end - 1)
  if (base > begin && expectsOlder?.(db) === true) return undefined
  // Those above the snapshot's block may still have bodies, which are dropped first.
  if (dropsBodies && end > openChainReader(db).oldestBlock) return undefined
  // A listed segment may begin in the middle, since no older blocks were expected then: it is made
  // again, with those fetched since.
  const upper = end === lastOfSegment(begin) + 1 ? undefined : findSegment(db, end)
  const isBare = dropsBodies && upper?.isBare !== false
  return { first: Math.max(base, begin), last: upper?.last ?? end - 1, isBare }
}

function hasSegments(db: KeyReader): boolean {
  return readMovedRecord(db) !== undefined
}

/**
 * Makes the files of a next segment, unless all are there and wait to be listed.
 * @param pause see `writeSegment`
 * @returns whether it made them
 */
export async function makeNextSegment(
  db: DatabaseReader,
  rules: MoveRules,
  pause: () => Promise<void>,
): Promise<boolean> {
  const reader = openChainReader(db)
  const next = nextSegments(db, reader.headHeight, rules).find(
    (segment) => !hasSegmentFile(segmentPath(db.location, segment)),
  )
  if (next === undefined) return false
  const genesisHash = db.get(GENESIS_HASH_KEY)
  const lastCommit = reader.seenCommit(next.last)
  if (genesisHash === undefined || lastCommit === undefined) {
    throw damagedIn(db, `the genesis hash or the commit of block ${next.last} is missing`)
  }
  const isIndexed = Number.isFinite(readIndexedFrom(db)) && next.last >= reader.oldestBlock
  if (isIndexed && !hasTermsFile(db.location, next)) await writeTermsOf(db, next, pause)
  // After the terms: when this file is there, both are listed.
  const cache = createSegmentCache()
  const filled = readFilled(db)
  const moved = readMoved(db)
  const read = (height: number): StoredBlock =>
    (height >= filled && height < moved ? readFromSegment(db, cache, height) : undefined) ?? storedBlock(db, height)
  await writeSegment(db.location, { ...next, genesisHash, lastCommit, read }, pause)
  return true
}

/** Writes the terms of blocks to the file next to their segment, as {@link writeTerms} does. */
export async function writeTermsOf(
  db: DatabaseReader,
  range: HeightRange,
  pause: () => Promise<void>,
): Promise<ListedTerms> {
  const genesisHash = db.get(GENESIS_HASH_KEY)
  if (genesisHash === undefined) throw damagedIn(db, 'the genesis hash is missing')
  const reader = openChainReader(db)
  const keysAt = (height: number) =>
    termKeys(height, reader.entryResults(height) ?? [], reader.blockEvents(height) ?? NO_BLOCK_EVENTS)
  return writeTerms(db.location, { ...range, genesisHash, keysAt }, pause)
}

/**
 * Adds the next segments to the list, and their terms, if their files are there.
 * @param headHeight of the newest block
 * @throws DatabaseError when a file is damaged
 */
export function listNextSegment(db: DatabaseReader, batch: WriteBatch, headHeight: number, rules: MoveRules): void {
  for (const next of nextSegments(db, headHeight, rules)) {
    const path = segmentPath(db.location, next)
    if (!hasSegmentFile(path)) continue
    const { bytes, sha256 } = readSegmentIndex(path)
    listSegment(db, batch, { ...next, bytes, sha256 })
  }
}

/** Adds a segment to the list, which has the one before it, and its terms if their file is there. @throws DatabaseError */
export function listSegment(db: DatabaseReader, batch: WriteBatch, segment: ListedSegment): void {
  batch.put(...segmentEntry(segment))
  if (hasTermsFile(db.location, segment)) batch.put(...termsEntry(readTermsFile(db.location, segment)))
  if (hasSegments(db)) return
  writeMovedRecord(batch, segment.first)
  batch.put(FILLED_KEY, heightBytes(segment.first))
}

/**
 * Adds a segment to the list that continues below the base, in a database that has no older blocks
 * in LevelDB. If the segment has blocks from the base on, these are in LevelDB too until they are
 * moved.
 */
export function listOlderSegment(db: KeyReader, batch: WriteBatch, segment: ListedSegment): void {
  batch.put(...segmentEntry(segment))
  if (!hasSegments(db)) writeMovedRecord(batch, readBase(db))
  batch.put(FILLED_KEY, heightBytes(segment.first))
}

/**
 * After this many decoded bytes of blocks and results in one batch no further block follows. The
 * number of deletes alone does not bound the work: a block can have 250,000 logs without topics,
 * which take two deletes and a quarter of a second.
 */
export const MOST_DECODED_BYTES = 512 << 10

/**
 * Deletes blocks that are in a listed segment from LevelDB if their hashes are in listed files:
 * newer ones from the oldest up, then those that were fetched later from the newest down.
 * @param operations after this many puts and deletes, or after {@link MOST_DECODED_BYTES}, no
 * further block follows
 */
export function moveBlocks(db: DatabaseReader, batch: WriteBatch, operations: number): void {
  const end = batch.length + operations
  let decoded = 0
  const isSpent = (): boolean => batch.length >= end || decoded >= MOST_DECODED_BYTES
  const moved = readMoved(db)
  const newer = findSegment(db, moved)
  const filled = readFilled(db)
  const older = filled > readBase(db) ? findSegment(db, filled - 1) : undefined
  // Nearly always: to open the reader would make and decode a head record with each block of a catch-up.
  if (newer === undefined && older === undefined) return
  const reader = openChainReader(db)
  const hasHashes = readHashCoverage(db)
  const isHashed = (height: number): boolean =>
    hasHashes('blocks', height) && (height < reader.oldestBlock || hasHashes('transactions', height))
  if (newer !== undefined) {
    const hasTerms = findTerms(db, moved) !== undefined
    let height = moved
    for (; height <= newer.last && !isSpent() && isHashed(height); height++) {
      decoded += moveBlock(db, reader, batch, { height, hasTerms })
    }
    if (height > moved) writeMovedRecord(batch, height)
  }
  if (older !== undefined && !isSpent()) {
    const hasTerms = findTerms(db, filled - 1) !== undefined
    let above = filled
    for (; above > older.first && !isSpent() && isHashed(above - 1); above--) {
      decoded += moveBlock(db, reader, batch, { height: above - 1, hasTerms })
    }
    if (above < filled) batch.put(FILLED_KEY, heightBytes(above))
  }
}

/**
 * @param block `hasTerms`: its terms are in a listed file
 * @returns bytes that were decoded for it: none of a block without transactions
 */
function moveBlock(
  db: DatabaseReader,
  reader: ChainReader,
  batch: WriteBatch,
  { height, hasTerms }: { readonly height: number; readonly hasTerms: boolean },
): number {
  const suffix = heightBytes(height)
  const { header, block, results } = storedBlock(db, height)
  batch.del(columnKey(Column.header, suffix))
  batch.del(columnKey(Column.blockHash, keccak256(header)))
  batch.del(columnKey(Column.consensusBlock, suffix))
  const consensusHash = consensusHashOf(db, reader, height)
  // Another block's hash may begin with the same bytes.
  if (consensusHash !== undefined && isEntryOf(db, consensusHash, height)) batch.del(consensusHashKey(consensusHash))
  if (results === undefined) return 0
  const entries = reader.entryResults(height) ?? []
  if (hasTerms) {
    deleteTermEntries(batch, db, { height, entries, events: reader.blockEvents(height) ?? NO_BLOCK_EVENTS })
  }
  batch.del(columnKey(Column.results, suffix))
  for (const key of envelopeKeys(height, entries)) batch.del(key)
  for (const entry of entries) {
    const key = transactionKey(entry)
    if (key !== undefined) batch.del(key)
  }
  return results.length + (block?.length ?? 0)
}

/**
 * Returns the hash of the consensus header, which the next block names in both of its headers: the
 * Ethereum one is decoded faster.
 */
function consensusHashOf(db: DatabaseReader, reader: ChainReader, height: number): Uint8Array | undefined {
  if (height === 0) return undefined
  const named = reader.header(height + 1)?.parentBeaconBlockRoot
  return named !== undefined && isEntryOf(db, named, height) ? named : reader.blockId(height)?.hash
}

function isEntryOf(db: KeyReader, consensusHash: Uint8Array, height: number): boolean {
  const bytes = db.get(consensusHashKey(consensusHash))
  return bytes !== undefined && equalBytes(bytes, heightBytes(height))
}
