import type { WriteBatch } from '../../storage/batch.ts'
import { damagedIn } from '../../storage/damage.ts'
import type { DatabaseReader } from '../../storage/database.ts'
import { GENESIS_HASH_KEY } from '../../storage/format.ts'
import { hasSegmentFile, readSegmentIndex } from '../../storage/segmentFile.ts'
import { decodeBlock, encodeBlock } from '../comet/block.ts'
import { openChainReader } from '../store/chainReader.ts'
import type { StoredBlock } from './blockFrame.ts'
import { readFilled, readMoved } from './moveBlocks.ts'
import {
  BlockUnavailable,
  createSegmentCache,
  findSegment,
  type ListedSegment,
  readFromSegment,
  segmentEntry,
  segmentPath,
  writeSegment,
} from './segments.ts'
import { unlistTerms } from './segmentTerms.ts'

/*
 * Where BLOCK_HISTORY was set or lowered, segments that were made before have transactions and results of blocks that are dropped by now.
 * They are made again without these, oldest first; files never change, so the new one has another name:
 *
 * 1. A background thread writes it, reads it again and compares it (`makeNextBareSegment`), as the first one was made (moveBlocks.ts).
 * 2. The executor lists it in place of the old one, with the batch of a block (`listNextBareSegment`), and its terms no more.
 * 3. When that batch is on stable storage, the old files are removed; after a crash, at the next start (`tidySegments`).
 */

/**
 * Returns the oldest segment with bodies that were all dropped.
 * @param from a height below which no segment has bodies
 */
function nextWithBodies(db: DatabaseReader, from: number): ListedSegment | undefined {
  const { value } = segmentsWithBodies(db, from).next()
  return value
}

function* segmentsWithBodies(db: DatabaseReader, from: number): Generator<ListedSegment, undefined, void> {
  const { base, oldestBlock } = openChainReader(db)
  const end = Math.min(oldestBlock, readMoved(db))
  for (let height = Math.max(base, from, readFilled(db)); height < end; ) {
    const segment = findSegment(db, height)
    if (segment === undefined || segment.last >= end) return
    if (segment.isBare !== true) yield segment
    height = segment.last + 1
  }
}

/** Returns how many segments still have bodies which were all dropped. */
export function countSegmentsWithBodies(db: DatabaseReader): number {
  return Array.from(segmentsWithBodies(db, 0)).length
}

/**
 * Makes the file of the next segment without bodies, unless it is there and waits to be listed.
 * @param pause see `writeSegment`
 * @returns whether it made one
 */
export async function makeNextBareSegment(db: DatabaseReader, pause: () => Promise<void>): Promise<boolean> {
  const old = nextWithBodies(db, 0)
  if (old === undefined || hasSegmentFile(segmentPath(db.location, bareOf(old)))) return false
  const genesisHash = db.get(GENESIS_HASH_KEY)
  const lastCommit = openChainReader(db).seenCommit(old.last)
  if (genesisHash === undefined || lastCommit === undefined) {
    throw damagedIn(db, `the genesis hash or the commit of block ${old.last} is missing`)
  }
  const cache = createSegmentCache()
  const read = (height: number): StoredBlock => {
    const block = readFromSegment(db, cache, height)
    if (block === undefined) throw new BlockUnavailable(height)
    return withoutBody(block)
  }
  try {
    await writeSegment(db.location, { ...bareOf(old), genesisHash, lastCommit, read }, pause)
  } catch (error) {
    // Its headers were dropped meanwhile.
    if (error instanceof BlockUnavailable) return false
    throw error
  }
  return true
}

/** Changes that {@link listNextBareSegment} has added to a batch. */
interface BareSegment {
  /**
   * files that are no longer listed once the batch is written: of the segment with bodies, and of
   * its terms
   */
  readonly oldFiles: readonly string[]
  /** a height below which there is nothing more to list */
  readonly next: number
}

/**
 * Lists the next segment without bodies instead of the one with them, if its file is there.
 * @param from a height below which no segment has bodies
 * @throws DatabaseError when the file is damaged
 */
export function listNextBareSegment(db: DatabaseReader, batch: WriteBatch, from: number): BareSegment | undefined {
  const old = nextWithBodies(db, from)
  const path = old && segmentPath(db.location, bareOf(old))
  if (old === undefined || path === undefined || !hasSegmentFile(path)) return undefined
  const { bytes, sha256 } = readSegmentIndex(path)
  batch.put(...segmentEntry({ ...bareOf(old), bytes, sha256 }))
  const oldFiles = [segmentPath(db.location, old), ...unlistTerms(db, batch, old.last)]
  return { oldFiles, next: old.last + 1 }
}

function bareOf({ first, last }: ListedSegment) {
  return { first, last, isBare: true } as const
}

/** As `dropBlockBodies` leaves it in LevelDB. */
function withoutBody({ header, block }: StoredBlock): StoredBlock {
  const decoded = block && decodeBlock(block)
  const hasBody = decoded !== undefined && decoded.txs.length > 0
  return { header, block: hasBody ? encodeBlock({ ...decoded, txs: [] }) : block, results: undefined }
}
