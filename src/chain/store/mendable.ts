import { equalBytes } from '../../primitives/bytes.ts'
import type { WriteBatch } from '../../storage/batch.ts'
import { Column, columnKey } from '../../storage/columns.ts'
import type { KeyReader } from '../../storage/database.ts'
import { FORMAT_KEY, GENESIS_HASH_KEY } from '../../storage/format.ts'
import { CALLS_KEY } from '../indexes/callIndex.ts'
import { INDEXED_KEY } from '../indexes/indexCoverage.ts'

/*
 * What can be mended where it is, because it follows from what is not damaged, or nobody has to have it. All else is made anew: from the
 * node's own blocks, a snapshot or peers.
 */

/** The state at the head: what its accounts, slots and native entries are, its trie proves, and the other way round. */
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
/** What a repair has begun. */
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
  // What the state is follows from the newest block; what a restore has left over nobody needs.
  Column.stateMeta,
  Column.restore,
  // Who called whom says which blocks to execute again, and a node can do without.
  Column.callTerm,
])
const COLUMNS: ReadonlySet<number> = new Set(Object.values(Column))

/**
 * Whether damaged values are of entries that can be mended.
 * @param values their keys by column. An entry of no column is one whose key was damaged: it goes
 */
export function areMendable(values: ReadonlyMap<number, readonly Uint8Array[]>): boolean {
  const isMendable = (key: Uint8Array): boolean =>
    key[0] === Column.chainMeta
      ? MENDABLE_META.some((meta) => equalBytes(meta, key))
      : MENDABLE.has(key[0]!) || !COLUMNS.has(key[0]!)
  return [...values.values()].every((keys) => keys.every(isMendable))
}

/** What a repair still has to do whatever is found, since it has begun to. */
export interface RepairMarker {
  /** older states are to be forgotten */
  readonly history?: boolean
  /** the indexes are to be compared with the blocks */
  readonly index?: boolean
}

/** What is to be done where nobody knows what was begun. */
export const EVERYTHING: RepairMarker = { history: true, index: true }

/** undefined: none has begun */
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
