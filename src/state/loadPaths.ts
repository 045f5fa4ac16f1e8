import type { BulkReader } from '../storage/database.ts'
import {
  type BranchNode,
  childReference,
  decodeNode,
  type ExtensionNode,
  NODE_KEY_BYTES,
  nibbleAt,
  setPath,
  type TrieNode,
  writeNodeKey,
} from './trieNode.ts'
import { matches, type TrieUpdate } from './trieUpdate.ts'

/** A trie that is about to be updated. */
export interface TrieToLoad {
  readonly owner: Uint8Array
  readonly root: TrieNode
  /** sorted by key */
  readonly updates: readonly TrieUpdate[]
}

/** Part of a trie: the node at the first `depth` nibbles that the updates [low, high) share. */
interface Part {
  readonly trie: TrieToLoad
  readonly node: TrieNode
  readonly low: number
  readonly high: number
  readonly depth: number
}

/** A node that is not in memory. */
interface Missing extends Omit<Part, 'node'> {
  readonly parent: BranchNode | ExtensionNode
  /** of the parent, if it is a branch */
  readonly nibble: number
}

/** What fewer updates need is left to them: they read node by node, without a turn of the event loop for each level. */
const LEAST_UPDATES = 32
/** Reads at a time, each in a thread of Node.js's pool: it has four, of which the write-ahead log needs one for its syncs. */
const READS = 3

/**
 * Loads the nodes that updates of tries will reach, and attaches them to the nodes in memory: level by level, since a node shows which
 * nodes below it there are, and many with one read, which other threads do. What is missing in the database is left to the update too.
 * @returns how many nodes were loaded
 */
export async function loadPaths(tries: readonly TrieToLoad[], source: BulkReader, generation: number): Promise<number> {
  let loaded = 0
  let parts: Part[] = tries.map((trie) => ({ trie, node: trie.root, low: 0, high: trie.updates.length, depth: 0 }))
  while (parts.length > 0) {
    const missing: Missing[] = []
    for (const { trie, node, low, high, depth } of parts)
      if (low < high) findMissing(trie, node, low, high, depth, missing)
    if (updatesOf(missing) < LEAST_UPDATES) break
    const values = await readMany(source, nodeKeys(missing))
    parts = []
    for (let i = 0; i < missing.length; i++) {
      const rlp = values[i]
      if (rlp === undefined) continue
      const { parent, nibble, trie, low, high, depth } = missing[i]!
      // While the read ran, somebody else may have loaded it.
      let node = parent.kind === 'branch' ? parent.children[nibble] : parent.child
      if (typeof node !== 'object') {
        const reference = parent.kind === 'branch' ? childReference(parent, nibble) : parent.child
        node = decodeNode(rlp, trie.updates[low]!.key, depth, reference as string, generation)
        if (parent.kind === 'branch') parent.children[nibble] = node
        else parent.child = node
        loaded++
      }
      parts.push({ trie, node, low, high, depth })
    }
  }
  return loaded
}

/** Adds the nodes at which the paths of the updates [low, high) leave what is in memory below `node`. */
function findMissing(
  trie: TrieToLoad,
  node: TrieNode,
  low: number,
  high: number,
  depth: number,
  missing: Missing[],
): void {
  const { updates } = trie
  if (node.kind === 'leaf') return
  if (node.kind === 'extension') {
    const { segment, child } = node
    // As in an update: when some keys leave the trie here, it takes the child only if it has to.
    if (!matches(segment, updates[low]!.key, depth) || !matches(segment, updates[high - 1]!.key, depth)) return
    const end = depth + segment.length
    if (typeof child === 'string') missing.push({ trie, parent: node, nibble: 0, low, high, depth: end })
    else findMissing(trie, child, low, high, end, missing)
    return
  }
  for (let from = low; from < high; ) {
    const nibble = nibbleAt(updates[from]!.key, depth)
    let to = from + 1
    while (to < high && nibbleAt(updates[to]!.key, depth) === nibble) to++
    const child = node.children[nibble]
    if (typeof child === 'string') missing.push({ trie, parent: node, nibble, low: from, high: to, depth: depth + 1 })
    else if (child !== undefined) findMissing(trie, child, from, to, depth + 1, missing)
    from = to
  }
}

function updatesOf(missing: readonly Missing[]): number {
  let count = 0
  for (const { low, high } of missing) count += high - low
  return count
}

const path = new Uint8Array(32)

/** Views on one array, since V8 would move each small one out of its heap when it is passed to LevelDB. */
function nodeKeys(missing: readonly Missing[]): Uint8Array[] {
  const memory = new Uint8Array(missing.length * NODE_KEY_BYTES)
  return missing.map(({ trie, low, depth }, index) => {
    const start = index * NODE_KEY_BYTES
    const key = memory.subarray(start, start + NODE_KEY_BYTES)
    return key.subarray(0, writeNodeKey(key, trie.owner, setPath(path, trie.updates[low]!.key, depth), depth))
  })
}

/** Reads many keys in other threads. All reads begin at once, so that they go on while the calling thread works. */
export async function readMany(source: BulkReader, keys: readonly Uint8Array[]): Promise<(Uint8Array | undefined)[]> {
  const size = Math.ceil(keys.length / READS)
  const parts = Array.from({ length: READS }, (_, i) => source.getMany(keys.slice(i * size, (i + 1) * size)))
  return (await Promise.all(parts)).flat()
}
