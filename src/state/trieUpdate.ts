import { bytesKey, compareKeys, keyBytes } from '../primitives/bytes.ts'
import { EMPTY_TRIE_ROOT, type Hash, keccak256 } from '../primitives/hash.ts'
import type { Filled } from '../storage/batch.ts'
import { damagedContents } from '../storage/damage.ts'
import {
  type BranchNode,
  childReference,
  copyBranch,
  createBranch,
  createExtension,
  createLeaf,
  decodeNode,
  type ExtensionNode,
  joinPath,
  type LeafNode,
  NODE_KEY_BYTES,
  nibbleAt,
  segmentOf,
  setNibble,
  setPath,
  type TrieNode,
  writeNode,
  writeNodeKey,
  writtenHash,
  writtenReference,
} from './trieNode.ts'

/** A changed key of a trie. Keys and values are bytes as strings (`bytesKey`). */
export interface TrieUpdate {
  /** 32 bytes */
  readonly key: string
  /** Computes the new value from the present one; undefined: no value. */
  readonly next: (previous: string | undefined) => string | undefined
}

/** Receives the nodes whose stored form changes. The arrays are overwritten after the call. */
export interface TrieSink {
  /**
   * @param key of the database
   * @param previous the node that is stored there now; undefined: none
   * @param current RLP of the node to store; undefined: none
   */
  write(key: Filled, previous: TrieNode | undefined, current: Filled | undefined): void
}

export interface TrieSource {
  /** RLP of the node with this database key; the array of the key is overwritten after the call */
  get(key: Uint8Array): Uint8Array | undefined
}

export interface TrieResult {
  readonly root: TrieNode | undefined
  readonly rootHash: Hash
  /** nodes that were loaded below `root` */
  readonly loaded: number
  /** new nodes */
  readonly made: number
}

interface Item {
  readonly key: string
  readonly value: string
}

const nodeKey = new Uint8Array(NODE_KEY_BYTES)
/** The key of a node that a sink gets. */
const sinkKey = { bytes: nodeKey, length: 0 }
const nodePath = new Uint8Array(32)

/** Loads the stored root of a trie. */
export function loadRoot(owner: Uint8Array, source: TrieSource, usedAt: number): TrieNode | undefined {
  const rlp = source.get(nodeKey.subarray(0, writeNodeKey(nodeKey, owner, nodePath, 0)))
  return rlp && decodeNode(rlp, '', 0, bytesKey(keccak256(rlp)), usedAt)
}

/**
 * Whether the trie below `root` has `key` (32 bytes as a string). Nodes that are loaded on the way stay attached, so that an update of
 * the key finds them.
 */
export function findLeaf(
  owner: Uint8Array,
  root: TrieNode,
  key: string,
  source: TrieSource,
  generation: number,
): { readonly isThere: boolean; readonly loaded: number } {
  let node = root
  let loaded = 0
  const load = (depth: number, ref: string): TrieNode => {
    loaded++
    return loadNode(owner, key, depth, ref, source, generation)
  }
  for (let depth = 0; ; ) {
    node.usedAt = generation
    if (node.kind === 'leaf') return { isThere: node.key === key, loaded }
    if (node.kind === 'extension') {
      if (!matches(node.segment, key, depth)) return { isThere: false, loaded }
      depth += node.segment.length
      if (typeof node.child === 'string') node.child = load(depth, node.child)
      node = node.child
      continue
    }
    const nibble = nibbleAt(key, depth++)
    let child = node.children[nibble]
    if (child === undefined) return { isThere: false, loaded }
    if (typeof child === 'string') {
      child = load(depth, childReference(node, nibble))
      node.children[nibble] = child
    }
    node = child
  }
}

function loadNode(
  owner: Uint8Array,
  path: string,
  depth: number,
  ref: string,
  source: TrieSource,
  generation: number,
): TrieNode {
  const key = nodeKey.subarray(0, writeNodeKey(nodeKey, owner, setPath(nodePath, path, depth), depth))
  const rlp = source.get(key)
  if (rlp === undefined) throw damagedContents('a trie node is missing')
  return decodeNode(rlp, path, depth, ref, generation)
}

/**
 * Applies `updates` (sorted by key, no key twice) to the trie below `root` and computes the new root, in two walks:
 *
 * 1. down from the root, where each affected node is visited once and replaced by a new one (`Updater.#update`);
 * 2. over the new nodes, children first, where each is encoded, hashed and given to `sink` (`Updater.#hash`).
 *
 * Hashing comes after the first walk, because a later update may replace a new node again. Present nodes do not change (only loaded
 * children are attached to them), so other updates of the same root can follow.
 */
