import { Column, columnKey } from '../../storage/columns.ts'
import { damagedIn } from '../../storage/damage.ts'
import type { KeyReader } from '../../storage/database.ts'

/*
 * Index entries of versions without files of hashes (hashFile.ts), for blocks in segments:
 * one entry for all hashes that share their first 8 bytes, with the places of all of them. A reader
 * compares the hash at each place. `coind reindex` removes the entries.
 */

/** The hashed object: an Ethereum or consensus header, an EVM or native transaction. */
export const HashKind = { block: 0, consensus: 1, transaction: 2, native: 3 } as const

export type HashKind = (typeof HashKind)[keyof typeof HashKind]

const PREFIX_BYTES = 8

/**
 * Returns the heights of all blocks that may be meant by a hash, or have a transaction with it.
 * @throws DatabaseError
 */
export function readShortHashHeights(db: KeyReader, kind: HashKind, hash: Uint8Array): readonly number[] {
  const bytes = db.get(columnKey(Column.shortHash, Uint8Array.of(kind), hash.subarray(0, PREFIX_BYTES)))
  if (bytes === undefined) return []
  const numbers = decodeVarints(bytes)
  if (numbers === undefined) throw damagedIn(db, 'an entry of the index of hashes cannot be decoded')
  // Each height has a position in the block behind it.
  return numbers.filter((_, index) => index % 2 === 0)
}

/** Returns undefined when the bytes are not varints. */
function decodeVarints(bytes: Uint8Array): readonly number[] | undefined {
  const numbers: number[] = []
  for (let at = 0; at < bytes.length; ) {
    let value = 0
    for (let scale = 1; ; scale *= 0x80) {
      const byte = bytes[at++]
      if (byte === undefined || scale > 2 ** 49) return undefined
      value += (byte & 0x7f) * scale
      if (byte < 0x80) break
    }
    numbers.push(value)
  }
  return numbers
}
