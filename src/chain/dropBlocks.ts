import { WriteBatch } from '../storage/batch.ts'
import { Column, columnKey, heightBytes } from '../storage/columns.ts'
import type { WritableDatabase } from '../storage/database.ts'
import { encodeBlock } from './consensus/blockCodec.ts'
import { NO_BLOCK_EVENTS } from './entryResult.ts'
import { oldestBlockEntry, openChainReader } from './store.ts'
import { indexKeys, transactionKey } from './writeBlock.ts'

/**
 * Drops the transactions, receipts and indexes of at most `count` blocks below `oldestToKeep`, oldest first. Headers,
 * commits and validator sets stay: evidence may still refer to them.
 */
export async function dropBlockBodies(database: WritableDatabase, oldestToKeep: number, count: number): Promise<void> {
  const reader = openChainReader(database)
  const target = Math.min(oldestToKeep, reader.headHeight)
  if (reader.oldestBlock >= target) return
  const batch = new WriteBatch()
  let height = reader.oldestBlock
  for (; height < target && height < reader.oldestBlock + count; height++) {
    const entries = reader.entryResults(height) ?? []
    for (const entry of entries) {
      const key = transactionKey(entry)
      if (key !== undefined) batch.del(key)
    }
    for (const key of indexKeys(height, entries, reader.blockEvents(height) ?? NO_BLOCK_EVENTS)) batch.del(key)
    batch.del(columnKey(Column.results, heightBytes(height)))
    const block = reader.consensusBlock(height)
    if (block !== undefined && block.txs.length > 0) {
      batch.put(columnKey(Column.consensusBlock, heightBytes(height)), encodeBlock({ ...block, txs: [] }))
    }
  }
  batch.put(...oldestBlockEntry(height))
  await database.write(batch, { sync: true })
}
