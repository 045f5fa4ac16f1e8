import { Column, columnKey, readHeight } from '../../storage/columns.ts'
import type { DatabaseReader, KeyReader } from '../../storage/database.ts'
import { lastOfSegment } from '../segments/segments.ts'
import { type ChainReader, openChainReader, RESTORED_KEY, readBase } from '../store/chainReader.ts'
import { type HeaderRules, isHeaderNeeded } from './headerRetention.ts'

/** Lowest height from which on the validators are there too, where that is above the base. */
export const COMPLETE_KEY = columnKey(Column.chainMeta, new TextEncoder().encode('complete'))

/**
 * Returns the lowest height from which on header, commit and validators of every block are there.
 * On a node that started from a snapshot this is at first the snapshot's height: the blocks below,
 * which came with it, lack their validators.
 */
export function readCompleteFrom(db: KeyReader): number {
  const bytes = db.get(COMPLETE_KEY) ?? db.get(RESTORED_KEY)
  return Math.max(readBase(db), bytes === undefined ? 0 : readHeight(bytes, 0))
}

/**
 * Whether a node that started from a snapshot lacks the block below the complete ones. Old blocks
 * are packed and dropped in whole segments, so a segment that is needed in part is needed as a
 * whole.
 * @param rules undefined: no blocks are fetched
 */
export function needsOlderBlocks(db: DatabaseReader, rules: HeaderRules | undefined): boolean {
  const from = readCompleteFrom(db)
  if (rules === undefined || from <= 1 || db.get(RESTORED_KEY) === undefined) return false
  const chain = openChainReader(db)
  // A segment stays as long as the first block after it is needed (dropHeaders.ts).
  const after = Math.min(lastOfSegment(from - 1) + 1, chain.headHeight)
  return isHeaderNeeded(ageOf(chain, after), ageOf(chain, chain.headHeight), rules)
}

function ageOf(chain: ChainReader, height: number) {
  const block = chain.consensusBlock(height)
  if (block === undefined) throw new Error(`block ${height} is missing`)
  return { height, timeMs: block.header.timeMs }
}
