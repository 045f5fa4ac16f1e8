import { bytesKey, bytesToHex, equalBytes } from '../primitives/bytes.ts'
import { keccak256 } from '../primitives/hash.ts'
import { Column } from '../storage/columns.ts'
import { damagedContents } from '../storage/damage.ts'
import type { KeyReader } from '../storage/database.ts'
import { NATIVE_ACCOUNT, nativeSlot } from './prepareChanges.ts'
import { ACCOUNT_TRIE, storageTrie } from './trieNode.ts'
import { findLeaf, loadRoot } from './trieUpdate.ts'

/** Tells what the tries hold. */
export interface TriePresence {
  /** @param path 32 bytes as a string (`bytesKey`); undefined: whether the trie holds anything */
  has(owner: Uint8Array, path: string | undefined): boolean
}

const ADDRESS_END = 21

/**
 * Refuses to take an entry of the flat state for absent when the trie has it: an absent entry reads as no account, zero or no code, and a
 * single changed bit of its key on the disk is enough for LevelDB not to find it. Covers accounts, slots, native entries, and numbers of
 * slots; a page of the native directory is missed by the page above it.
 * @param key of an entry that the database does not have
 * @throws DatabaseError
 */
export function checkAbsent(key: Uint8Array, tries: TriePresence): void {
  if (isInTrie(key, tries)) throw damagedContents(`the entry ${bytesToHex(key)} of the state is missing`)
}

function isInTrie(key: Uint8Array, tries: TriePresence): boolean {
  const address = key.subarray(1, ADDRESS_END)
  switch (key[0]) {
    case Column.account:
      return tries.has(ACCOUNT_TRIE, pathOf(address))
    case Column.native:
      return tries.has(storageTrie(NATIVE_ACCOUNT), pathOf(nativeSlot(key.subarray(1))))
    case Column.slot:
      return !isNative(address) && tries.has(storageTrie(address), pathOf(key.subarray(ADDRESS_END)))
    case Column.slotCount:
      return !isNative(address) && tries.has(storageTrie(address), undefined)
    default:
      return false
  }
}

/** Its storage trie commits to the native entries, and it has no slots of its own. */
function isNative(address: Uint8Array): boolean {
  return equalBytes(address, NATIVE_ACCOUNT)
}

function pathOf(key: Uint8Array): string {
  return bytesKey(keccak256(key))
}

/** The tries that `reader` has stored; nothing is kept between two questions. */
export function storedTries(reader: KeyReader): TriePresence {
  return {
    has: (owner, path) => {
      const root = loadRoot(owner, reader, 0)
      if (root === undefined || path === undefined) return root !== undefined
      return findLeaf(owner, root, path, reader, 0).isThere
    },
  }
}
