import type { WriteBatch } from '../storage/batch.ts'
import { Column, columnKey, heightBytes } from '../storage/columns.ts'
import type { KeyReader } from '../storage/database.ts'
import { decodeValidatorSet } from './consensus/lightBlock.ts'
import { COMPLETE_KEY, readCompleteFrom } from './missingBlocks.ts'
import type { VerifiedBlock } from './olderBlocks.ts'
import { writeFilled } from './segments/moveBlocks.ts'
import { baseEntry, readBase } from './store.ts'
import { writeOlderValidators } from './validatorRecords.ts'
import { putHashEntries } from './writeBlock.ts'

/**
 * Adds the blocks right below `readCompleteFrom` to a batch, and lowers the chain's base to the lowest of them; with block 1 to block 0,
 * whose header a restore has made. They are found by their hashes, as other blocks whose transactions were dropped.
 */
export function writeOlderBlocks(batch: WriteBatch, db: KeyReader, blocks: readonly VerifiedBlock[]): void {
  const base = readBase(db)
  const lowest = blocks.at(-1)
  if (lowest === undefined || blocks[0]!.height !== readCompleteFrom(db) - 1) {
    throw new Error('these are not the blocks that are missing')
  }
  for (const { height, header, block, hash, consensusHash } of blocks) {
    if (height >= base) continue
    batch.put(columnKey(Column.header, heightBytes(height)), header)
    batch.put(columnKey(Column.consensusBlock, heightBytes(height)), block)
    putHashEntries(batch, { height, hash, consensusHash })
  }
  writeOlderValidators(
    batch,
    db,
    blocks.map(({ height, validatorsHash: hash, validators }) => ({
      height,
      hash,
      set: validators && decodeValidatorSet(validators),
    })),
  )
  const from = lowest.height === 1 ? 0 : lowest.height
  batch.put(COMPLETE_KEY, heightBytes(from))
  if (from >= base) return
  // Before the base falls: where nothing else says so, segments begin there.
  writeFilled(batch, db)
  batch.put(...baseEntry(from))
}
