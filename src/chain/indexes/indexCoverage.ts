import { EMPTY_BYTES } from '../../primitives/bytes.ts'
import { WriteBatch } from '../../storage/batch.ts'
import { Column, columnKey, heightBytes, prefixEnd, readHeight } from '../../storage/columns.ts'
import type { KeyRange, KeyReader, WritableDatabase } from '../../storage/database.ts'
import { ENVELOPE_TERMS } from './eventIndex.ts'

/**
 * Which blocks are in the indexes of log terms and event terms, as INDEX says: a node that was run with `off` for a while has a hole in
 * them, and nobody may take the hole for blocks without logs and events. Transactions are found by their hashes in any case.
 */
export const INDEXED_KEY = columnKey(Column.chainMeta, new TextEncoder().encode('indexed'))

/** The height from which on every block is in the indexes; `Infinity`: new blocks are not. */
export function readIndexedFrom(db: KeyReader): number {
  const stored = db.get(INDEXED_KEY)
  if (stored === undefined) return 0
  return stored.length === 0 ? Number.POSITIVE_INFINITY : readHeight(stored, 0)
}

/** Records it: of `Infinity`, that blocks are not indexed from this batch on. */
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
 * Where the keys of both indexes are, without those by which transactions are found by their hashes; and the list of files with terms, which
 * are no part of the database any more when they are not listed.
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
