import { existsSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { compareBytes, equalBytes } from '../primitives/bytes.ts'
import { Column } from './columns.ts'
import { DatabaseError, otherFormat } from './database.ts'
import { FORMAT, FORMAT_KEY, formatOf, GENESIS_HASH_KEY } from './format.ts'
import { tablePaths } from './levelFormat.ts'
import { readManifest, type Table, tablesIn } from './manifestFile.ts'
import { logEntries, tableEntries } from './salvage.ts'

/**
 * Refuses a database in another format, by the contents of its files. LevelDB already writes to a
 * directory when it opens it, so this runs before the first opening: a refused directory stays as
 * it was, byte for byte. A process may have it open. A directory without a database passes, and a
 * damaged one whose format is unknown: later checks report damage.
 * @throws DatabaseError
 */
export function refuseOtherFormat(location: string): void {
  const format = storedFormat(location)
  if (format !== undefined && format !== FORMAT) throw otherFormat(resolve(location), format)
}

/** Returns undefined when the format is unknown. */
function storedFormat(location: string): number | undefined {
  const found: Found = { format: undefined, genesis: undefined }
  for (const { number } of tablesOf(location).filter(mayHaveFormat)) {
    const path = tablePaths(location, number).find(existsSync)
    if (path !== undefined) collect(found, tableEntries(path, Column.chainMeta, Column.chainMeta))
  }
  // The common case, in which the logs need not be read.
  if (found.format === FORMAT) return FORMAT
  for (const name of existsSync(location) ? readdirSync(location) : []) {
    collect(found, logEntries(join(location, name), name))
  }
  const { format, genesis } = found
  if (format !== undefined) return format
  const inferred = formatOf((key) => (key === GENESIS_HASH_KEY ? genesis : undefined))
  return inferred === 'damaged' ? undefined : inferred
}

interface Found {
  /** No version lowers the number, so that the highest one in the files is the database's. */
  format: number | undefined
  genesis: Uint8Array | undefined
}

function collect(found: Found, entries: Iterable<readonly [key: Uint8Array, stored: Uint8Array]>): void {
  for (const [key, stored] of entries) {
    if (equalBytes(key, GENESIS_HASH_KEY)) found.genesis = stored
    if (!equalBytes(key, FORMAT_KEY)) continue
    const format = formatOf(() => stored)
    if (typeof format === 'number') found.format = Math.max(format, found.format ?? 0)
  }
}

function tablesOf(location: string): readonly Table[] {
  try {
    return readManifest(location)?.tables ?? []
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.code !== 'corrupt') throw error
    return tablesIn(location)
  }
}

/** Returns whether a table may hold the format. Others are not opened: a large database has thousands. */
function mayHaveFormat({ keys }: Table): boolean {
  if (keys === undefined) return true
  const [first, last] = keys
  return compareBytes(first, GENESIS_HASH_KEY) <= 0 && compareBytes(last, FORMAT_KEY) >= 0
}
