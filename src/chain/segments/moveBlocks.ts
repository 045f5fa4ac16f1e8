import { equalBytes } from '../../primitives/bytes.ts'
import { keccak256 } from '../../primitives/hash.ts'
import type { WriteBatch } from '../../storage/batch.ts'
import { Column, columnKey, heightBytes, readHeight } from '../../storage/columns.ts'
import { damagedIn } from '../../storage/damage.ts'
import type { DatabaseReader, KeyReader } from '../../storage/database.ts'
import { GENESIS_HASH_KEY } from '../../storage/format.ts'
import { hasSegmentFile, readSegmentIndex } from '../../storage/segmentFile.ts'
import { entryHash, NO_BLOCK_EVENTS, type StoredEntry } from '../entries.ts'
import { HashKind, type HashPlaceWriter } from '../hashIndex.ts'
import { readIndexedFrom } from '../indexCoverage.ts'
import { type ChainReader, openChainReader, readBase } from '../store.ts'
import { consensusHashKey, termKeys, transactionKey } from '../writeBlock.ts'
import {
  findSegment,
  type HeightRange,
  lastOfSegment,
  type NamedSegment,
  segmentEntry,
  segmentPath,
  storedBlock,
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
 * 3. With the batches of the next blocks it deletes those of the segment from LevelDB, with their terms, a few each time, and replaces
 *    their entries in the indexes of hashes by short ones (`moveBlocks`).
 *
 * Files that a crash left unlisted are removed at the next start, and made again.
 */

/** What a node keeps, as far as it decides which blocks will not change any more. */
export interface MoveRules {
  /** The newest so many blocks stay in LevelDB. */
  readonly settledBlocks: number
  /** whether bodies are dropped from old blocks: then they are moved without them */
  readonly dropsBodies: boolean
}

/** Enough for whatever looks back a little: the hashes that code can read, fee history, snapshots, evidence that is on its way. */
export const SETTLED_BLOCKS = 1_024

/** @param pruning blocks whose state is kept; within them a chain can be taken back */
export function moveRules(pruning: 'archive' | number, blockHistory: number): MoveRules {
  const settledBlocks = pruning === 'archive' ? SETTLED_BLOCKS : Math.max(SETTLED_BLOCKS, pruning)
  return { settledBlocks, dropsBodies: blockHistory > 0 }
}

/** Below this height of the newest block there is no segment to make. */
export function firstSegmentDue({ settledBlocks }: MoveRules): number {
  return lastOfSegment(0) + settledBlocks
}

/** Lowest height whose block is in LevelDB. */
export function readMoved(db: KeyReader): number {
  const moved = db.get(MOVED_KEY)
  return moved === undefined ? readBase(db) : readHeight(moved, 0)
}

const MOVED_KEY = columnKey(Column.chainMeta, new TextEncoder().encode('moved'))

/** Height of the first block that no listed segment has. Blocks from there on can be undone. */
export function firstAfterSegments(db: KeyReader): number {
  let first = readMoved(db)
  for (let listed = findSegment(db, first); listed !== undefined; listed = findSegment(db, first)) {
    first = listed.last + 1
  }
  return first
}

/**
 * The next segment to be made; undefined while some of its blocks may still change.
 * @param headHeight of the newest block
 */
function nextSegment(
  db: DatabaseReader,
  headHeight: number,
  { settledBlocks, dropsBodies }: MoveRules,
): NamedSegment | undefined {
  const first = firstAfterSegments(db)
  const last = lastOfSegment(first)
  if (last > headHeight - settledBlocks) return undefined
  return dropsBodies && last >= openChainReader(db).oldestBlock ? undefined : { first, last, isBare: dropsBodies }
}

/**
 * Makes the files of the next segment, unless they are there and wait to be listed.
 * @param pause see `writeSegment`
 * @returns whether it made them
 */
export async function makeNextSegment(
  db: DatabaseReader,
  rules: MoveRules,
  pause: () => Promise<void>,
): Promise<boolean> {
  const reader = openChainReader(db)
  const next = nextSegment(db, reader.headHeight, rules)
  if (next === undefined || hasSegmentFile(segmentPath(db.location, next))) return false
  const genesisHash = db.get(GENESIS_HASH_KEY)
  const lastCommit = reader.seenCommit(next.last)
  if (genesisHash === undefined || lastCommit === undefined) {
    throw damagedIn(db, `the genesis hash or the commit of block ${next.last} is missing`)
  }
  const isIndexed = Number.isFinite(readIndexedFrom(db)) && next.last >= reader.oldestBlock
  if (isIndexed && !hasTermsFile(db.location, next)) await writeTermsOf(db, next, pause)
  // After the terms: when this file is there, both are listed.
  await writeSegment(
    db.location,
    { ...next, genesisHash, lastCommit, read: (height) => storedBlock(db, height) },
    pause,
  )
  return true
}

/** Writes the terms of blocks to the file beside their segment, as {@link writeTerms} does. */
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
 * Adds the next segment to the list, and its terms, if their files are there.
 * @param headHeight of the newest block
 * @throws DatabaseError when a file is damaged
 */
export function listNextSegment(db: DatabaseReader, batch: WriteBatch, headHeight: number, rules: MoveRules): void {
  const next = nextSegment(db, headHeight, rules)
  if (next === undefined) return
  const path = segmentPath(db.location, next)
  if (!hasSegmentFile(path)) return
  const { bytes, sha256 } = readSegmentIndex(path)
  batch.put(...segmentEntry({ ...next, bytes, sha256 }))
  if (hasTermsFile(db.location, next)) batch.put(...termsEntry(readTermsFile(db.location, next)))
}

/**
 * Deletes blocks that are in a listed segment from LevelDB, oldest first.
 * @param places of the same batch
 * @param operations after so many puts and deletes no further block follows
 */
export function moveBlocks(db: DatabaseReader, batch: WriteBatch, places: HashPlaceWriter, operations: number): void {
  const from = readMoved(db)
  const segment = findSegment(db, from)
  if (segment === undefined) return
  const reader = openChainReader(db)
  const hasTerms = findTerms(db, from) !== undefined
  const before = batch.length
  let height = from
  for (; height <= segment.last && batch.length - before < operations; height++) {
    moveBlock(db, reader, batch, places, { height, hasTerms })
  }
  batch.put(MOVED_KEY, heightBytes(height))
}

/** `hasTerms`: its terms are in a listed file. */
function moveBlock(
  db: DatabaseReader,
  reader: ChainReader,
  batch: WriteBatch,
  places: HashPlaceWriter,
  { height, hasTerms }: { readonly height: number; readonly hasTerms: boolean },
): void {
  const suffix = heightBytes(height)
  const header = db.get(columnKey(Column.header, suffix))
  if (header === undefined) throw damagedIn(db, `a part of block ${height} is missing`)
  const hash = keccak256(header)
  batch.del(columnKey(Column.header, suffix))
  batch.del(columnKey(Column.blockHash, hash))
  places.add(HashKind.block, hash, { height, position: 0 })
  batch.del(columnKey(Column.consensusBlock, suffix))
  const consensusHash = consensusHashOf(db, reader, height)
  if (consensusHash !== undefined) {
    // Another block's hash may begin with the same bytes.
    if (isEntryOf(db, consensusHash, height)) batch.del(consensusHashKey(consensusHash))
    places.add(HashKind.consensus, consensusHash, { height, position: 0 })
  }
  const resultsKey = columnKey(Column.results, suffix)
  if (db.get(resultsKey) === undefined) return
  const entries = reader.entryResults(height) ?? []
  if (hasTerms) {
    for (const key of termKeys(height, entries, reader.blockEvents(height) ?? NO_BLOCK_EVENTS)) batch.del(key)
  }
  batch.del(resultsKey)
  entries.forEach((entry, position) => {
    const found = transactionPlace(entry, position, height)
    if (found === undefined) return
    batch.del(transactionKey(entry)!)
    places.add(found.kind, found.hash, found.place)
  })
}

/** What the index of hashes has of an entry of a block; undefined for one that could not start. */
export function transactionPlace(entry: StoredEntry, position: number, height: number) {
  if (entry.kind === 'skipped') return undefined
  return entry.kind === 'evm'
    ? {
        kind: HashKind.transaction,
        hash: entry.signed.transaction.hash,
        place: { height, position: entry.index },
      }
    : { kind: HashKind.native, hash: entryHash(entry.raw), place: { height, position } }
}

/** The hash of the consensus header, which the next block names in both of its headers: the Ethereum one is decoded faster. */
function consensusHashOf(db: DatabaseReader, reader: ChainReader, height: number): Uint8Array | undefined {
  if (height === 0) return undefined
  const named = reader.header(height + 1)?.parentBeaconBlockRoot
  return named !== undefined && isEntryOf(db, named, height) ? named : reader.blockId(height)?.hash
}

function isEntryOf(db: KeyReader, consensusHash: Uint8Array, height: number): boolean {
  const bytes = db.get(consensusHashKey(consensusHash))
  return bytes !== undefined && equalBytes(bytes, heightBytes(height))
}