export function updateTrie(
  owner: Uint8Array,
  root: TrieNode | undefined,
  updates: readonly TrieUpdate[],
  source: TrieSource,
  sink: TrieSink,
  generation: number,
): TrieResult {
  return new Updater(owner, updates, source, sink, generation).run(root)
}

class Updater {
  readonly #owner: Uint8Array
  readonly #updates: readonly TrieUpdate[]
  readonly #source: TrieSource
  readonly #sink: TrieSink
  readonly #generation: number
  #loaded = 0
  #made = 0

  constructor(
    owner: Uint8Array,
    updates: readonly TrieUpdate[],
    source: TrieSource,
    sink: TrieSink,
    generation: number,
  ) {
    this.#owner = owner
    this.#updates = updates
    this.#source = source
    this.#sink = sink
    this.#generation = generation
  }

  run(root: TrieNode | undefined): TrieResult {
    const count = this.#updates.length
    const next = count === 0 ? root : this.#update(root, 0, count, 0)
    const rootHash = next === undefined ? EMPTY_TRIE_ROOT : keyBytes(this.#hash(next, nodePath, 0))
    return { root: next, rootHash, loaded: this.#loaded, made: this.#made }
  }

  /**
   * Applies the updates [low, high), at least one, to the node at their first `depth` nibbles, which they share. Returns `node` itself
   * when nothing changes.
   */
  #update(node: TrieNode | undefined, low: number, high: number, depth: number): TrieNode | undefined {
    if (node === undefined) {
      const items = this.#insertions(low, high)
      return items.length === 0 ? undefined : this.#build(items, 0, items.length, depth)
    }
    node.usedAt = this.#generation
    const next = this.#updateNode(node, low, high, depth)
    if (next === undefined) this.#remove(node, this.#updates[low]!.key, depth)
    else if (next !== node) next.replaces = storedNode(node)
    return next
  }

  #updateNode(node: TrieNode, low: number, high: number, depth: number): TrieNode | undefined {
    if (node.kind === 'leaf') return this.#updateLeaf(node, low, high, depth)
    if (node.kind === 'extension') return this.#updateExtension(node, low, high, depth)
    return this.#updateBranch(node, low, high, depth)
  }

