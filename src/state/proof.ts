import type { Address } from '../primitives/address.ts'
import { bytesKey, concatBytes, EMPTY_BYTES, keyBytes } from '../primitives/bytes.ts'
import { EMPTY_CODE_HASH, EMPTY_TRIE_ROOT, type Hash, keccak256 } from '../primitives/hash.ts'
import { decodeRLP } from '../primitives/rlp.ts'
import { HEIGHT_BYTES, heightBytes } from '../storage/columns.ts'
import { damagedContents } from '../storage/damage.ts'
import type { DatabaseReader } from '../storage/database.ts'
import { checkHeight, type StateHead } from './head.ts'
import { decodeAccountLeaf } from './trie.ts'
import {
  ACCOUNT_TRIE,
  decodeNode,
  decodeNodeRecord,
  joinPath,
  type NodeRecord,
  nibbleAt,
  rebuildBranch,
  referenceOf,
  storageTrie,
  type TrieNode,
  trieHistoryPrefix,
  trieNodeKey,
} from './trieNode.ts'

/** The result of `eth_getProof`, in bytes. */
export interface AccountProof {
  /** RLP nodes from the root */
  readonly accountProof: readonly Uint8Array[]
  readonly nonce: bigint
  readonly balance: bigint
  readonly codeHash: Hash
  readonly storageRoot: Hash
  readonly storageProofs: readonly {
    readonly slot: Uint8Array
    readonly value: Uint8Array
    readonly proof: readonly Uint8Array[]
  }[]
}

const SLOTS_PER_PAUSE = 8

/** Reads the RLP of a trie's node at the first `depth` nibbles of `path`. */
export type NodeReader = (owner: Uint8Array, path: string, depth: number) => Promise<Uint8Array | undefined>

/**
 * Returns the proof of an account and its slots, or of their absence, against the state root of
 * block `height`. `snapshot` is a database snapshot whose head record is `head`. Slots are 32
 * bytes; a native entry is the slot keccak256(raw key) of the reserved account, with the raw value.
 * @param pause awaited between slots; if it throws, the proof ends
 * @throws StateUnavailable below the retained window
 */
export async function proofAt(
  snapshot: DatabaseReader,
  head: StateHead,
  height: number,
  address: Address,
  slots: readonly Uint8Array[],
  pause?: () => Promise<void>,
): Promise<AccountProof> {
  checkHeight(head, height)
  const read: NodeReader =
    height === head.height
      ? async (owner, path, depth) => snapshot.get(trieNodeKey(owner, path, depth))
      : (owner, path, depth) => nodeAt(snapshot, owner, path, depth, height)
  const { nodes, value } = await prove(read, ACCOUNT_TRIE, bytesKey(keccak256(address)))
  const leaf = value && decodeAccountLeaf(value)
  const storageProofs: AccountProof['storageProofs'][number][] = []
  for (const [index, slot] of slots.entries()) {
    if (index % SLOTS_PER_PAUSE === 0) await pause?.()
    const found = await prove(read, storageTrie(address), bytesKey(keccak256(slot)))
    const value = found.value === undefined ? EMPTY_BYTES : decodeValue(found.value)
    storageProofs.push({ slot, value, proof: found.nodes })
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

/** A leaf of a storage trie holds the RLP of the slot's value. */
function decodeValue(leaf: Uint8Array): Uint8Array {
  const value = decodeRLP(leaf)
  if (!(value instanceof Uint8Array)) throw new Error('a storage value is not a string')
  return value
}

/**
 * Returns the nodes from the root towards `key`, and its value. Nodes shorter than 32 bytes are
 * inside their parents.
 */
export async function prove(
  read: NodeReader,
  owner: Uint8Array,
  key: string,
): Promise<{ nodes: Uint8Array[]; value: Uint8Array | undefined }> {
  const nodes: Uint8Array[] = []
  for (let depth = 0; ; ) {
    const rlp = await read(owner, key, depth)
    if (rlp === undefined) {
      if (depth === 0) return { nodes, value: undefined }
      throw damagedContents('a trie node is missing')
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

/**
 * Returns the RLP of the node that `owner`'s trie had at the first `depth` nibbles of `path` as of
 * block `height`; undefined when there was no node. `reader` is the database or a snapshot.
 *
 * The history records which node a path had before a block (assembly/trie/log.ts): for a branch
 * only its hash and which children it had. The branch is built from its children's references at
 * that height. They come from the children's own records, or from their stored nodes where they
 * have not changed since.
 * @throws Error when the built branch does not have its recorded hash
 */
export async function nodeAt(
  reader: DatabaseReader,
  owner: Uint8Array,
  path: string,
  depth: number,
  height: number,
): Promise<Uint8Array | undefined> {
  const recorded = await recordedAt(reader, owner, path, depth, height)
  if (recorded === undefined || 'rlp' in recorded) return recorded?.rlp
  const references = await Promise.all(
    Array.from({ length: 16 }, async (_, nibble) => {
      if ((recorded.mask & (1 << nibble)) === 0) return ''
      const childPath = joinPath(path, depth, String.fromCharCode(nibble))
      const child = await recordedAt(reader, owner, childPath, depth + 1, height)
      if (child === undefined) throw damagedContents('a child of an old trie node is missing')
      return 'rlp' in child ? referenceOf(child.rlp) : bytesKey(child.hash)
    }),
  )
  return rebuildBranch(recorded, (nibble) => references[nibble]!)
}

/**
 * Returns the node of a path at `height`: from the first record above `height`, or the head's node
 * when there is no such record.
 */
async function recordedAt(
  reader: DatabaseReader,
  owner: Uint8Array,
  path: string,
  depth: number,
  height: number,
): Promise<NodeRecord | undefined> {
  const nodeKey = trieNodeKey(owner, path, depth)
  const prefix = trieHistoryPrefix(nodeKey)
  const range = {
    start: concatBytes(prefix, heightBytes(height + 1)),
    end: concatBytes(prefix, new Uint8Array(HEIGHT_BYTES).fill(0xff)),
    limit: 1,
  }
  for await (const [, record] of reader.entries(range)) return decodeNodeRecord(record)
  const rlp = reader.get(nodeKey)
  return rlp && { rlp }
}

/** Returns the node at `depth` nibbles of `path` with the references of its children. */
function parseNode(rlp: Uint8Array, path: string, depth: number): TrieNode {
  return decodeNode(rlp, path, depth)
}
