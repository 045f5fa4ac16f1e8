import { EMPTY_BYTES } from '../../primitives/bytes.ts'
import { WriteBatch } from '../../storage/batch.ts'
import { Column, columnKey, heightBytes, prefixEnd, readHeight } from '../../storage/columns.ts'
import type { KeyRange, KeyReader, WritableDatabase } from '../../storage/database.ts'
import { ENVELOPE_TERMS } from './eventIndex.ts'

/**
 * Key of the record which blocks are in the indexes of log terms and event terms. A node that ran
 * with INDEX=`off` for a while has a gap in these indexes, and a reader must not take the gap for
 * blocks without logs and events. Transactions are found by their hashes in any case.
 */
export const INDEXED_KEY = columnKey(Column.chainMeta, new TextEncoder().encode('indexed'))

/**
 * Returns the height from which on every block is in the indexes; `Infinity`: new blocks are not.
 */
export function readIndexedFrom(db: KeyReader): number {
  const stored = db.get(INDEXED_KEY)
  if (stored === undefined) return 0
  return stored.length === 0 ? Number.POSITIVE_INFINITY : readHeight(stored, 0)
}

/**
 * Records the height from which on every block is indexed; `Infinity`: blocks are not indexed from
 * this batch on.
 */
function writeIndexedFrom(batch: WriteBatch, height: number): void {
  batch.put(INDEXED_KEY, Number.isFinite(height) ? heightBytes(height) : EMPTY_BYTES)
}

/** Switches the indexes on or off for the blocks after the head. To be called before one of them is written. */
export async function switchIndexes(
  database: Pick<WritableDatabase, 'get' | 'write'>,
  index: 'all' | 'off',
  headHeight: number,
): Promise<void> {
  const isOn = Number.isFinite(readIndexedFrom(database))
  if (isOn === (index === 'all')) return
  const batch = new WriteBatch()
  writeIndexedFrom(batch, isOn ? Number.POSITIVE_INFINITY : headHeight + 1)
  await database.write(batch, { sync: true })
}

/** Records that every block is in the indexes. */
export function writeFullyIndexed(batch: WriteBatch): void {
  batch.del(INDEXED_KEY)
}

/** Columns of terms with the heights of blocks behind them. */
export const TERM_COLUMNS: ReadonlySet<number | undefined> = new Set([
  Column.logTerm,
  Column.packedLogTerms,
  Column.eventTerm,
])

/**
 * Returns the key ranges of both indexes, without the terms by which transactions are found by
 * their hashes. They include the list of files with terms: a file that is not listed is no longer
 * part of the database.
 */
export function termRanges(): readonly KeyRange[] {
  const [logs, packed, events, files] = [
    Column.logTerm,
    Column.packedLogTerms,
    Column.eventTerm,
    Column.segmentTerms,
  ].map((column) => columnKey(column))
  return [
    { start: files!, end: prefixEnd(files!) },
    { start: logs!, end: prefixEnd(logs!) },
    { start: packed!, end: prefixEnd(packed!) },
    { start: events!, end: ENVELOPE_TERMS },
    { start: prefixEnd(ENVELOPE_TERMS)!, end: prefixEnd(events!) },
  ]
}
