import type { Address } from '../primitives/address.ts'
import { bytesKey, EMPTY_BYTES, equalBytes } from '../primitives/bytes.ts'
import { keccak256 } from '../primitives/hash.ts'
import { Column, columnKey, prefixEnd } from '../storage/columns.ts'
import type { DatabaseReader } from '../storage/database.ts'
import type { AccountChange, SlotChange, StateChanges } from './changes.ts'
import { encodeCount, nativeKey, nativePageKey, slotCountKey, slotKey } from './flatState.ts'
import type { FlatChange } from './history.ts'
import { updateDirectory } from './nativeDirectory.ts'
import { type Account, equalAccounts, NEW_ACCOUNT, type StateReader } from './reader.ts'
import type { TrieAccountChange } from './trie.ts'

/** A block's changes in the form that the flat store and the trie need. */
export interface PreparedChanges {
  /** accounts whose own fields changed */
  readonly accounts: readonly AccountChange[]
  /** all other entries */
  readonly flat: readonly FlatChange[]
  readonly trie: readonly TrieAccountChange[]
}

/**
 * Turns the journal's changes into flat entries (accounts, slots, slot counts, native entries, directory pages) and trie updates.
 * Asynchronous only for wiped storage, whose slots are read from `database`. All three readers show the head.
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
    trie.push({
      address,
      isThere: previous !== undefined,
      current,
      slots: isNative ? nativeSlots(changes) : slots,
    })
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

/**
 * Returns all slots that a wipe changes: those that are set at the head, and those that were set
 * after it.
 */
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

export function nativeSlots(changes: StateChanges): SlotChange[] {
  return changes.native.map(({ key, previous, current }) => ({
    slot: nativeSlot(key),
    previous: previous ?? EMPTY_BYTES,
    current: current ?? EMPTY_BYTES,
  }))
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

/** The reserved account whose storage trie commits to the native modules' state: "native", right-aligned. */
export const NATIVE_ACCOUNT: Address = Uint8Array.of(...new Uint8Array(14), ...new TextEncoder().encode('native'))

/**
 * Returns the slot of a native entry in the reserved account's storage, as `eth_getProof` takes it.
 */
export function nativeSlot(rawKey: Uint8Array): Uint8Array {
  return keccak256(rawKey)
}

/**
 * Returns the account changes, with one for the reserved account added when native entries change.
 * Its nonce is at least 1, so that EIP-161 never deletes it.
 * @throws Error (a bug) when EVM storage of the reserved account changed
 */
export function withNativeAccount(reader: StateReader, changes: StateChanges): readonly AccountChange[] {
  const own = changes.accounts.find(({ address }) => Buffer.compare(address, NATIVE_ACCOUNT) === 0)
  if (own !== undefined && (own.wiped || own.slots.length > 0 || own.current === undefined)) {
    throw new Error('the storage of the native account is written through native entries only')
  }
  if (changes.native.length === 0) return changes.accounts
  const previous = own === undefined ? reader.getAccount(NATIVE_ACCOUNT) : own.previous
  const current = withNonce(own?.current ?? previous ?? NEW_ACCOUNT)
  const others = changes.accounts.filter((change) => change !== own)
  return [...others, { address: NATIVE_ACCOUNT, previous, current, wiped: false, slots: [] }]
}

function withNonce(account: Account): Account {
  return account.nonce === 0n ? { ...account, nonce: 1n } : account
}
