import type { WriteBatch } from '../../storage/batch.ts'
import { Column, columnKey, heightBytes, readHeight } from '../../storage/columns.ts'
import { damagedIn } from '../../storage/damage.ts'
import type { KeyReader } from '../../storage/database.ts'
import { NO_BLOCK_EVENTS } from '../block/entries.ts'
import { envelopeKeys } from '../indexes/eventIndex.ts'
import type { ChainReader } from '../store/chainReader.ts'
import { removeValidators } from '../store/validatorRecords.ts'
import { consensusHashKey, deleteTermEntries, transactionKey, writeHeadRecord } from '../store/writeBlock.ts'

/**
 * Adds deletes to a batch, which remove the newest block from the database: the entries that
 * `writeBlock`, `writeValidators` and `writeHeadRecord` wrote for it. The head record of the block
 * before is made from this block, which has that block's ID, commit and hash of results. Sets of
 * validators stay: they are found by their hash alone, and an earlier height may have the same one.
 * @param chain the blocks in `db`; its newest is not the genesis, and has its body
 * @throws DatabaseError when a part of the block is missing
 */
export function removeNewestBlock(batch: WriteBatch, db: KeyReader, chain: ChainReader): void {
  const height = chain.headHeight
  const block = chain.consensusBlock(height)
  const hash = chain.hash(height)
  const entries = chain.entryResults(height)
  const consensusHash = chain.blockId(height)?.hash
  if (block === undefined || hash === undefined || entries === undefined || consensusHash === undefined) {
    throw damagedIn(db, `a part of block ${height} is missing`)
  }
  batch.del(columnKey(Column.header, heightBytes(height)))
  batch.del(columnKey(Column.consensusBlock, heightBytes(height)))
  batch.del(columnKey(Column.results, heightBytes(height)))
  const found = [columnKey(Column.blockHash, hash), consensusHashKey(consensusHash), ...entries.map(transactionKey)]
  for (const key of found) {
    // Of two blocks whose consensus hashes begin alike, the later one has the entry.
    const value = key && db.get(key)
    if (value !== undefined && readHeight(value, 0) === height) batch.del(key!)
  }
  deleteTermEntries(batch, db, { height, entries, events: chain.blockEvents(height) ?? NO_BLOCK_EVENTS })
  for (const key of envelopeKeys(height, entries)) batch.del(key)
  removeValidators(batch, db, height + 2)
  const { lastBlockId, lastResultsHash } = block.header
  writeHeadRecord(batch, {
    height: height - 1,
    decided: height === 1 ? undefined : { blockId: lastBlockId, seenCommit: block.lastCommit },
    resultsHash: lastResultsHash,
  })
}
