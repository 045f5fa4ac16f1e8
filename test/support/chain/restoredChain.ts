import { openChainReader, RESTORED_KEY, writeOldestBlocks } from '../../../src/chain/store/chainReader.ts'
import { writeUnrankedSet } from '../../../src/chain/store/validatorRecords.ts'
import { putHashEntries, writeHeadRecord } from '../../../src/chain/store/writeBlock.ts'
import { WriteBatch } from '../../../src/storage/batch.ts'
import { Column, columnKey, heightBytes } from '../../../src/storage/columns.ts'
import type { DatabaseReader, WritableDatabase } from '../../../src/storage/database.ts'

interface RestoredChain {
  /** lowest block that came with the snapshot */
  readonly base: number
  /** the snapshot's block */
  readonly restored: number
  readonly head: number
}

/** Writes what a node has of the chain in `full` that began with a snapshot and has followed since. */
export async function writeRestoredChain(
  database: WritableDatabase,
  full: DatabaseReader,
  { base, restored, head }: RestoredChain,
): Promise<void> {
  const source = openChainReader(full)
  const batch = new WriteBatch()
  for (let height = base; height <= head; height++) {
    for (const column of [Column.header, Column.consensusBlock]) {
      const key = columnKey(column, heightBytes(height))
      batch.put(key, full.get(key)!)
    }
    const [hash, consensusHash] = [source.hash(height)!, source.blockId(height)!.hash]
    putHashEntries(batch, { height, hash, consensusHash })
  }
  const decided = { blockId: source.blockId(head)!, seenCommit: source.seenCommit(head)! }
  writeHeadRecord(batch, { height: head, decided, resultsHash: new Uint8Array(32) })
  writeOldestBlocks(batch, { base, oldestBlock: restored + 1 })
  batch.put(RESTORED_KEY, Buffer.concat([heightBytes(restored), new Uint8Array(32)]))
  await database.write(batch, { sync: false })
  for (let height = restored; height <= head; height += 1) {
    if (height > restored && height % 64 !== 0) continue
    const record = new WriteBatch()
    writeUnrankedSet(record, database, height, source.validatorSetAt(height)!)
    await database.write(record, { sync: false })
  }
}