  #updateLeaf(leaf: LeafNode, low: number, high: number, depth: number): TrieNode | undefined {
    const items: Item[] = []
    let kept: Item | undefined = leaf
    for (let i = low; i < high; i++) {
      const { key, next } = this.#updates[i]!
      const order = kept === undefined ? -1 : compareKeys(key, kept.key)
      if (order > 0) {
        items.push(kept!)
        kept = undefined
      }
      const value = next(order === 0 ? leaf.value : undefined)
      if (order === 0) kept = undefined
      if (value !== undefined) items.push({ key, value })
    }
    if (kept !== undefined) items.push(kept)
    const [only] = items
    if (items.length === 1 && only!.key === leaf.key && only!.value === leaf.value) return leaf
    return items.length === 0 ? undefined : this.#build(items, 0, items.length, depth)
  }

  #updateExtension(node: ExtensionNode, low: number, high: number, depth: number): TrieNode | undefined {
    const { key } = this.#updates[low]!
    const { segment } = node
    if (matches(segment, key, depth) && matches(segment, this.#updates[high - 1]!.key, depth)) {
      const child = this.#childOfExtension(node, key, depth)
      const next = this.#update(child, low, high, depth + segment.length)
      if (next === child) return node
      return next && this.#join(segment, next, key, depth)
    }
    // Some updates are not below the extension. Treat its first nibble as a branch with one child; if no second child is added, it
    // becomes an extension again below.
    const branch = createBranch(this.#generation)
    branch.children[segment.charCodeAt(0)] =
      segment.length > 1 ? createExtension(segment.slice(1), node.child, this.#generation) : node.child
    const next = this.#updateBranch(branch, low, high, depth)
    return next === branch ? node : next
  }

  #updateBranch(branch: BranchNode, low: number, high: number, depth: number): TrieNode | undefined {
    const { key } = this.#updates[low]!
    let next: BranchNode | undefined
    for (let from = low; from < high; ) {
      const nibble = nibbleAt(this.#updates[from]!.key, depth)
      let to = from + 1
      while (to < high && nibbleAt(this.#updates[to]!.key, depth) === nibble) to++
      const child = this.#childOfBranch(branch, nibble, this.#updates[from]!.key, depth)
      const changed = this.#update(child, from, to, depth + 1)
      if (changed !== child) {
        next ??= copyBranch(branch, this.#generation)
        next.children[nibble] = changed
      }
      from = to
    }
    if (next === undefined) return branch
    return this.#normalize(next, key, depth)
  }

  /** A branch with one child becomes an extension or leaf; one without children, nothing. */
  #normalize(branch: BranchNode, path: string, depth: number): TrieNode | undefined {
    let only = -1
    for (let i = 0; i < 16; i++) {
      if (branch.children[i] === undefined) continue
      if (only >= 0) return branch
      only = i
    }
    if (only < 0) return undefined
    const segment = String.fromCharCode(only)
    const childPath = joinPath(path, depth, segment)
    const child = this.#childOfBranch(branch, only, childPath, depth)!
    return this.#join(segment, child, childPath, depth)
  }

  /** The node at `depth` of `path` when `node`, reached through `segment`, is the only one below it. */
  #join(segment: string, node: TrieNode, path: string, depth: number): TrieNode {
    if (node.kind === 'branch') return createExtension(segment, node, this.#generation)
    this.#remove(node, path, depth + segment.length)
    if (node.kind === 'leaf') return createLeaf(node.key, depth, node.value, this.#generation)
    return createExtension(segment + node.segment, node.child, this.#generation)
  }

  /** A new subtree of sorted items, at least one. */
  #build(items: readonly Item[], low: number, high: number, depth: number): TrieNode {
    const first = items[low]!
    if (high - low === 1) return createLeaf(first.key, depth, first.value, this.#generation)
    const last = items[high - 1]!.key
    let fork = depth
    while (nibbleAt(first.key, fork) === nibbleAt(last, fork)) fork++
    const branch = createBranch(this.#generation)
    for (let from = low; from < high; ) {
      const nibble = nibbleAt(items[from]!.key, fork)
      let to = from + 1
      while (to < high && nibbleAt(items[to]!.key, fork) === nibble) to++
      branch.children[nibble] = this.#build(items, from, to, fork + 1)
      from = to
    }
    if (fork === depth) return branch
    return createExtension(segmentOf(first.key, depth, fork), branch, this.#generation)
  }

  #insertions(low: number, high: number): Item[] {
    const items: Item[] = []
    for (let i = low; i < high; i++) {
      const { key, next } = this.#updates[i]!
      const value = next(undefined)
      if (value !== undefined) items.push({ key, value })
    }
    return items
  }

  /** The child below `nibble`, which is the next one of `path`. */
  #childOfBranch(branch: BranchNode, nibble: number, path: string, depth: number): TrieNode | undefined {
    const child = branch.children[nibble]
    if (typeof child !== 'string') return child
    const loaded = this.#load(path, depth + 1, childReference(branch, nibble))
    branch.children[nibble] = loaded
    return loaded
  }

  #childOfExtension(node: ExtensionNode, path: string, depth: number): TrieNode {
    if (typeof node.child === 'string') node.child = this.#load(path, depth + node.segment.length, node.child)
    return node.child
  }

  #load(path: string, depth: number, ref: string): TrieNode {
    this.#loaded++
    return loadNode(this.#owner, path, depth, ref, this.#source, this.#generation)
  }

  #key(path: Uint8Array, depth: number): Filled {
    sinkKey.length = writeNodeKey(nodeKey, this.#owner, path, depth)
    return sinkKey
  }

  /** Reports to the sink that there is no node at the path of `node` any more. */
  #remove(node: TrieNode, path: string, depth: number): void {
    const previous = storedNode(node)
    if (previous !== undefined) this.#sink.write(this.#key(setPath(nodePath, path, depth), depth), previous, undefined)
  }

  /** Computes references of new nodes, children first; `path` holds the `depth` nibbles above the node. */
  #hash(node: TrieNode, path: Uint8Array, depth: number): string {
    if (node.ref !== undefined) return node.ref
    if (node.kind === 'branch') {
      for (let i = 0; i < 16; i++) {
        const child = node.children[i]
        if (child === undefined || typeof child === 'string' || child.ref !== undefined) continue
        setNibble(path, depth, i)
        this.#hash(child, path, depth + 1)
      }
    } else if (node.kind === 'extension' && typeof node.child !== 'string' && node.child.ref === undefined) {
      const { segment } = node
      for (let i = 0; i < segment.length; i++) setNibble(path, depth + i, segment.charCodeAt(i))
      this.#hash(node.child, path, depth + segment.length)
    }
    const rlp = writeNode(node)
    node.ref = depth > 0 ? writtenReference() : writtenHash()
    this.#sink.write(this.#key(path, depth), node.replaces, rlp)
    this.#made++
    node.replaces = undefined
    return node.ref
  }
}

/** The node that the database has at the path of `node`: nodes of this update are not stored yet. */
function storedNode(node: TrieNode): TrieNode | undefined {
  return node.ref === undefined ? node.replaces : node
}

/** Whether the nibbles of `key` from `depth` on begin with those of `segment`. */
export function matches(segment: string, key: string, depth: number): boolean {
  for (let i = 0; i < segment.length; i++) if (nibbleAt(key, depth + i) !== segment.charCodeAt(i)) return false
  return true
}
