import { WriteBatch } from '../storage/batch.ts'
import { Column, columnKey, heightBytes } from '../storage/columns.ts'
import type { WritableDatabase } from '../storage/database.ts'
import { encodeBlock } from './consensus/blockCodec.ts'
import { logIndexKeys } from './logIndex.ts'
import { oldestBlockEntry, openChainReader } from './store.ts'

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
    for (const { transaction } of reader.transactions(height) ?? []) {
      batch.del(columnKey(Column.transaction, transaction.hash))
    }
    const logs = reader.receipts(height)?.flatMap((receipt) => receipt.logs) ?? []
    for (const key of logIndexKeys(height, logs)) batch.del(key)
    batch.del(columnKey(Column.results, heightBytes(height)))
    const block = reader.consensusBlock(height)
    if (block !== undefined && block.txs.length > 0) {
      batch.put(columnKey(Column.consensusBlock, heightBytes(height)), encodeBlock({ ...block, txs: [] }))
    }
  }
  batch.put(...oldestBlockEntry(height))
  await database.write(batch, { sync: true })
}
