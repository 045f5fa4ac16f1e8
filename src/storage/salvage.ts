import { closeSync, existsSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { BatchWriter } from './batchWriter.ts'
import { checkedValue } from './checksum.ts'
import { DatabaseError, type WritableDatabase } from './database.ts'
import { LevelReader, logNumber } from './levelFormat.ts'
import { readRecords } from './recordFile.ts'
import { readTableEntries } from './tableFile.ts'

/**
 * Yields what can still be read of a damaged LevelDB directory, whether LevelDB could open it or
 * not. No process may have it open. The entries are those of columns from `first` to `last` in all
 * tables and logs, as far as their checksums are right, in no particular order. Entries may be
 * missing, and others may be previous values or have been deleted: the caller has to prove them.
 */
export function* salvageEntries(
  location: string,
  first: number,
  last: number,
): Generator<readonly [Uint8Array, Uint8Array], void, void> {
  for (const name of existsSync(location) ? readdirSync(location) : []) {
    const path = join(location, name)
    const entries = /^\d+\.(ldb|sst)$/.test(name) ? tableEntries(path, first, last) : logEntries(path, name)
    for (const [key, stored] of entries) {
      const value = key[0]! >= first && key[0]! <= last ? checkedValue(key, stored) : undefined
      if (value !== undefined) yield [key, value]
    }
  }
}

/** Which entries {@link salvageTo} copies. */
interface SalvageRange {
  /** a damaged LevelDB directory that no process has open */
  readonly location: string
  /** columns */
  readonly first: number
  readonly last: number
  readonly isWanted: (key: Uint8Array) => boolean
}

/** Entries between two turns of the event loop. */
const ENTRIES_PER_PAUSE = 256

/**
 * Copies what can still be read to a database, where it can be looked up. Of several entries with the same key one is there.
 * @param pause awaited now and then, with the number of entries that were read
 */
export async function salvageTo(
  target: Pick<WritableDatabase, 'write'>,
  { location, first, last, isWanted }: SalvageRange,
  pause: (entries: number) => Promise<void>,
): Promise<void> {
  const batches = new BatchWriter(target)
  let entries = 0
  for (const [key, value] of salvageEntries(location, first, last)) {
    if (++entries % ENTRIES_PER_PAUSE === 0) {
      await batches.flushLarge()
      await pause(entries)
    }
    if (isWanted(key)) batches.batch.put(key, value)
  }
  await batches.flush()
}

type StoredEntry = readonly [key: Uint8Array, stored: Uint8Array]

/** Yields the readable entries of a damaged table, see {@link salvageEntries}. */
export function* tableEntries(path: string, first: number, last: number): Generator<StoredEntry, void, void> {
  const descriptor = openSync(path, 'r')
  try {
    yield* readTableEntries({ path, descriptor }, first, last)
  } catch (error) {
    // Without the index, no entry of the table can be found.
    if (!(error instanceof DatabaseError) || error.code !== 'corrupt') throw error
  } finally {
    closeSync(descriptor)
  }
}

/** Bytes of a batch before its first entry: number of the first write, number of entries. */
const BATCH_HEADER_BYTES = 12
const PUT = 1

/** Yields the readable entries of a damaged log; there are none if the file has another name. */
export function* logEntries(path: string, name: string): Generator<StoredEntry, void, void> {
  if (logNumber(name) === undefined) return
  for (const { payload } of readRecords(readFileSync(path)).records) yield* batchEntries(payload)
}

/**
 * Returns the entries of a batch. Each has its operation (1 byte), length and bytes of the key, and
 * for a put those of the value.
 */
function batchEntries(batch: Uint8Array): readonly StoredEntry[] {
  const entries: StoredEntry[] = []
  const reader = new LevelReader(batch, BATCH_HEADER_BYTES)
  try {
    while (!reader.isDone) {
      const [type] = reader.take(1)
      const key = reader.take(reader.varint())
      if (type === PUT) entries.push([key, reader.take(reader.varint())])
    }
  } catch (error) {
    // A part of a batch, behind a damaged one: what came before it counts.
    if (!(error instanceof RangeError)) throw error
  }
  return entries
}
