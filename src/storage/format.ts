import { CHECKSUM_BYTES, checkedValue } from './checksum.ts'
import { Column, columnKey } from './columns.ts'

/** Version of the database's contents, module state included. It changes with each incompatible layout. */
export const FORMAT = 5
/**
 * The formats that this one only adds to. Such a database is read as it is; who opens it to write gives it the new number first, so that
 * older versions refuse what they would misread.
 */
export const EXTENDED_FORMATS: readonly number[] = [3, 4]
/** The format that the start converts to this one (src/app/convertDatabase.ts). */
export const FORMER_FORMAT = 2

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
 * The format of a database, whichever it is. The first two formats had no checksums, so the length of the stored number says whether
 * it has one.
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
