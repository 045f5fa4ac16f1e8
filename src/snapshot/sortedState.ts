import type { Address } from '../primitives/address.ts'
import { bytesToBigInt, concatBytes, EMPTY_BYTES, equalBytes } from '../primitives/bytes.ts'
import { EMPTY_CODE_HASH, EMPTY_TRIE_ROOT, type Hash, keccak256 } from '../primitives/hash.ts'
import { codeKey, decodeAccount } from '../state/flatState.ts'
import type { StateColumns } from '../state/olderState.ts'
import { NATIVE_ACCOUNT, nativeSlot } from '../state/prepareChanges.ts'
import type { Account } from '../state/reader.ts'
import { storageTrie, trieNodeKey } from '../state/trieNode.ts'
import { Column, columnKey, HEIGHT_BYTES, heightBytes, prefixEnd, readHeight } from '../storage/columns.ts'
import { damagedIn } from '../storage/damage.ts'
import { type SortEntry, type SortOptions, sortEntries } from '../storage/externalSort.ts'

/*
 * A state in the order of its tries: by the keccak256 of addresses, of slots and of native entries'
 * slots. The flat columns are in the order of the raw keys, so each stream sorts them on disk, within a memory limit. What the columns
 * tell is taken as it is; the caller compares it with the trie.
 */

/** An account, with what its leaf in the state trie holds. */
export interface SortedAccount extends Account {
  /** keccak256(address): the leaf's key */
  readonly path: Hash
  readonly address: Address
  readonly storageRoot: Hash
  /** set slots; 0 for the reserved account of the native modules, whose storage are native entries */
  readonly slotCount: number
}

/** A slot that is set. */
export interface SortedSlot {
  /** keccak256(slot) */
  readonly path: Hash
  /** 32 bytes */
  readonly slot: Uint8Array
  /** minimal big-endian bytes */
  readonly value: Uint8Array
}

export interface SortedNativeEntry {
  /** keccak256 of the entry's slot, which is keccak256(key) */
  readonly path: Hash
  /** raw key of the native module */
  readonly key: Uint8Array
  readonly value: Uint8Array
}

/** Where sorts have their files, and how much memory each may take; two run at the same time at most. */
export type StateSortOptions = Pick<SortOptions, 'directory' | 'memoryBytes'>

const ADDRESS_BYTES = 20
const SLOT_BYTES = 32

/** Yields all accounts, ascending by their paths. @throws DatabaseError */
export async function* sortedAccounts(
  db: StateColumns,
  options: StateSortOptions,
): AsyncGenerator<SortedAccount, void, void> {
  for await (const [path, value] of sortEntries(accountsWithCounts(db), { ...options, name: 'accounts' })) {
    const slotCount = readHeight(value, 0)
    const address = value.slice(HEIGHT_BYTES, HEIGHT_BYTES + ADDRESS_BYTES)
    const account = decodeAccount(value.subarray(HEIGHT_BYTES + ADDRESS_BYTES))!
    yield { path, address, ...account, storageRoot: storageRootOf(db, address, slotCount), slotCount }
  }
}

/**
 * Yields from two columns, both in the order of addresses, each account's path → number of its
 * slots, address and account. Reading them side by side saves a look-up for each account: most have
 * no storage.
 */
async function* accountsWithCounts(db: StateColumns): AsyncGenerator<SortEntry, void, void> {
  const counts = columnEntries(db, columnKey(Column.slotCount))
  try {
    let next = await counts.next()
    for await (const [address, account] of columnEntries(db, columnKey(Column.account))) {
      let count = 0
      if (!next.done && equalBytes(next.value[0], address)) {
        count = Number(bytesToBigInt(next.value[1]))
        next = await counts.next()
      }
      // The number has the form of a height: 6 bytes.
      yield [keccak256(address), concatBytes(heightBytes(count), address, account)]
    }
    if (!next.done) throw damagedIn(db, 'an account with storage is missing')
  } finally {
    await counts.return()
  }
}

/** Yields entries of the keys that begin with `prefix`, with what follows it. */
async function* columnEntries(db: StateColumns, prefix: Uint8Array): AsyncGenerator<SortEntry, void, void> {
  for await (const [key, value] of db.entries({ start: prefix, end: prefixEnd(prefix) })) {
    yield [key.slice(prefix.length), value]
  }
}

function storageRootOf(db: StateColumns, address: Address, slotCount: number): Hash {
  const isNative = equalBytes(address, NATIVE_ACCOUNT)
  if (slotCount === 0 && !isNative) return EMPTY_TRIE_ROOT
  const root = db.get(trieNodeKey(storageTrie(address), '', 0))
  if (root === undefined && !isNative) throw damagedIn(db, 'the trie of a storage is missing')
  return root === undefined ? EMPTY_TRIE_ROOT : keccak256(root)
}

/** Yields the slots of an account that are set, ascending by their paths. @throws DatabaseError */
export async function* sortedSlots(
  db: StateColumns,
  address: Address,
  options: StateSortOptions,
): AsyncGenerator<SortedSlot, void, void> {
  for await (const [path, value] of sortEntries(slotsOf(db, address), { ...options, name: 'slots' })) {
    yield { path, slot: value.slice(0, SLOT_BYTES), value: value.slice(SLOT_BYTES) }
  }
}

async function* slotsOf(db: StateColumns, address: Address): AsyncGenerator<SortEntry, void, void> {
  for await (const [slot, value] of columnEntries(db, columnKey(Column.slot, address))) {
    yield [keccak256(slot), concatBytes(slot, value)]
  }
}

/** Yields all native entries, ascending by their paths. @throws DatabaseError */
export async function* sortedNative(
  db: StateColumns,
  options: StateSortOptions,
): AsyncGenerator<SortedNativeEntry, void, void> {
  for await (const [path, value] of sortEntries(nativeEntries(db), { ...options, name: 'native' })) {
    const keyEnd = HEIGHT_BYTES + readHeight(value, 0)
    yield { path, key: value.slice(HEIGHT_BYTES, keyEnd), value: value.slice(keyEnd) }
  }
}

async function* nativeEntries(db: StateColumns): AsyncGenerator<SortEntry, void, void> {
  for await (const [key, value] of columnEntries(db, columnKey(Column.native))) {
    // The length has the form of a height: 6 bytes.
    yield [keccak256(nativeSlot(key)), concatBytes(heightBytes(key.length), key, value)]
  }
}

/** Yields the contract code of all accounts, each once, ascending by hash. @throws DatabaseError */
export async function* sortedCodes(
  db: StateColumns,
  options: StateSortOptions,
): AsyncGenerator<Uint8Array, void, void> {
  let former: Uint8Array | undefined
  for await (const [hash] of sortEntries(codeHashes(db), { ...options, name: 'codes' })) {
    if (former !== undefined && equalBytes(hash, former)) continue
    former = hash
    const code = db.get(codeKey(hash))
    if (code === undefined) throw damagedIn(db, 'a code is missing')
    if (!equalBytes(keccak256(code), hash)) throw damagedIn(db, 'a code does not have its hash')
    yield code
  }
}

async function* codeHashes(db: StateColumns): AsyncGenerator<SortEntry, void, void> {
  for await (const [, account] of columnEntries(db, columnKey(Column.account))) {
    const { codeHash } = decodeAccount(account)!
    if (!equalBytes(codeHash, EMPTY_CODE_HASH)) yield [codeHash, EMPTY_BYTES]
  }
}
