import type { Hash } from '../../primitives/hash.ts'
import type { WriteBatch } from '../../storage/batch.ts'
import { Column, columnKey, heightBytes } from '../../storage/columns.ts'
import type { KeyReader } from '../../storage/database.ts'
import { decodeValidatorSet } from '../comet/lightBlock.ts'
import { COMPLETE_KEY, readCompleteFrom } from '../retention/completeBlocks.ts'
import { listOlderSegment, writeFilled } from '../segments/moveBlocks.ts'
import type { ListedSegment } from '../segments/segments.ts'
import { baseEntry, readBase } from './chainReader.ts'
import type { VerifiedBlock } from './olderBlocks.ts'
import { writeOlderValidators } from './validatorRecords.ts'
import { putHashEntries } from './writeBlock.ts'

/**
 * Adds the blocks right below `readCompleteFrom` to a batch, and lowers the chain's base to the lowest of them; with block 1 to block 0,
 * whose header a restore has made. They are found by their hashes, as other blocks whose transactions were dropped.
 */
export function writeOlderBlocks(batch: WriteBatch, db: KeyReader, blocks: readonly VerifiedBlock[]): void {
  const base = readBase(db)
  checkMissing(db, blocks)
  for (const { height, header, block, hash, consensusHash } of blocks) {
    if (height >= base) continue
    batch.put(columnKey(Column.header, heightBytes(height)), header)
    batch.put(columnKey(Column.consensusBlock, heightBytes(height)), block)
    putHashEntries(batch, { height, hash, consensusHash })
  }
  const from = writeComplete(batch, db, blocks)
  if (from >= base) return
  // Before the base falls: where nothing else says so, segments begin there.
  writeFilled(batch, db)
  batch.put(...baseEntry(from))
}

/** A block in a segment file, without the block's bytes; the file does not have the validators. */
export type OlderBlockInFile = Omit<VerifiedBlock, 'block' | 'header'>

/**
 * Does the same for the blocks below the base that are in a file, from its first one on: they are read from there, and found by their hashes
 * as other blocks in segments, when these are in files too (indexes/makeHashFiles.ts).
 */
export function writeOlderSegment(batch: WriteBatch, db: KeyReader, { segment, blocks, genesis }: OlderSegment): void {
  checkMissing(db, blocks)
  if (genesis !== undefined) {
    batch.del(columnKey(Column.header, heightBytes(0)))
    batch.del(columnKey(Column.blockHash, genesis))
  }
  writeComplete(batch, db, blocks)
  listOlderSegment(db, batch, segment)
  batch.put(...baseEntry(segment.first))
}

interface OlderSegment {
  readonly segment: ListedSegment
  /** the highest first; without block 0 */
  readonly blocks: readonly OlderBlockInFile[]
  /** hash of block 0, where the file has it */
  readonly genesis: Hash | undefined
}

function checkMissing(db: KeyReader, blocks: readonly OlderBlockInFile[]): void {
  if (blocks[0] === undefined || blocks[0].height !== readCompleteFrom(db) - 1) {
    throw new Error('these are not the blocks that are missing')
  }
}

/** Adds the validators of the blocks. @returns the height from which on all is there then */
function writeComplete(batch: WriteBatch, db: KeyReader, blocks: readonly OlderBlockInFile[]): number {
  writeOlderValidators(
    batch,
    db,
    blocks.map(({ height, validatorsHash: hash, validators }) => ({
      height,
      hash,
      set: validators && decodeValidatorSet(validators),
    })),
  )
  const lowest = blocks.at(-1)!.height
  const from = lowest === 1 ? 0 : lowest
  batch.put(COMPLETE_KEY, heightBytes(from))
  return from
}
