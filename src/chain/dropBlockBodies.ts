import type { WriteBatch } from '../storage/batch.ts'
import { Column, columnKey, heightBytes } from '../storage/columns.ts'
import type { DatabaseReader } from '../storage/database.ts'
import { encodeBlock } from './consensus/block.ts'
import { NO_BLOCK_EVENTS } from './entries.ts'
import { envelopeKeys } from './eventIndex.ts'
import type { HashPlaceWriter } from './hashIndex.ts'
import { readFilled, readMoved, transactionPlace } from './segments/moveBlocks.ts'
import { findTerms, type ListedTerms } from './segments/segmentTerms.ts'
import { oldestBlockEntry, openChainReader } from './store.ts'
import { indexKeys, transactionKey } from './writeBlock.ts'

/**
 * Adds deletes to a batch, which drop the transactions, receipts and indexes of at most `count` blocks below `oldestToKeep`, oldest
 * first: fewer where these have much. Headers, commits and validator sets stay: evidence may still refer to them. Of a block that is in a
 * segment only the indexes go: its file is replaced later (segments/bareSegments.ts).
 * @param places of the same batch
 */
export function dropBlockBodies(
  database: DatabaseReader,
  batch: WriteBatch,
  places: HashPlaceWriter,
  oldestToKeep: number,
  count: number,
): void {
  const [filled, moved] = [readFilled(database), readMoved(database)]
  const reader = openChainReader(database)
  const target = Math.min(oldestToKeep, reader.headHeight)
  if (reader.oldestBlock >= target) return
  let height = reader.oldestBlock
  const limit = batch.bytes + DROPPED_BATCH_BYTES
  let terms: ListedTerms | undefined
  for (; height < target && height < reader.oldestBlock + count && batch.bytes < limit; height++) {
    const isMoved = height >= filled && height < moved
    const entries = reader.entryResults(height) ?? []
    entries.forEach((entry, position) => {
      const found = transactionPlace(entry, position, height)
      if (found === undefined) return
      if (isMoved) places.remove(found.kind, found.hash, found.place)
      else batch.del(transactionKey(entry)!)
    })
    if (terms === undefined || height > terms.last) terms = findTerms(database, height)
    const hasTerms = isMoved && terms !== undefined
    const keys = hasTerms
      ? envelopeKeys(height, entries)
      : indexKeys(height, entries, reader.blockEvents(height) ?? NO_BLOCK_EVENTS)
    for (const key of keys) batch.del(key)
    if (isMoved) continue
    batch.del(columnKey(Column.results, heightBytes(height)))
    const block = reader.consensusBlock(height)
    if (block !== undefined && block.txs.length > 0) {
      batch.put(columnKey(Column.consensusBlock, heightBytes(height)), encodeBlock({ ...block, txs: [] }))
    }
  }
  batch.put(...oldestBlockEntry(height))
}

/** After so many bytes of deletes, and of blocks without their transactions, no further block is dropped with a batch. */
const DROPPED_BATCH_BYTES = 4 << 20
