import { bytesKey, concatBytes, equalBytes } from '../primitives/bytes.ts'
import { keccak256 } from '../primitives/hash.ts'
import { HEIGHT_BYTES, heightBytes } from '../storage/columns.ts'
import type { DatabaseReader } from '../storage/database.ts'
import {
  createBranch,
  decodeNode,
  decodeNodeRecord,
  encodeNode,
  joinPath,
  type NodeRecord,
  referenceOf,
  type TrieNode,
} from './trieNode.ts'
import { trieHistoryPrefix, trieNodeKey } from './triePath.ts'

/*
 * Former trie nodes. A record says what a path held before a block: no bytes for no node, a branch as the set of its
 * children and its hash, a leaf or extension as its RLP. A whole branch is put together from its children's references at
 * the height in question, which their own records (or, where they did not change since, their stored nodes) give.
 */

/**
 * RLP of the node that `owner`'s trie had at the first `depth` nibbles of `path` as of block `height`; undefined when it
 * had none there. `reader` is the present or a snapshot of it.
 * @throws Error when the parts of a branch do not give its recorded hash
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
  const { mask, hash } = recorded
  const branch = createBranch(0)
  await Promise.all(
    Array.from({ length: 16 }, async (_, nibble) => {
      if ((mask & (1 << nibble)) === 0) return
      const childPath = joinPath(path, depth, String.fromCharCode(nibble))
      const child = await recordedAt(reader, owner, childPath, depth + 1, height)
      if (child === undefined) throw new Error('a child of a former trie node is missing: the database is damaged')
      branch.children[nibble] = 'rlp' in child ? referenceOf(child.rlp) : bytesKey(child.hash)
    }),
  )
  const rlp = encodeNode(branch).slice()
  if (!equalBytes(keccak256(rlp), hash)) throw new Error('a former trie node does not have its hash')
  return rlp
}

/** The first record above `height` tells what was there at `height`; without one, what is there now was. */
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

/** The node at `depth` nibbles of `path` with the references of its children. */
export function parseNode(rlp: Uint8Array, path: string, depth: number): TrieNode {
  return decodeNode(rlp, path, depth, undefined, 0)
}
