import type { Address } from '../../primitives/address.ts'
import { bytesKeyOf, concatBytes, EMPTY_BYTES, keyBytes } from '../../primitives/bytes.ts'
import { WriteBatch } from '../../storage/batch.ts'
import { Column, columnKey, HEIGHT_BYTES, heightBytes, readHeight } from '../../storage/columns.ts'
import type { DatabaseReader, KeyReader, WritableDatabase } from '../../storage/database.ts'

/*
 * The index of addresses that called or were called in the EVM transactions of a block: by
 * transactions themselves, calls of contracts, creations and self-destructs, failed ones too. With
 * it `trace_filter` re-executes only blocks that may match. A block is in this index only if
 * INDEX_TRACES was on when it was executed, since no stored data shows the calls later.
 */

/** Bytes of an address in a key: its last ones. Others that end alike cost an execution and change no answer. */
const TERM_BYTES = 8

/** The height from which on every block is in the index. */
export const CALLS_KEY = columnKey(Column.chainMeta, new TextEncoder().encode('calls'))

/** Returns the index term of an address, as a key of a set. */
export function callTerm(address: Address): string {
  return bytesKeyOf(address, address.length - TERM_BYTES, address.length)
}

/** Adds a block's entries. @param terms `callTerm` of all addresses */
export function putCalls(batch: Pick<WriteBatch, 'put'>, height: number, terms: ReadonlySet<string>): void {
  if (terms.size === 0) return
  const at = heightBytes(height)
  for (const term of terms) batch.put(columnKey(Column.callTerm, keyBytes(term), at), EMPTY_BYTES)
}

/** Returns the height from which on every block is in the index; `Infinity`: new blocks are not. */
export function readCallsFrom(db: KeyReader): number {
  const stored = db.get(CALLS_KEY)
  return stored === undefined ? Number.POSITIVE_INFINITY : readHeight(stored, 0)
}

/**
 * Switches the index on or off for the blocks after the head. To be called before one of them is written. Entries from before it was
 * switched off stay, and are not asked for.
 */
export async function switchCallIndex(
  database: Pick<WritableDatabase, 'get' | 'write'>,
  isOn: boolean,
  headHeight: number,
): Promise<void> {
  if (Number.isFinite(readCallsFrom(database)) === isOn) return
  const batch = new WriteBatch()
  if (isOn) batch.put(CALLS_KEY, heightBytes(headHeight + 1))
  else batch.del(CALLS_KEY)
  await database.write(batch, { sync: true })
}

/** Entries that are read between two pauses. */
const ENTRIES_PER_PAUSE = 1_000

/** Returns the heights of the range, ascending, that the index has for one of the addresses. */
export async function indexedCallHeights(
  db: DatabaseReader,
  addresses: readonly Address[],
  { from, to }: { readonly from: number; readonly to: number },
  pause: () => Promise<void>,
): Promise<readonly number[]> {
  const found = new Set<number>()
  let read = 0
  for (const term of new Set(addresses.map(callTerm))) {
    const prefix = columnKey(Column.callTerm, keyBytes(term))
    const range = { start: concatBytes(prefix, heightBytes(from)), end: concatBytes(prefix, heightBytes(to + 1)) }
    await pause()
    for await (const [key] of db.entries(range)) {
      found.add(readHeight(key, key.length - HEIGHT_BYTES))
      if (++read % ENTRIES_PER_PAUSE === 0) await pause()
    }
  }
  return [...found].sort((a, b) => a - b)
}
