import { equalBytes } from '../primitives/bytes.ts'
import { EMPTY_TRIE_ROOT, type Hash, keccak256 } from '../primitives/hash.ts'
import {
  type BranchNode,
  childRef,
  copyBranch,
  createBranch,
  createExtension,
  createLeaf,
  decodeNode,
  type ExtensionNode,
  encodeNode,
  hasChild,
  type LeafNode,
  nibbleAt,
  setChild,
  setChildRef,
  type TrieNode,
} from './trieNode.ts'
import { childPath, setNibble, trieNodeKey } from './triePath.ts'

/** A changed key of a trie. */
export interface TrieUpdate {
  /** 32 bytes */
  readonly key: Uint8Array
  /** The new value, given the present one; undefined is no value. */
  readonly next: (previous: Uint8Array | undefined) => Uint8Array | undefined
}

/** A node whose stored form changes. */
export interface TrieWrite {
  readonly key: Uint8Array
  readonly previous: TrieNode | undefined
  /** RLP; undefined deletes the node */
  readonly current: Uint8Array | undefined
}

export interface TrieSource {
  /** RLP of the node with this database key */
  get(key: Uint8Array): Uint8Array | undefined
}

export interface TrieResult {
  readonly root: TrieNode | undefined
  readonly rootHash: Hash
  readonly writes: readonly TrieWrite[]
  /** nodes that were loaded below `root` */
  readonly loaded: number
  /** new nodes */
  readonly made: number
}

const SLAB_BYTES = 1 << 16

interface Item {
  readonly key: Uint8Array
  readonly value: Uint8Array
}

/** The root of a trie as it is stored. */
export function loadRoot(owner: Uint8Array, source: TrieSource, usedAt: number): TrieNode | undefined {
  const path = new Uint8Array(32)
  const rlp = source.get(trieNodeKey(owner, path, 0))
  return rlp && decodeNode(rlp, path, 0, keccak256(rlp), usedAt)
}

/**
 * Applies `updates` (sorted by key, no key twice) to the trie below `root` and computes the new root: one walk down that
 * visits each affected node once, then one walk that encodes and hashes what is new. Present nodes are left as they are
 * (only loaded children are attached to them), so other updates of the same root can follow.
 */
export function updateTrie(
  owner: Uint8Array,
  root: TrieNode | undefined,
  updates: readonly TrieUpdate[],
  source: TrieSource,
  generation: number,
): TrieResult {
  return new Updater(owner, updates, source, generation).run(root)
}

class Updater {
  readonly #owner: Uint8Array
  readonly #updates: readonly TrieUpdate[]
  readonly #source: TrieSource
  readonly #generation: number
  readonly #writes: TrieWrite[] = []
  #loaded = 0
  #made = 0
  #slab = new Uint8Array(0)
  #slabUsed = 0

  constructor(owner: Uint8Array, updates: readonly TrieUpdate[], source: TrieSource, generation: number) {
    this.#owner = owner
    this.#updates = updates
    this.#source = source
    this.#generation = generation
  }

