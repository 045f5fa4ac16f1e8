import { equalBytes } from '../../primitives/bytes.ts'
import type { WriteBatch } from '../../storage/batch.ts'
import { Column, columnKey } from '../../storage/columns.ts'
import type { KeyReader } from '../../storage/database.ts'
import { FORMAT_KEY, GENESIS_HASH_KEY } from '../../storage/format.ts'
import { CALLS_KEY } from '../indexes/callIndex.ts'
import { INDEXED_KEY } from '../indexes/indexCoverage.ts'

/*
 * Entries that can be repaired in place, because they follow from undamaged ones, or because a node
 * can do without them. All others are rebuilt: from the node's own blocks, a snapshot or peers.
 */

/**
 * The state at the head: the trie proves its accounts, slots and native entries, and they prove the
 * trie.
 */
export const STATE_COLUMNS: readonly number[] = [
  Column.account,
  Column.slot,
  Column.slotCount,
  Column.native,
  Column.nativePage,
  Column.trieNode,
]

/** Older states: nothing proves them, and a node need not have them. */
export const HISTORY_COLUMNS: readonly number[] = [
  Column.changeIndex,
  Column.changeShard,
  Column.trieHistory,
  Column.blockChanges,
]

/** They follow from blocks and their results (src/datadir/reindex.ts). */
export const INDEX_COLUMNS: readonly number[] = [
  Column.blockHash,
  Column.transaction,
  Column.consensusHash,
  Column.nativeTransaction,
  Column.logTerm,
  Column.packedLogTerms,
  Column.eventTerm,
  Column.segmentTerms,
  Column.shortHash,
  Column.hashFile,
]

const metaKey = (name: string): Uint8Array => columnKey(Column.chainMeta, new TextEncoder().encode(name))
/** Key of the marker of an unfinished repair. */
export const REPAIR_KEY = metaKey('repair')
const MENDABLE_META: readonly Uint8Array[] = [
  FORMAT_KEY,
  GENESIS_HASH_KEY,
  INDEXED_KEY,
  CALLS_KEY,
  REPAIR_KEY,
  metaKey('reindex'),
]

const MENDABLE: ReadonlySet<number> = new Set([
  ...STATE_COLUMNS,
  ...HISTORY_COLUMNS,
  ...INDEX_COLUMNS,
  // The head of the state follows from the newest block; leftovers of a restore are not needed.
  Column.stateMeta,
  Column.restore,
  // Who called whom says which blocks to execute again, and a node can do without.
  Column.callTerm,
])
const COLUMNS: ReadonlySet<number> = new Set(Object.values(Column))

/**
 * Whether damaged values are of entries that can be repaired in place.
 * @param values their keys by column. An entry without a known column has a damaged key: it is
 * deleted
 */
export function areMendable(values: ReadonlyMap<number, readonly Uint8Array[]>): boolean {
  const isMendable = (key: Uint8Array): boolean =>
    key[0] === Column.chainMeta
      ? MENDABLE_META.some((meta) => equalBytes(meta, key))
      : MENDABLE.has(key[0]!) || !COLUMNS.has(key[0]!)
  return [...values.values()].every((keys) => keys.every(isMendable))
}

/** Work that an unfinished repair must complete, whatever the next check finds. */
export interface RepairMarker {
  /** older states are to be forgotten */
  readonly history?: boolean
  /** the indexes are to be compared with the blocks */
  readonly index?: boolean
}

/** The marker to use when it is not known which work was begun. */
export const EVERYTHING: RepairMarker = { history: true, index: true }

/** Returns undefined when no repair is unfinished. */
export function readRepairMarker(db: KeyReader): RepairMarker | undefined {
  const bytes = db.get(REPAIR_KEY)
  return bytes && (JSON.parse(new TextDecoder().decode(bytes)) as RepairMarker)
}

export function isRepairUnfinished(db: KeyReader): boolean {
  return db.get(REPAIR_KEY) !== undefined
}

/** Adds the mark to a batch, or takes it away. */
export function writeRepairMarker(batch: WriteBatch, marker: RepairMarker | undefined): void {
  if (marker === undefined) batch.del(REPAIR_KEY)
  else batch.put(REPAIR_KEY, new TextEncoder().encode(JSON.stringify(marker)))
}
