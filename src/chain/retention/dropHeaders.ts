import type { WriteBatch } from '../../storage/batch.ts'
import { Column, columnKey, heightBytes } from '../../storage/columns.ts'
import { damagedIn } from '../../storage/damage.ts'
import type { DatabaseReader } from '../../storage/database.ts'
import { type EthereumHeader, encodeEthereumHeader } from '../block/ethereumBlock.ts'
import type { ConsensusBlock } from '../comet/block.ts'
import { readFilled, readMoved } from '../segments/moveBlocks.ts'
import { findSegment, type HeightRange, segmentKey, segmentPath } from '../segments/segments.ts'
import { unlistTerms } from '../segments/segmentTerms.ts'
import type { BlockCache } from '../store/blockCache.ts'
import { baseEntry, type ChainReader, openChainReader, readBase } from '../store/chainReader.ts'
import { dropValidators } from '../store/validatorRecords.ts'
import { putHashEntries } from '../store/writeBlock.ts'
import { type HeaderRules, isHeaderNeeded } from './headerRetention.ts'
import { LightBlockKeeper } from './retainedLightBlocks.ts'

/*
 * Deletes headers, commits and validators that are no longer needed (headerRetention.ts): one
 * segment after another, oldest first, when its bodies were dropped and no block up to the first
 * one after it is needed.
 *
 * 1. With the batches of blocks the base of the chain rises through the segment, some blocks each
 *    time. Readers have no blocks below the base. The same batch deletes the records of the
 *    validators, and writes the retained light blocks.
 * 2. The batch that passes the end of the segment removes it from the list. The files with its
 *    hashes are deleted when they have no other hashes (indexes/makeHashFiles.ts).
 * 3. When that batch is on stable storage, the file is removed, a while later; after a crash, at the next start (`tidySegments`).
 */

/** Changes that {@link dropHeaders} has added to a batch. */
interface DroppedHeaders {
  /** number of blocks */
  readonly count: number
  /**
   * files that are no longer listed once the batch is written: a segment's file, and the file of
   * its terms if it had one
   */
  readonly files: readonly string[]
}

/**
 * Adds deletes to a batch, which drop the headers of the next blocks.
 * @param count of blocks, at most
 * @param cache of blocks, for one frame of a segment after another
 */
export function dropHeaders(
  db: DatabaseReader,
  batch: WriteBatch,
  { rules, count, cache }: { readonly rules: HeaderRules; readonly count: number; readonly cache: BlockCache },
): DroppedHeaders {
  if (rules.blockHistory === 0) return NOTHING
  const from = readBase(db)
  const segment = findSegment(db, from)
  // Not before all of its blocks have left LevelDB.
  if (segment === undefined || segment.last >= readMoved(db) || from < readFilled(db)) return NOTHING
  const reader = openChainReader(db, cache)
  if (from === segment.first && !mayGo(reader, segment, rules)) return NOTHING
  const until = Math.min(from + count, segment.last + 1)
  // Each block is needed for the two before it too.
  const blocks = new Map<number, ConsensusBlock>()
  const consensusBlock = (height: number): ConsensusBlock => {
    const block = blocks.get(height) ?? reader.consensusBlock(height)
    if (block === undefined) throw damagedIn(db, `block ${height} is missing`)
    blocks.set(height, block)
    return block
  }
  const keeper = new LightBlockKeeper(db, batch, { consensusBlock, validatorSetAt: reader.validatorSetAt })
  for (let height = from; height < until; height++) {
    keeper.pass(height)
    if (height === 0) putGenesisBlock(batch, reader.header(0)!, consensusBlock(1).header.appHash)
    blocks.delete(height)
  }
  dropValidators(batch, db, from, until)
  batch.put(...baseEntry(until))
  if (until <= segment.last) return { count: until - from, files: [] }
  batch.del(segmentKey(segment.first))
  const files = [segmentPath(db.location, segment), ...unlistTerms(db, batch, segment.last)]
  return { count: until - from, files }
}

const NOTHING: DroppedHeaders = { count: 0, files: [] }

/** Returns how many blocks {@link dropHeaders} will drop in all, in however many batches. */
export function countDroppableHeaders(db: DatabaseReader, rules: HeaderRules): number {
  if (rules.blockHistory === 0) return 0
  const reader = openChainReader(db)
  const moved = readMoved(db)
  let end = reader.base
  if (end < readFilled(db)) return 0
  for (;;) {
    const segment = findSegment(db, end)
    if (segment === undefined || segment.last >= moved) return end - reader.base
    const isBegun = end > segment.first
    if (!isBegun && !mayGo(reader, segment, rules)) return end - reader.base
    end = segment.last + 1
  }
}

/**
 * Whether a segment's headers are not needed, nor the first one after it: so evidence of any block below the base is older than the
 * base, which is too old itself.
 */
function mayGo(reader: ChainReader, { last }: HeightRange, rules: HeaderRules): boolean {
  if (last >= reader.oldestBlock) return false
  const age = (height: number) => ({ height, timeMs: reader.consensusBlock(height)!.header.timeMs })
  return !isHeaderNeeded(age(last + 1), age(reader.headHeight), rules)
}

/** Adds header and hash of block 0, which every chain has, wherever it begins. */
function putGenesisBlock(batch: WriteBatch, header: EthereumHeader, hash: Uint8Array): void {
  batch.put(columnKey(Column.header, heightBytes(0)), encodeEthereumHeader(header))
  putHashEntries(batch, { height: 0, hash, consensusHash: undefined })
}
