import type { Address } from '../primitives/address.ts'
import { Column } from '../storage/columns.ts'

/** Owner part of trie keys: the account trie, or the storage trie of one account. */
export const ACCOUNT_TRIE: Uint8Array = Uint8Array.of(0)

export function storageTrie(address: Address): Uint8Array {
  const owner = new Uint8Array(21)
  owner[0] = 1
  owner.set(address, 1)
  return owner
}

/** Bytes of the longest node key. */
export const NODE_KEY_BYTES = 2 + 21 + 32

/**
 * Writes the database key of the node of `owner`'s trie at the first `depth` nibbles of `path`, and gives its length:
 * owner ‖ depth ‖ packed nibbles. The depth in front makes siblings neighbours and no key a prefix of another.
 */
export function writeNodeKey(out: Uint8Array, owner: Uint8Array, path: Uint8Array, depth: number): number {
  out[0] = Column.trieNode
  let at = 1
  for (let i = 0; i < owner.length; i++) out[at++] = owner[i]!
  out[at++] = depth
  const bytes = (depth + 1) >> 1
  for (let i = 0; i < bytes; i++) out[at++] = path[i]!
  if (depth & 1) out[at - 1]! &= 0xf0
  return at
}

/** The key that {@link writeNodeKey} writes, in its own memory; `path` is 32 bytes as a string. */
export function trieNodeKey(owner: Uint8Array, path: string, depth: number): Uint8Array {
  const out = new Uint8Array(NODE_KEY_BYTES)
  return out.slice(0, writeNodeKey(out, owner, setPath(new Uint8Array(32), path, depth), depth))
}

/** Writes the bytes of the first `depth` nibbles of a path given as a string (and maybe half a byte more). */
export function setPath(out: Uint8Array, path: string, depth: number): Uint8Array {
  for (let i = (depth + 1) >> 1; i-- > 0; ) out[i] = path.charCodeAt(i)
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
