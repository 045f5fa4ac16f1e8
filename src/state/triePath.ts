import type { Address } from '../primitives/address.ts'
import { Column, HEIGHT_BYTES } from '../storage/columns.ts'

/** Owner part of trie keys: the account trie, or the storage trie of one account. */
export const ACCOUNT_TRIE: Uint8Array = Uint8Array.of(0)

export function storageTrie(address: Address): Uint8Array {
  const owner = new Uint8Array(21)
  owner[0] = 1
  owner.set(address, 1)
  return owner
}

/**
 * Database key of the node of `owner`'s trie at the first `depth` nibbles of `path`: owner ‖ depth ‖ packed nibbles. The
 * depth in front makes siblings neighbours and no key a prefix of another.
 */
export function trieNodeKey(owner: Uint8Array, path: Uint8Array, depth: number): Uint8Array {
  const length = (depth + 1) >> 1
  const key = new Uint8Array(2 + owner.length + length)
  key[0] = Column.trieNode
  key.set(owner, 1)
  key[1 + owner.length] = depth
  key.set(path.subarray(0, length), 2 + owner.length)
  if (depth & 1) key[key.length - 1]! &= 0xf0
  return key
}

/** `path` with the nibble at `depth` set to `nibble`. */
export function childPath(path: Uint8Array, depth: number, nibble: number): Uint8Array {
  const out = new Uint8Array(32)
  out.set(path.subarray(0, (depth + 1) >> 1))
  setNibble(out, depth, nibble)
  return out
}

export function setNibble(path: Uint8Array, index: number, nibble: number): void {
  const byte = path[index >> 1]!
  path[index >> 1] = (index & 1) === 0 ? (byte & 0x0f) | (nibble << 4) : (byte & 0xf0) | nibble
}

/** Key of a node's history record of block `height`, without the height. */
export function trieHistoryPrefix(nodeKey: Uint8Array): Uint8Array {
  const key = new Uint8Array(nodeKey)
  key[0] = Column.trieHistory
  return key
}

export const TRIE_HISTORY_SUFFIX = HEIGHT_BYTES
