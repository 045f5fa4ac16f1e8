import { Column, columnKey, heightBytes, readHeight } from '../storage/columns.ts'
import { DatabaseError, type WritableDatabase } from '../storage/database.ts'

/** More blocks than may be in LevelDB's logs and in no table file yet: two logs of 16 MB, over 3 KB a block. */
const CHECKED_BLOCKS = 12_000

/**
 * Makes sure that no block below the head is missing. A block and its state are one batch, and LevelDB passes over batches that
 * are damaged in its log, so a missing block tells of a state that is wrong.
 * @throws DatabaseError
 */
export async function checkBlocks(
  database: Pick<WritableDatabase, 'entries' | 'location'>,
  headHeight: number,
): Promise<void> {
  let expected = Math.max(0, headHeight - CHECKED_BLOCKS)
  const range = {
    start: columnKey(Column.header, heightBytes(expected)),
    end: columnKey(Column.header, heightBytes(headHeight + 1)),
  }
  for await (const [key] of database.entries(range)) {
    if (readHeight(key, 1) !== expected) break
    expected++
  }
  if (expected > headHeight) return
  throw missingBlock(database.location, expected)
}

export function missingBlock(location: string, height: number): DatabaseError {
  return new DatabaseError(
    'corrupt',
    `${location} is damaged: block ${height} is missing, but there are blocks after it. Check the disk; then restore the data ` +
      'directory from a backup, or move db away and import the blocks of an export',
    undefined,
  )
}
