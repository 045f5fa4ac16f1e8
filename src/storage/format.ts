import { equalBytes } from '../primitives/bytes.ts'
import { WriteBatch } from './batch.ts'
import { CHECKSUM_BYTES, checkedValue } from './checksum.ts'
import { Column, columnKey } from './columns.ts'

/**
 * Version of the database's contents, of module state and of the rules that compute it. It changes with each of them that older versions
 * would read or compute in another way. A database in another format is refused.
 */
export const FORMAT = 6
/**
 * Version of the rules in files that outlive a database: exported blocks, which an import executes, and snapshots. It changes when the same
 * blocks have other results, or the state another form.
 */
export const RULES = 2

export const FORMAT_KEY = columnKey(Column.chainMeta, new TextEncoder().encode('format'))
export const GENESIS_HASH_KEY = columnKey(Column.chainMeta, new TextEncoder().encode('genesis'))

/** The number of a format is one byte: the value under this key is longer where values have a checksum. */
const FORMAT_BYTES = 1
const HASH_BYTES = 32
/** The format of chains that hold no number. */
const FIRST_FORMAT = 1
const LAST_WITHOUT_CHECKSUMS = 2

export function encodeFormat(): Uint8Array {
  return Uint8Array.of(FORMAT)
}

/**
 * Returns the format of a database, whichever it is. The first two formats had no checksums, so the
 * length of the stored number says whether it has one.
 * @param getStored reads a key as LevelDB has it
 * @returns undefined for a database without a chain, and for one that is not yet complete
 */
export function formatOf(getStored: (key: Uint8Array) => Uint8Array | undefined): number | 'damaged' | undefined {
  const stored = getStored(FORMAT_KEY)
  if (stored === undefined) return getStored(GENESIS_HASH_KEY)?.length === HASH_BYTES ? FIRST_FORMAT : undefined
  if (stored.length === FORMAT_BYTES) return stored[0]! <= LAST_WITHOUT_CHECKSUMS ? stored[0]! : 'damaged'
  if (stored.length !== FORMAT_BYTES + CHECKSUM_BYTES) return 'damaged'
  return checkedValue(FORMAT_KEY, stored)?.[0] ?? 'damaged'
}

/**
 * Returns whether a damaged number was this version's: its first byte or its checksum still says
 * so. Formats without checksums do not pass.
 */
export function isDamagedFormat(stored: Uint8Array): boolean {
  if (stored.length !== FORMAT_BYTES + CHECKSUM_BYTES) return false
  const batch = new WriteBatch()
  batch.put(FORMAT_KEY, encodeFormat())
  let isSame = false
  batch.forEachStored((_, right) => {
    isSame = stored[0] === FORMAT || equalBytes(stored.subarray(FORMAT_BYTES), right!.subarray(FORMAT_BYTES))
  })
  return isSame
}
