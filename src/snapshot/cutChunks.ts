import type { Address } from '../primitives/address.ts'
import { bigIntToBytes, bytesToBigInt, equalBytes } from '../primitives/bytes.ts'
import { EMPTY_TRIE_ROOT, type Hash, keccak256, ZERO_HASH } from '../primitives/hash.ts'
import type { StateColumns } from '../state/olderState.ts'
import { NATIVE_ACCOUNT } from '../state/prepareChanges.ts'
import { proveRange } from '../state/rangeProof.ts'
import { ACCOUNT_TRIE, storageTrie } from '../state/trieNode.ts'
import type { AccountEntry, NativeEntry, SlotEntry, StateChunk } from './chunk.ts'
import { type StateSortOptions, sortedAccounts, sortedCodes, sortedNative, sortedSlots } from './sortedState.ts'

export interface CutOptions extends StateSortOptions {
  /** a chunk ends before the entry that would make it larger; an entry that is larger by itself has a chunk of its own */
  readonly chunkBytes?: number
  /** at most this many slots are with their account, more are in chunks of their own */
  readonly inlineSlots?: number
}

/** Nodes that have the same state and these sizes make the same chunks. */
const CHUNK_BYTES = 8 << 20
/**
 * Some 2 MiB. Each larger storage takes a chunk at least, and a manifest may list 65,536 chunks.
 * With a low limit, an attacker could make that many storages for the price of their slots, and
 * then there would be no snapshots any more.
 */
const INLINE_SLOTS = 32_768

/**
 * Approximate bytes of an entry in a chunk: an account without its slots; a slot or native entry
 * besides its own bytes.
 */
const ACCOUNT_BYTES = 140
const ENTRY_BYTES = 8
/** Each entry counts for at least this much, so that a chunk of tiny ones is far from `MAX_CHUNK_ENTRIES`. */
const LEAST_BYTES = 32

const HIGHEST: Hash = new Uint8Array(32).fill(0xff)

/**
 * Yields the chunks of a state: accounts, the storage of those with more slots than are with their
 * account, in the same order, native entries, contract code. The ranges of the accounts, of each
 * storage and of the native entries cover all keys without gap or overlap.
 * @throws DatabaseError
 */
export async function* cutChunks(db: StateColumns, options: CutOptions): AsyncGenerator<StateChunk, void, void> {
  const { chunkBytes = CHUNK_BYTES } = options
  const large: Address[] = []
  for await (const { first, last, entries } of cutRanges(accountItems(db, options, large), chunkBytes)) {
    yield { kind: 'accounts', first, last, accounts: entries, proof: proveRange(db, ACCOUNT_TRIE, first, last) }
  }
  const isNative = (address: Address) => equalBytes(address, NATIVE_ACCOUNT)
  for (const address of large) if (!isNative(address)) yield* storageChunks(db, address, options, chunkBytes)
  if (large.some(isNative)) yield* nativeChunks(db, options, chunkBytes)
  yield* codesChunks(db, options, chunkBytes)
}

async function* storageChunks(
  db: StateColumns,
  address: Address,
  options: StateSortOptions,
  chunkBytes: number,
): AsyncGenerator<StateChunk, void, void> {
  const accountProof = proveAccount(db, address)
  for await (const { first, last, entries } of cutRanges(slotItems(db, address, options), chunkBytes)) {
    const proof = proveRange(db, storageTrie(address), first, last)
    yield { kind: 'storage', address, accountProof, first, last, slots: entries, proof }
  }
}

async function* nativeChunks(
  db: StateColumns,
  options: StateSortOptions,
  chunkBytes: number,
): AsyncGenerator<StateChunk, void, void> {
  const accountProof = proveAccount(db, NATIVE_ACCOUNT)
  for await (const { first, last, entries } of cutRanges(nativeItems(db, options), chunkBytes)) {
    const proof = proveRange(db, storageTrie(NATIVE_ACCOUNT), first, last)
    yield { kind: 'native', accountProof, first, last, entries, proof }
  }
}

async function* codesChunks(
  db: StateColumns,
  options: StateSortOptions,
  chunkBytes: number,
): AsyncGenerator<StateChunk, void, void> {
  let codes: Uint8Array[] = []
  let bytes = 0
  for await (const code of sortedCodes(db, options)) {
    const more = bytesOf(code.length)
    if (codes.length > 0 && bytes + more > chunkBytes) {
      yield { kind: 'codes', codes }
      codes = []
      bytes = 0
    }
    codes.push(code)
    bytes += more
  }
  if (codes.length > 0) yield { kind: 'codes', codes }
}

/** An entry with its key in the trie and its size in a chunk. */
interface Item<Entry> {
  readonly path: Hash
  readonly entry: Entry
  readonly bytes: number
}

/** Cuts entries in the order of their paths into ranges that cover all keys; a range ends with its last entry, the last one at the end. */
async function* cutRanges<Entry>(
  items: AsyncIterable<Item<Entry>>,
  chunkBytes: number,
): AsyncGenerator<{ readonly first: Hash; readonly last: Hash; readonly entries: readonly Entry[] }, void, void> {
  let first = ZERO_HASH
  let last = ZERO_HASH
  let entries: Entry[] = []
  let bytes = 0
  for await (const item of items) {
    if (entries.length > 0 && bytes + item.bytes > chunkBytes) {
      yield { first, last, entries }
      first = bigIntToBytes(bytesToBigInt(last) + 1n, 32)
      entries = []
      bytes = 0
    }
    entries.push(item.entry)
    bytes += item.bytes
    last = item.path
  }
  yield { first, last: HIGHEST, entries }
}

/** @param large gets the addresses of accounts whose storage is not with them */
async function* accountItems(
  db: StateColumns,
  options: CutOptions,
  large: Address[],
): AsyncGenerator<Item<AccountEntry>, void, void> {
  const { inlineSlots = INLINE_SLOTS } = options
  for await (const { path, slotCount, ...account } of sortedAccounts(db, options)) {
    let bytes = ACCOUNT_BYTES
    let slots: SlotEntry[] | undefined = []
    const isNative = equalBytes(account.address, NATIVE_ACCOUNT)
    if (isNative ? !equalBytes(account.storageRoot, EMPTY_TRIE_ROOT) : slotCount > inlineSlots) {
      large.push(account.address)
      slots = undefined
    } else if (slotCount > 0) {
      for await (const item of slotItems(db, account.address, options)) {
        slots.push(item.entry)
        bytes += item.bytes
      }
    }
    yield { path, entry: { ...account, slots }, bytes }
  }
}

async function* slotItems(
  db: StateColumns,
  address: Address,
  options: StateSortOptions,
): AsyncGenerator<Item<SlotEntry>, void, void> {
  for await (const { path, slot, value } of sortedSlots(db, address, options)) {
    yield { path, entry: { slot, value }, bytes: bytesOf(slot.length + value.length) }
  }
}

async function* nativeItems(
  db: StateColumns,
  options: StateSortOptions,
): AsyncGenerator<Item<NativeEntry>, void, void> {
  for await (const { path, key, value } of sortedNative(db, options)) {
    yield { path, entry: { key, value }, bytes: bytesOf(key.length + value.length) }
  }
}

function bytesOf(length: number): number {
  return Math.max(ENTRY_BYTES + length, LEAST_BYTES)
}

/** Returns the nodes from the root to the leaf of an account. */
function proveAccount(db: StateColumns, address: Address): Uint8Array[] {
  const path = keccak256(address)
  return proveRange(db, ACCOUNT_TRIE, path, path)
}
