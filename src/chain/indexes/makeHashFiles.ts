import { sha256 } from '../../primitives/hash.ts'
import { WriteBatch } from '../../storage/batch.ts'
import { DatabaseError, type DatabaseReader, type WritableDatabase } from '../../storage/database.ts'
import { HASHES_EXTENSION, hasSegmentFile, removeSegmentFile, segmentFiles } from '../../storage/segmentFile.ts'
import { entryHash } from '../block/entries.ts'
import { heightsInSegments } from '../segments/moveBlocks.ts'
import { BlockUnavailable, findSegment, type HeightRange } from '../segments/segments.ts'
import { type ChainReader, openChainReader } from '../store/chainReader.ts'
import {
  FileHashes,
  HASHED,
  type Hashed,
  type HashFile,
  hashFilePath,
  MergedHashes,
  readHashFile,
  SortedHashes,
  writeHashFile,
} from './hashFile.ts'
import { isListed, nextMerge, readAllHashFiles, readHashFiles, writeHashFiles } from './hashFileList.ts'

/*
 * Moves the hashes of blocks in segments into files (hashFile.ts), so that a crash between any two
 * steps loses nothing:
 *
 * 1. A background thread writes a file of blocks that are in a listed segment and in no such file,
 *    or merges two files, and reads the result again (`makeNextHashFile`).
 * 2. The executor lists it with the batch of a block (`updateHashFiles`), instead of the two files
 *    that it was merged from. The entries of these hashes in LevelDB are deleted afterwards, with
 *    the blocks (moveBlocks.ts).
 * 3. When that batch is on stable storage, the two are removed, a while later.
 *
 * Files that a crash left unlisted are removed at the next start. A file is removed when none of
 * its blocks, or of their bodies, is retained.
 */

/**
 * Number of hashes sorted in memory at once, plus those of one more block; 8 bytes each. A file
 * with so many ends at that block.
 */
const MAX_SORTED = 4 << 20

/** Returns the heights whose hashes must be in files. */
function wantedHeights(db: DatabaseReader, chain: ChainReader, of: Hashed): HeightRange {
  const { first, last } = heightsInSegments(db)
  return { first: Math.max(first, of === 'blocks' ? chain.base : chain.oldestBlock), last }
}

/**
 * Returns the highest of these heights that no file has, within one segment; undefined when there
 * are no such heights. The range begins with the segment's first height, even if the segment's
 * lowest blocks were dropped: the name of the file must not change while blocks are dropped.
 */
function findGap(
  db: DatabaseReader,
  files: readonly HashFile[],
  { first, last }: HeightRange,
): HeightRange | undefined {
  let end = last
  for (const file of files.toReversed()) {
    if (file.last < end) break
    end = Math.min(end, file.first - 1)
  }
  if (end < first) return undefined
  const below = files.findLast((file) => file.last < end)?.last ?? -1
  return { first: Math.max(findSegment(db, end)!.first, below + 1), last: end }
}

/**
 * Makes the next file, unless it is there and waits to be listed.
 * @param pause awaited between small steps; if it throws, the work ends and leaves nothing that
 * counts
 * @param maxSorted see {@link MAX_SORTED}
 * @returns whether it made one
 */
export async function makeNextHashFile(
  db: DatabaseReader,
  pause: () => Promise<void>,
  maxSorted = MAX_SORTED,
): Promise<boolean> {
  const chain = openChainReader(db)
  for (const of of HASHED) {
    const files = readHashFiles(db, of)
    // One after another: a further file might change which ones are merged.
    const merge = nextMerge(files)
    const gap = merge === undefined ? findGap(db, files, wantedHeights(db, chain, of)) : undefined
    if (merge !== undefined && !hasSegmentFile(hashFilePath(db.location, mergedOf(merge)))) {
      return await mergeFiles(db, merge, pause)
    }
    if (gap !== undefined && !hasSegmentFile(gapPath(db, of, gap))) {
      return await fillGap(db, chain, of, gap, maxSorted, pause)
    }
  }
  return false
}

function gapPath(db: DatabaseReader, of: Hashed, gap: HeightRange): string {
  return hashFilePath(db.location, { ...gap, of, isMerged: false })
}

async function fillGap(
  db: DatabaseReader,
  chain: ChainReader,
  of: Hashed,
  { first, last }: HeightRange,
  maxSorted: number,
  pause: () => Promise<void>,
): Promise<boolean> {
  let items = new BigUint64Array(1_024)
  let count = 0
  let height = first
  try {
    for (; height <= last && count < maxSorted; height++) {
      for (const hash of of === 'blocks' ? blockHashes(chain, height) : transactionHashes(chain, height)) {
        if (count === items.length) {
          const larger = new BigUint64Array(items.length * 2)
          larger.set(items)
          items = larger
        }
        const beginning = Buffer.from(hash.buffer, hash.byteOffset, 8).readBigUInt64BE()
        items[count++] = (beginning & ~0xffffn) | BigInt(height - first)
      }
      await pause()
    }
  } catch (error) {
    // Its segment was dropped meanwhile.
    if (error instanceof BlockUnavailable) return false
    throw error
  }
  const hashes = new SortedHashes(items.subarray(0, count), first)
  const range = { first, last: height - 1, isMerged: false }
  await writeHashFile(db.location, { ...range, of, count, hashes }, pause)
  return true
}

