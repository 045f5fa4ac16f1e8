import { concatBytes, EMPTY_BYTES, equalBytes } from '../primitives/bytes.ts'
import { HEIGHT_BYTES, heightBytes } from '../storage/columns.ts'
import type { DatabaseReader } from '../storage/database.ts'
import {
  type BranchNode,
  childMask,
  createBranch,
  decodeNode,
  encodeNode,
  referenceOf,
  setChildRef,
  type TrieNode,
} from './trieNode.ts'
import { childPath, trieHistoryPrefix, trieNodeKey } from './triePath.ts'

/**
 * Former trie nodes. A record says what a path held before a block: no bytes for no node, a branch as the set of its
 * children and its hash, a leaf or extension as its RLP. A whole branch is put together from its children's references at
 * the height in question, which their own records (or, where they did not change since, their stored nodes) give.
 */

const BRANCH = 1
const BRANCH_BYTES = 35

export function encodeNodeRecord(node: TrieNode | undefined): Uint8Array {
  if (node === undefined) return EMPTY_BYTES
  if (node.kind !== 'branch' || node.ref?.length !== 32) return encodeNode(node)
  const out = new Uint8Array(BRANCH_BYTES)
  const mask = childMask(node)
  out[0] = BRANCH
  out[1] = mask >> 8
  out[2] = mask
  out.set(node.ref, 3)
  return out
}

/** What a path held: a node's RLP, or what is recorded of a branch. */
type Recorded = { readonly rlp: Uint8Array } | { readonly mask: number; readonly hash: Uint8Array }

/**
 * RLP of the node that `owner`'s trie had at the first `depth` nibbles of `path` as of block `height`; undefined when it
 * had none there. `reader` is the present or a snapshot of it.
 * @throws Error when the parts of a branch do not give its recorded hash
 */
export async function nodeAt(
  reader: DatabaseReader,
  owner: Uint8Array,
  path: Uint8Array,
  depth: number,
  height: number,
): Promise<Uint8Array | undefined> {
  const recorded = await recordedAt(reader, owner, path, depth, height)
  if (recorded === undefined || 'rlp' in recorded) return recorded?.rlp
  const { mask, hash } = recorded
  const branch = createBranch(0)
  await Promise.all(
    Array.from({ length: 16 }, async (_, nibble) => {
      if ((mask & (1 << nibble)) === 0) return
      const child = await recordedAt(reader, owner, childPath(path, depth, nibble), depth + 1, height)
      if (child === undefined) throw new Error('a child of a former trie node is missing: the database is damaged')
      setChildRef(branch, nibble, 'rlp' in child ? referenceOf(child.rlp) : child.hash)
    }),
  )
  return checkedBranch(branch, hash)
}

function checkedBranch(branch: BranchNode, hash: Uint8Array): Uint8Array {
  const rlp = encodeNode(branch)
  if (!equalBytes(referenceOf(rlp), hash)) throw new Error('a former trie node does not have its hash')
  return rlp
}

/** The first record above `height` tells what was there at `height`; without one, what is there now was. */
async function recordedAt(
  reader: DatabaseReader,
  owner: Uint8Array,
  path: Uint8Array,
  depth: number,
  height: number,
): Promise<Recorded | undefined> {
  const nodeKey = trieNodeKey(owner, path, depth)
  const prefix = trieHistoryPrefix(nodeKey)
  const range = {
    start: concatBytes(prefix, heightBytes(height + 1)),
    end: concatBytes(prefix, new Uint8Array(HEIGHT_BYTES).fill(0xff)),
    limit: 1,
  }
  for await (const [, record] of reader.entries(range)) {
    if (record.length === 0) return undefined
    if (record[0] !== BRANCH) return { rlp: record }
    return { mask: (record[1]! << 8) | record[2]!, hash: record.subarray(3) }
  }
  const rlp = reader.get(nodeKey)
  return rlp && { rlp }
}

/** The node at `depth` nibbles of `path` with the references of its children. */
export function parseNode(rlp: Uint8Array, path: Uint8Array, depth: number): TrieNode {
  return decodeNode(rlp, path, depth, referenceOf(rlp), 0)
}
