import type { Address } from '../primitives/address.ts'
import { bytesKey, EMPTY_BYTES, keyBytes } from '../primitives/bytes.ts'
import { EMPTY_CODE_HASH, EMPTY_TRIE_ROOT, keccak256 } from '../primitives/hash.ts'
import type { DatabaseReader } from '../storage/database.ts'
import { decodeAccountLeaf } from './accountLeaf.ts'
import type { StateHead } from './head.ts'
import { checkHeight } from './stateAt.ts'
import { nodeAt, parseNode } from './trieHistory.ts'
import { nibbleAt } from './trieNode.ts'
import { ACCOUNT_TRIE, storageTrie, trieNodeKey } from './triePath.ts'
import { decodeString } from './trieRlp.ts'
import type { AccountProof } from './view.ts'

/** Gives the RLP of a trie's node at the first `depth` nibbles of `path`. */
type NodeReader = (owner: Uint8Array, path: string, depth: number) => Promise<Uint8Array | undefined>

/**
 * The proof of an account and slots of it, also of their absence, against the state root of block `height`. `snapshot` is
 * one of the database with the head record `head`. Slots are 32 bytes; a native entry is the slot keccak256(raw key) of
 * the reserved account, with the raw value.
 * @throws StateUnavailable below the window that is kept
 */
export async function proofAt(
  snapshot: DatabaseReader,
  head: StateHead,
  height: number,
  address: Address,
  slots: readonly Uint8Array[],
): Promise<AccountProof> {
  checkHeight(head, height)
  const read: NodeReader =
    height === head.height
      ? async (owner, path, depth) => snapshot.get(trieNodeKey(owner, path, depth))
      : (owner, path, depth) => nodeAt(snapshot, owner, path, depth, height)
  const { nodes, value } = await prove(read, ACCOUNT_TRIE, bytesKey(keccak256(address)))
  const leaf = value && decodeAccountLeaf(value)
  const storageProofs: AccountProof['storageProofs'][number][] = []
  for (const slot of slots) {
    const found = await prove(read, storageTrie(address), bytesKey(keccak256(slot)))
    const content = found.value === undefined ? EMPTY_BYTES : decodeString(found.value)
    storageProofs.push({ slot, value: content, proof: found.nodes })
  }
  return {
    accountProof: nodes,
    nonce: leaf?.account.nonce ?? 0n,
    balance: leaf?.account.balance ?? 0n,
    codeHash: leaf?.account.codeHash ?? EMPTY_CODE_HASH,
    storageRoot: leaf?.storageRoot ?? EMPTY_TRIE_ROOT,
    storageProofs,
  }
}

/** The nodes from the root towards `key` (those shorter than 32 bytes lie within their parents), and its value. */
async function prove(
  read: NodeReader,
  owner: Uint8Array,
  key: string,
): Promise<{ nodes: Uint8Array[]; value: Uint8Array | undefined }> {
  const nodes: Uint8Array[] = []
  for (let depth = 0; ; ) {
    const rlp = await read(owner, key, depth)
    if (rlp === undefined) {
      if (depth === 0) return { nodes, value: undefined }
      throw new Error('a trie node is missing: the database is damaged')
    }
    if (depth === 0 || rlp.length >= 32) nodes.push(rlp)
    const node = parseNode(rlp, key, depth)
    if (node.kind === 'leaf') return { nodes, value: node.key === key ? keyBytes(node.value) : undefined }
    if (node.kind === 'branch') {
      if (node.children[nibbleAt(key, depth)] === undefined) return { nodes, value: undefined }
      depth++
      continue
    }
    for (let i = 0; i < node.segment.length; i++) {
      if (nibbleAt(key, depth + i) !== node.segment.charCodeAt(i)) return { nodes, value: undefined }
    }
    depth += node.segment.length
  }
}
