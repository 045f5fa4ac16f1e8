import { bytesKey, EMPTY_BYTES, equalBytes } from '../primitives/bytes.ts'
import { Column, columnKey, prefixEnd } from '../storage/columns.ts'
import type { DatabaseReader } from '../storage/database.ts'
import type { AccountChange, SlotChange, StateChanges } from './changes.ts'
import { encodeCount, nativeKey, nativePageKey, slotCountKey, slotKey } from './flatCodec.ts'
import type { FlatChange } from './history.ts'
import { equalAccounts } from './journalEntry.ts'
import { NATIVE_ACCOUNT, nativeSlot, withNativeAccount } from './nativeAccount.ts'
import { updateDirectory } from './nativeDirectory.ts'
import type { StateReader } from './reader.ts'
import type { TrieAccountChange } from './trie.ts'

/** A block's changes as the flat store and the trie take them. */
export interface PreparedChanges {
  /** whose own fields changed */
  readonly accounts: readonly AccountChange[]
  /** all other entries */
  readonly flat: readonly FlatChange[]
  readonly trie: readonly TrieAccountChange[]
}

/**
 * Turns the journal's changes into flat entries (accounts, slots, slot counts, native entries, directory pages) and trie
 * updates. Waits only for wiped storage, whose slots are read from `database`; both readers show the head.
 */
export async function prepareChanges(
  reader: StateReader,
  readPage: (page: number) => Uint8Array | undefined,
  database: DatabaseReader,
  changes: StateChanges,
): Promise<PreparedChanges> {
  const accounts: AccountChange[] = []
  const flat: FlatChange[] = []
  const trie: TrieAccountChange[] = []
  for (const change of withNativeAccount(reader, changes)) {
    const { address, previous, current } = change
    const isNative = equalBytes(address, NATIVE_ACCOUNT)
    if (!equalAccounts(previous, current)) accounts.push(change)
    const slots = change.wiped ? await wipedSlots(database, change) : change.slots
    if (slots.length > 0) addSlots(flat, reader, change, slots)
    trie.push({ address, current, slots: isNative ? nativeSlots(changes) : slots })
  }
  addNative(flat, readPage, changes)
  return { accounts, flat, trie }
}

function addSlots(
  flat: FlatChange[],
  reader: StateReader,
  { address }: AccountChange,
  slots: readonly SlotChange[],
): void {
  const before = reader.storageCount(address)
  let after = before
  for (const { slot, previous, current } of slots) {
    flat.push({ key: slotKey(address, slot), previous, current })
    after += Math.sign(current.length) - Math.sign(previous.length)
  }
  if (after !== before) {
    flat.push({ key: slotCountKey(address), previous: encodeCount(before), current: encodeCount(after) })
  }
}

/** All slots that a wipe changes: those that are set at the head, and those set anew. */
async function wipedSlots(database: DatabaseReader, { address, slots }: AccountChange): Promise<SlotChange[]> {
  const merged = new Map<string, SlotChange>()
  for (const change of slots) merged.set(bytesKey(change.slot), { ...change, previous: EMPTY_BYTES })
  const start = columnKey(Column.slot, address)
  for await (const [key, previous] of database.entries({ start, end: prefixEnd(start) })) {
    const slot = key.slice(start.length)
    const current = merged.get(bytesKey(slot))?.current ?? EMPTY_BYTES
    merged.set(bytesKey(slot), { slot, previous, current })
  }
  return [...merged.values()].filter(({ previous, current }) => !equalBytes(previous, current))
}

function nativeSlots(changes: StateChanges): { slot: Uint8Array; current: Uint8Array }[] {
  return changes.native.map(({ key, current }) => ({ slot: nativeSlot(key), current: current ?? EMPTY_BYTES }))
}

function addNative(
  flat: FlatChange[],
  readPage: (page: number) => Uint8Array | undefined,
  changes: StateChanges,
): void {
  const moved: { key: Uint8Array; present: boolean }[] = []
  for (const { key, previous, current } of changes.native) {
    flat.push({ key: nativeKey(key), previous: previous ?? EMPTY_BYTES, current: current ?? EMPTY_BYTES })
    if ((previous === undefined) !== (current === undefined)) moved.push({ key, present: current !== undefined })
  }
  for (const [page, current] of updateDirectory(readPage, moved)) {
    flat.push({ key: nativePageKey(page), previous: readPage(page) ?? EMPTY_BYTES, current })
  }
}
