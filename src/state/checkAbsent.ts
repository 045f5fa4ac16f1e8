import { bytesToHex, equalBytes } from '../primitives/bytes.ts'
import { keccak256 } from '../primitives/hash.ts'
import { itemAt } from '../primitives/rlp.ts'
import { Column } from '../storage/columns.ts'
import { damagedIn } from '../storage/damage.ts'
import type { KeyReader } from '../storage/database.ts'
import { NATIVE_ACCOUNT, nativeSlot } from './prepareChanges.ts'
import { ACCOUNT_TRIE, NODE_KEY_BYTES, storageTrie, writeNodeKey } from './trieNode.ts'

/** Reports whether the tries have a key. */
export interface TriePresence {
  /** @param path of the key, 32 bytes; undefined: whether the trie holds anything */
  has(owner: Uint8Array, path: Uint8Array | undefined): boolean
}

const ADDRESS_END = 21

/**
 * Refuses to take an entry of the flat state for absent when the trie has it: an absent entry reads as no account, zero or no code, and a
 * single changed bit of its key on the disk is enough for LevelDB not to find it. Covers accounts, slots, native entries, and numbers of
 * slots; a page of the native directory is missed by the page above it.
 * @param key of an entry that the database behind `reader` does not have
 * @throws DatabaseError
 */
export function checkAbsent(key: Uint8Array, tries: TriePresence, reader: KeyReader): void {
  if (isInTrie(key, tries)) throw damagedIn(reader, `the entry ${bytesToHex(key)} of the state is missing`)
}

function isInTrie(key: Uint8Array, tries: TriePresence): boolean {
  const address = key.subarray(1, ADDRESS_END)
  switch (key[0]) {
    case Column.account:
      return tries.has(ACCOUNT_TRIE, keccak256(address))
    case Column.native:
      return tries.has(storageTrie(NATIVE_ACCOUNT), keccak256(nativeSlot(key.subarray(1))))
    case Column.slot:
      return !isNative(address) && tries.has(storageTrie(address), keccak256(key.subarray(ADDRESS_END)))
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

const nodeKey = new Uint8Array(NODE_KEY_BYTES)
const NO_PATH = new Uint8Array(32)

/**
 * The tries stored in `reader`. It caches nothing between two queries, and decodes only those parts
 * of a node that the path needs.
 */
export function storedTries(reader: KeyReader): TriePresence {
  const read = (owner: Uint8Array, path: Uint8Array, depth: number): Uint8Array | undefined =>
    reader.get(nodeKey.subarray(0, writeNodeKey(nodeKey, owner, path, depth)))
  return {
    has: (owner, path) => {
      if (path === undefined) return read(owner, NO_PATH, 0) !== undefined
      for (let depth = 0; ; ) {
        const rlp = read(owner, path, depth)
        if (rlp === undefined && depth === 0) return false
        if (rlp === undefined) throw damagedIn(reader, 'a trie node is missing')
        const next = follow(rlp, path, depth)
        if (typeof next === 'boolean') return next
        depth = next
      }
    },
  }
}

/**
 * Returns the depth at which the path continues below this node at `depth`, or whether it ends here
 * in a leaf of this path.
 */
function follow(rlp: Uint8Array, path: Uint8Array, depth: number): number | boolean {
  const list = itemAt(rlp, 0)
  const first = itemAt(rlp, list.start)
  if (itemAt(rlp, first.end).end !== list.end) {
    let child = first
    for (let i = nibbleOf(path, depth); i > 0; i--) child = itemAt(rlp, child.end)
    return child.start === child.end ? false : depth + 1
  }
  // A leaf or an extension: the first item is its part of the path, hex-prefix encoded (`encodeNode`).
  const flags = rlp[first.start]! >> 4
  const isOdd = flags & 1
  const segment = rlp.subarray(first.start, first.end)
  const length = (segment.length - 1) * 2 + isOdd
  for (let i = 0; i < length; i++) {
    if (nibbleOf(segment, 2 - isOdd + i) !== nibbleOf(path, depth + i)) return false
  }
  return flags >= 2 ? true : depth + length
}

function nibbleOf(bytes: Uint8Array, index: number): number {
  const byte = bytes[index >> 1]!
  return index & 1 ? byte & 15 : byte >> 4
}
