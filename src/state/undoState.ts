import { bytesKey, EMPTY_BYTES, equalBytes } from '../primitives/bytes.ts'
import { EMPTY_TRIE_ROOT, type Hash, keccak256 } from '../primitives/hash.ts'
import type { WriteBatch } from '../storage/batch.ts'
import { Column } from '../storage/columns.ts'
import { damagedIn } from '../storage/damage.ts'
import type { KeyReader } from '../storage/database.ts'
import { writeStateHead } from './head.ts'
import { changedKeysOf, removeChangedKeys, trieHistoryKey, undoChange } from './history.ts'
import {
  ACCOUNT_TRIE,
  decodeNodeRecord,
  joinPath,
  rebuildBranch,
  referenceOf,
  storageTrie,
  trieNodeKey,
} from './trieNode.ts'

/**
 * Adds to a batch the writes that revert the newest block's changes of the state, by the history
 * that the block wrote, and the deletes of that history. Bytecode stays: it is found by its hash
 * alone, and an earlier block may have written the same.
 * @param height of the newest block
 * @param root state root of the block before it
 * @throws DatabaseError when the history does not lead to the state with this root
 */
export function undoState(
  reader: KeyReader,
  batch: WriteBatch,
  { height, root }: { readonly height: number; readonly root: Hash },
): void {
  const keys = changedKeysOf(reader, height, Number.POSITIVE_INFINITY) ?? []
  const former = formerNodes(
    reader,
    keys.filter((key) => key[0] === Column.trieNode),
    height,
  )
  for (const key of keys) {
    if (key[0] === Column.trieNode) {
      putOrDelete(batch, key, former.get(bytesKey(key))!)
      batch.del(trieHistoryKey(key, height))
    } else {
      putOrDelete(batch, key, undoChange(reader, batch, key, height))
    }
  }
  removeChangedKeys(batch, height)
  const rootKey = trieNodeKey(ACCOUNT_TRIE, '', 0)
  const rootNode = former.get(bytesKey(rootKey)) ?? reader.get(rootKey) ?? EMPTY_BYTES
  const found = rootNode.length === 0 ? EMPTY_TRIE_ROOT : keccak256(rootNode)
  if (!equalBytes(found, root))
    throw damagedIn(reader, `the history of block ${height} does not lead to the state before it`)
  writeStateHead(batch, height - 1, root)
}

/**
 * Returns the RLP of changed trie nodes before block `height`, by `bytesKey` of their keys; no
 * bytes: there was no node. For a branch the history has only the hash and which children it had,
 * so it is built from these: children come before parents.
 */
function formerNodes(reader: KeyReader, keys: readonly Uint8Array[], height: number): ReadonlyMap<string, Uint8Array> {
  const former = new Map<string, Uint8Array>()
  const nodes = keys.map((key) => ({ key, ...parseNodeKey(key) })).sort((a, b) => b.depth - a.depth)
  for (const { key, owner, path, depth } of nodes) {
    const bytes = reader.get(trieHistoryKey(key, height))
    if (bytes === undefined) throw damagedIn(reader, `the history lacks a trie node that block ${height} changed`)
    const record = decodeNodeRecord(bytes)
    const reference = (nibble: number): string => {
      const childKey = trieNodeKey(owner, joinPath(path, depth, String.fromCharCode(nibble)), depth + 1)
      const child = former.get(bytesKey(childKey)) ?? reader.get(childKey) ?? EMPTY_BYTES
      if (child.length === 0) throw damagedIn(reader, 'a child of an old trie node is missing')
      return referenceOf(child)
    }
    const rlp = record === undefined ? EMPTY_BYTES : 'rlp' in record ? record.rlp : rebuildBranch(record, reference)
    former.set(bytesKey(key), rlp)
  }
  return former
}

/** Returns the parts of a node's key (see `writeNodeKey`); `path` is padded to 32 bytes. */
function parseNodeKey(key: Uint8Array): { owner: Uint8Array; path: string; depth: number } {
  const ownerEnd = 1 + (key[1] === ACCOUNT_TRIE[0] ? ACCOUNT_TRIE.length : storageTrie(new Uint8Array(20)).length)
  const path = new Uint8Array(32)
  path.set(key.subarray(ownerEnd + 1))
  return { owner: key.subarray(1, ownerEnd), path: bytesKey(path), depth: key[ownerEnd]! }
}

function putOrDelete(batch: WriteBatch, key: Uint8Array, value: Uint8Array): void {
  if (value.length === 0) batch.del(key)
  else batch.put(key, value)
}