function blockHashes(chain: ChainReader, height: number): readonly Uint8Array[] {
  if (height < chain.base) return []
  const hash = chain.hash(height)!
  // Block 0 was not decided.
  return height === 0 ? [hash] : [hash, chain.blockId(height)!.hash]
}

/** Returns the hashes of a block's transactions. Native ones that could not start have no hash. */
function transactionHashes(chain: ChainReader, height: number): readonly Uint8Array[] {
  // Dropped transactions are left out.
  return (chain.entryResults(height) ?? []).flatMap((entry) => {
    if (entry.kind === 'skipped') return []
    if (entry.kind === 'native') return [entryHash(entry.raw)]
    const { hash, raw } = entry.signed.transaction
    return [hash, sha256(raw)]
  })
}

function mergedOf([a, b]: readonly [HashFile, HashFile]) {
  return { of: a.of, first: a.first, last: b.last, isMerged: true, count: a.count + b.count }
}

/** @returns whether it made a file */
async function mergeFiles(
  db: DatabaseReader,
  pair: readonly [HashFile, HashFile],
  pause: () => Promise<void>,
): Promise<boolean> {
  try {
    const [a, b] = pair.map((file) => new FileHashes(hashFilePath(db.location, file), file))
    const hashes = new MergedHashes(a!, b!)
    await writeHashFile(db.location, { ...mergedOf(pair), hashes }, pause)
    return true
  } catch (error) {
    const isCorrupt = error instanceof DatabaseError && error.code === 'corrupt'
    // One of them was dropped meanwhile.
    if (isCorrupt && pair.some((file) => !isListed(db.newest ?? db, file))) return false
    throw error
  }
}

/**
 * Adds complete files to the list, and removes those that are no longer needed.
 * @returns files that are no longer listed once the batch is written
 * @throws DatabaseError when a file is damaged
 */
export function updateHashFiles(db: DatabaseReader, batch: WriteBatch): readonly string[] {
  const chain = openChainReader(db)
  return HASHED.flatMap((of) => {
    const listed = readHashFiles(db, of)
    const wanted = wantedHeights(db, chain, of)
    const needed = listed.filter(({ last }) => last >= wanted.first)
    const merge = nextMerge(needed)
    const gap = merge === undefined ? findGap(db, needed, wanted) : undefined
    const path = (merge && hashFilePath(db.location, mergedOf(merge))) ?? (gap && gapPath(db, of, gap))
    const made = path !== undefined && hasSegmentFile(path) ? [readHashFile(path)] : []
    const rest = made.length === 0 || merge === undefined ? needed : needed.filter((file) => !merge.includes(file))
    const files = [...rest, ...made].sort((a, b) => a.first - b.first)
    if (made.length > 0 || files.length < listed.length) writeHashFiles(batch, of, files)
    return listed.filter((file) => !files.includes(file)).map((file) => hashFilePath(db.location, file))
  })
}

/**
 * Does all of {@link updateHashFiles} at once, in the database of a stopped node.
 * @returns whether there was anything to do
 */
export async function updateHashFilesNow(database: WritableDatabase): Promise<boolean> {
  const batch = new WriteBatch()
  const unlisted = updateHashFiles(database, batch)
  if (batch.length === 0) return false
  await database.write(batch, { sync: true })
  for (const path of unlisted) removeSegmentFile(path)
  return true
}

/** Whether there are blocks whose hashes must be in files, and are in none. */
export function missesHashes(db: DatabaseReader, of: Hashed): boolean {
  return findGap(db, readHashFiles(db, of), wantedHeights(db, openChainReader(db), of)) !== undefined
}

/**
 * Makes and lists all files that a stopped node does not have yet. Existing files that are not
 * listed are not used.
 */
export async function completeHashFiles(
  database: WritableDatabase,
  pause: () => Promise<void>,
  maxSorted = MAX_SORTED,
): Promise<void> {
  const listed = new Set(readAllHashFiles(database).map((file) => hashFilePath(database.location, file)))
  for (const path of segmentFiles(database.location)) {
    if (path.endsWith(HASHES_EXTENSION) && !listed.has(path)) removeSegmentFile(path)
  }
  for (let isDone = false; !isDone; ) {
    const hasMade = await makeNextHashFile(database, pause, maxSorted)
    isDone = !(await updateHashFilesNow(database)) && !hasMade
  }
}
