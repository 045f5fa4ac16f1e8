import type { Address } from '../primitives/address.ts'
import { bytesKey } from '../primitives/bytes.ts'
import { EMPTY_TRIE_ROOT, type Hash, keccak256 } from '../primitives/hash.ts'
import { Column, columnKey, prefixEnd } from '../storage/columns.ts'
import type { DatabaseReader, KeyReader } from '../storage/database.ts'
import { accountKey, decodeAccount, slotKey } from './flatState.ts'
import type { StateHead } from './head.ts'
import { changedKeysOf } from './history.ts'
import { type OlderStateOptions, openOlderState } from './olderState.ts'
import type { Account } from './reader.ts'
import { storageTrie, trieNodeKey } from './trieNode.ts'

/** The accounts and slots after one block, in the order of their addresses and slots. */
export interface StateRange {
  /** from `start` (included) on */
  accounts(start: Address): AsyncIterable<readonly [Address, Account]>
  /** slots of an account that are set, from `start` (included) on; values in minimal big-endian bytes */
  slots(address: Address, start: Uint8Array): AsyncIterable<readonly [Uint8Array, Uint8Array]>
  storageRoot(address: Address): Hash
}

/**
 * What is there after block `height`. `snapshot` is a database snapshot whose head record is `head`; it must stay open.
 * @returns undefined when later blocks changed more than `maxEntries`
 * @throws StateUnavailable below the window that is kept
 */
export async function openStateRange(
  snapshot: DatabaseReader,
  head: StateHead,
  height: number,
  options: OlderStateOptions,
): Promise<StateRange | undefined> {
  const columns = await openOlderState(snapshot, head, height, options)
  if (columns === undefined) return undefined
  const entries = async function* (
    start: Uint8Array,
    prefix: Uint8Array,
  ): AsyncGenerator<readonly [Uint8Array, Uint8Array], void, void> {
    for await (const [key, value] of columns.entries({ start, end: prefixEnd(prefix) })) {
      yield [key.slice(prefix.length), value]
    }
  }
  return {
    accounts: async function* (start) {
      for await (const [address, value] of entries(accountKey(start), columnKey(Column.account))) {
        const account = decodeAccount(value)
        if (account !== undefined) yield [address, account]
      }
    },
    slots: (address, start) => entries(slotKey(address, start), columnKey(Column.slot, address)),
    storageRoot: (address) => {
      const root = columns.get(trieNodeKey(storageTrie(address), '', 0))
      return root === undefined ? EMPTY_TRIE_ROOT : keccak256(root)
    },
  }
}

/** What blocks wrote, which may be what was there before. */
export interface TouchedState {
  /** slots by account, both as `bytesKey`; a slot may be missing where the account itself was written */
  readonly accounts: Map<string, Set<string>>
  /** raw keys of native entries, as `bytesKey` */
  readonly native: Set<string>
}

/** Adds what block `height` wrote to `touched`. @returns how many keys that were */
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