  run(root: TrieNode | undefined): TrieResult {
    const count = this.#updates.length
    const next = count === 0 ? root : this.#update(root, 0, count, 0)
    const rootHash = next === undefined ? EMPTY_TRIE_ROOT : this.#hash(next, new Uint8Array(32), 0)
    return { root: next, rootHash, writes: this.#writes, loaded: this.#loaded, made: this.#made }
  }

  /**
   * Applies the updates [low, high), at least one, which agree in their first `depth` nibbles, to what stands there. Gives
   * `node` itself when nothing changes.
   */
  #update(node: TrieNode | undefined, low: number, high: number, depth: number): TrieNode | undefined {
    if (node === undefined) {
      const items = this.#insertions(low, high)
      return items.length === 0 ? undefined : this.#build(items, 0, items.length, depth)
    }
    node.usedAt = this.#generation
    const next = this.#updateNode(node, low, high, depth)
    if (next === undefined) this.#vacate(node, this.#updates[low]!.key, depth)
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
      const order = kept === undefined ? -1 : Buffer.compare(key, kept.key)
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
    if (items.length === 1 && equalBytes(only!.key, leaf.key) && equalBytes(only!.value, leaf.value)) return leaf
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
    // Some updates leave the segment: take its first nibble as a branch with one child, which is put together again
    // below when no second child comes up.
    const branch = createBranch(this.#generation)
    const first = segment[0]!
    if (segment.length > 1) {
      setChild(branch, first, createExtension(segment.slice(1), node.child, node.childRef, this.#generation))
    } else {
      branch.children[first] = node.child
      setChildRef(branch, first, node.childRef)
    }
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
      const child = this.#childOfBranch(branch, nibble, key, depth)
      const changed = this.#update(child, from, to, depth + 1)
      if (changed !== child) {
        next ??= copyBranch(branch, this.#generation)
        setChild(next, nibble, changed)
      }
      from = to
    }
    if (next === undefined) return branch
    return this.#normalize(next, key, depth)
  }

  /** A branch with one child is no branch. */
  #normalize(branch: BranchNode, path: Uint8Array, depth: number): TrieNode | undefined {
    let only = -1
    for (let i = 0; i < 16; i++) {
      if (!hasChild(branch, i)) continue
      if (only >= 0) return branch
      only = i
    }
    if (only < 0) return undefined
    const child = this.#childOfBranch(branch, only, path, depth)!
    return this.#join(Uint8Array.of(only), child, childPath(path, depth, only), depth)
  }

  /** What stands at `depth` of `path` when `segment` leads from there to `node` alone. */
  #join(segment: Uint8Array, node: TrieNode, path: Uint8Array, depth: number): TrieNode {
    if (node.kind === 'branch') return createExtension(segment, node, node.ref, this.#generation)
    this.#vacate(node, path, depth + segment.length)
    if (node.kind === 'leaf') return createLeaf(node.key, depth, node.value, this.#generation)
    const joined = new Uint8Array(segment.length + node.segment.length)
    joined.set(segment)
    joined.set(node.segment, segment.length)
    return createExtension(joined, node.child, node.childRef, this.#generation)
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
      setChild(branch, nibble, this.#build(items, from, to, fork + 1))
      from = to
    }
    if (fork === depth) return branch
    const segment = new Uint8Array(fork - depth)
    for (let i = depth; i < fork; i++) segment[i - depth] = nibbleAt(first.key, i)
    return createExtension(segment, branch, undefined, this.#generation)
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

  #childOfBranch(branch: BranchNode, nibble: number, path: Uint8Array, depth: number): TrieNode | undefined {
    const child = branch.children[nibble]
    if (child !== undefined || !hasChild(branch, nibble)) return child
    const loaded = this.#load(childPath(path, depth, nibble), depth + 1, childRef(branch, nibble))
    branch.children[nibble] = loaded
    return loaded
  }

  #childOfExtension(node: ExtensionNode, path: Uint8Array, depth: number): TrieNode {
    node.child ??= this.#load(path, depth + node.segment.length, node.childRef)
    return node.child
  }

  #load(path: Uint8Array, depth: number, ref: Uint8Array | undefined): TrieNode {
    const rlp = this.#source.get(trieNodeKey(this.#owner, path, depth))
    if (rlp === undefined) throw new Error('a trie node is missing: the database is damaged')
    this.#loaded++
    return decodeNode(rlp, path, depth, ref, this.#generation)
  }

  /** Nothing stands at the path of `node` any more. */
  #vacate(node: TrieNode, path: Uint8Array, depth: number): void {
    const previous = storedNode(node)
    if (previous !== undefined) {
      this.#writes.push({ key: trieNodeKey(this.#owner, path, depth), previous, current: undefined })
    }
  }

  /** Computes references of new nodes, children first; `path` holds the `depth` nibbles above the node. */
  #hash(node: TrieNode, path: Uint8Array, depth: number): Uint8Array {
    if (node.ref !== undefined) return node.ref
    if (node.kind === 'branch') {
      for (let i = 0; i < 16; i++) {
        const child = node.children[i]
        if (child === undefined || child.ref !== undefined) continue
        setNibble(path, depth, i)
        setChildRef(node, i, this.#hash(child, path, depth + 1))
      }
    } else if (node.kind === 'extension' && node.child !== undefined && node.child.ref === undefined) {
      for (let i = 0; i < node.segment.length; i++) setNibble(path, depth + i, node.segment[i]!)
      node.childRef = this.#hash(node.child, path, depth + node.segment.length)
    }
    const rlp = encodeNode(node, (length) => this.#allocate(length))
    node.ref = rlp.length < 32 && depth > 0 ? rlp.slice() : keccak256(rlp)
    this.#writes.push({ key: trieNodeKey(this.#owner, path, depth), previous: node.replaces, current: rlp })
    this.#made++
    node.replaces = undefined
    return node.ref
  }

  /** The nodes' RLP lives until it is written: pieces of large arrays are made and collected much faster. */
  #allocate(length: number): Uint8Array {
    if (this.#slabUsed + length > this.#slab.length) {
      this.#slab = new Uint8Array(Math.max(length, Math.min(SLAB_BYTES, this.#slab.length * 4 || 1024)))
      this.#slabUsed = 0
    }
    this.#slabUsed += length
    return new Uint8Array(this.#slab.buffer, this.#slabUsed - length, length)
  }
}

/** What the database holds at the path of `node`: nodes made by this very update are stored nowhere. */
function storedNode(node: TrieNode): TrieNode | undefined {
  return node.ref === undefined ? node.replaces : node
}

function matches(segment: Uint8Array, key: Uint8Array, depth: number): boolean {
  for (let i = 0; i < segment.length; i++) if (nibbleAt(key, depth + i) !== segment[i]) return false
  return true
}
