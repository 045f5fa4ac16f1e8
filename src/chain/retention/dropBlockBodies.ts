import type { WriteBatch } from '../../storage/batch.ts'
import { Column, columnKey, heightBytes } from '../../storage/columns.ts'
import type { DatabaseReader } from '../../storage/database.ts'
import { NO_BLOCK_EVENTS } from '../block/entries.ts'
import { encodeBlock } from '../comet/block.ts'
import { envelopeKeys } from '../indexes/eventIndex.ts'
import { MOST_DECODED_BYTES, readFilled, readMoved } from '../segments/moveBlocks.ts'
import { findTerms, type ListedTerms } from '../segments/segmentTerms.ts'
import { oldestBlockEntry, openChainReader } from '../store/chainReader.ts'
import { deleteTermEntries, transactionKey } from '../store/writeBlock.ts'

/**
 * Adds deletes to a batch, which drop the transactions, receipts and indexes of at most `count`
 * blocks below `oldestToKeep`, oldest first; fewer when the blocks are large. Headers, commits and
 * validator sets stay: evidence may still refer to them. For a block in a segment only the indexes
 * in LevelDB are deleted: its file is replaced later (segments/bareSegments.ts), and files with
 * terms and hashes are removed when none of their blocks has a body.
 */
export function dropBlockBodies(
  database: DatabaseReader,
  batch: WriteBatch,
  oldestToKeep: number,
  count: number,
): void {
  const [filled, moved] = [readFilled(database), readMoved(database)]
  const reader = openChainReader(database)
  const target = Math.min(oldestToKeep, reader.headHeight)
  if (reader.oldestBlock >= target) return
  let height = reader.oldestBlock
  const limit = batch.bytes + DROPPED_BATCH_BYTES
  const end = Math.min(target, reader.oldestBlock + count)
  let decoded = 0
  let terms: ListedTerms | undefined
  for (; height < end && batch.bytes < limit && decoded < MOST_DECODED_BYTES; height++) {
    const isMoved = height >= filled && height < moved
    if (terms === undefined || height > terms.last) terms = findTerms(database, height)
    if (isMoved && terms !== undefined) continue
    const { results, block: encoded } = reader.storedBlock(height) ?? {}
    if (results !== undefined) decoded += results.length + (encoded?.length ?? 0)
    const entries = reader.entryResults(height) ?? []
    deleteTermEntries(batch, database, { height, entries, events: reader.blockEvents(height) ?? NO_BLOCK_EVENTS })
    for (const key of envelopeKeys(height, entries)) batch.del(key)
    if (isMoved) continue
    for (const entry of entries) {
      const key = transactionKey(entry)
      if (key !== undefined) batch.del(key)
    }
    batch.del(columnKey(Column.results, heightBytes(height)))
    const block = reader.consensusBlock(height)
    if (block !== undefined && block.txs.length > 0) {
      batch.put(columnKey(Column.consensusBlock, heightBytes(height)), encodeBlock({ ...block, txs: [] }))
    }
  }
  batch.put(...oldestBlockEntry(height))
}

/**
 * After this many bytes of deletes, and of blocks without their transactions, no further block is
 * dropped with a batch.
 */
const DROPPED_BATCH_BYTES = 4 << 20
