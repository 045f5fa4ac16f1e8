import type { Address } from '../primitives/address.ts'
import { bytesKey, compareBytes, EMPTY_BYTES } from '../primitives/bytes.ts'
import { EMPTY_TRIE_ROOT, type Hash, keccak256 } from '../primitives/hash.ts'
import { Column, columnKey, prefixEnd } from '../storage/columns.ts'
import type { DatabaseReader, KeyReader } from '../storage/database.ts'
import { accountKey, decodeAccount, slotKey } from './flatState.ts'
import { checkHeight, type StateHead } from './head.ts'
import { changedKeysOf, indexKey, previousInRecord } from './history.ts'
import { nodeAt } from './proof.ts'
import type { Account } from './reader.ts'
import { storageTrie } from './trieNode.ts'

/**
 * The accounts and slots after one block, in the order of their addresses and slots. Entries that were absent after that block are passed
 * too, where they are there at another height, so that the caller can count and bound them.
 */
export interface StateRange {
  /** from `start` (included) on; undefined: the account was absent */
  accounts(start: Address): AsyncIterable<readonly [Address, Account | undefined]>
  /** slots of an account from `start` (included) on; values in minimal big-endian bytes, none where the slot was not set */
  slots(address: Address, start: Uint8Array): AsyncIterable<readonly [Uint8Array, Uint8Array]>
  storageRoot(address: Address): Promise<Hash>
}

/**
 * Opens the state after block `height`. The cost of a range depends on its entries, not on how far
 * `height` is below the head: the index of changes is read along with the entries at the head.
 * `snapshot` is a database snapshot whose head record is `head`; it must stay open.
 * @throws StateUnavailable below the retained window
 */
export function openStateRange(snapshot: DatabaseReader, head: StateHead, height: number): StateRange {
  checkHeight(head, height)
  const isHead = height === head.height
  const entries = async function* (
    start: Uint8Array,
    prefix: Uint8Array,
  ): AsyncGenerator<readonly [Uint8Array, Uint8Array], void, void> {
    const range = { start, end: prefixEnd(prefix) }
    const found = isHead ? snapshot.entries(range) : entriesAt(snapshot, range, height)
    for await (const [key, value] of found) yield [key.slice(prefix.length), value]
  }
  return {
    accounts: async function* (start) {
      for await (const [address, value] of entries(accountKey(start), columnKey(Column.account))) {
        yield [address, decodeAccount(value)]
      }
    },
    slots: (address, start) => entries(slotKey(address, start), columnKey(Column.slot, address)),
    storageRoot: async (address) => {
      const root = await nodeAt(snapshot, storageTrie(address), '', 0, height)
      return root === undefined ? EMPTY_TRIE_ROOT : keccak256(root)
    },
  }
}

/**
 * Yields the entries that are in the range at the head or at another height, in key order, with
 * their values after block `height`.
 */
async function* entriesAt(
  snapshot: DatabaseReader,
  { start, end }: { readonly start: Uint8Array; readonly end: Uint8Array | undefined },
  height: number,
): AsyncGenerator<readonly [Uint8Array, Uint8Array], void, void> {
  const present = snapshot.entries({ start, end })[Symbol.asyncIterator]()
  const records = snapshot.entries({ start: indexKey(start), end: end && indexKey(end) })[Symbol.asyncIterator]()
  try {
    let entry = await present.next()
    let record = await records.next()
    while (entry.done !== true || record.done !== true) {
      const changed = record.done === true ? undefined : record.value[0].subarray(1)
      const order = entry.done === true ? 1 : changed === undefined ? -1 : compareBytes(entry.value[0], changed)
      const value = order <= 0 && entry.done !== true ? entry.value[1] : EMPTY_BYTES
      if (order < 0) yield [entry.value![0], value]
      else yield [changed!, previousInRecord(snapshot, changed!, record.value![1], height) ?? value]
      if (order <= 0) entry = await present.next()
      if (order >= 0) record = await records.next()
    }
  } finally {
    await present.return?.()
    await records.return?.()
  }
}

/** Entries that blocks wrote; their values may be unchanged. */
export interface TouchedState {
  /** slots by account, both as `bytesKey`; a slot may be missing where the account itself was written */
  readonly accounts: Map<string, Set<string>>
  /** raw keys of native entries, as `bytesKey` */
  readonly native: Set<string>
}

/** Adds the entries that block `height` wrote to `touched`. @returns how many it wrote */
export function addTouched(reader: KeyReader, height: number, touched: TouchedState): number {
  const keys = changedKeysOf(reader, height, Number.POSITIVE_INFINITY)!
  for (const key of keys) {
    const [column] = key
    if (column === Column.native) touched.native.add(bytesKey(key.subarray(1)))
    if (column !== Column.account && column !== Column.slot) continue
    const address = bytesKey(key.subarray(1, 21))
    const slots = touched.accounts.get(address) ?? new Set()
    touched.accounts.set(address, slots)
    if (column === Column.slot) slots.add(bytesKey(key.subarray(21)))
  }
  return keys.length
}
