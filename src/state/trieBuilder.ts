import { keyBytes } from '../primitives/bytes.ts'
import { EMPTY_TRIE_ROOT, type Hash } from '../primitives/hash.ts'
import {
  createBranch,
  createExtension,
  createLeaf,
  nibbleAt,
  segmentOf,
  type TrieNode,
  writeNode,
  writtenHash,
  writtenReference,
} from './trieNode.ts'

/** A key of a trie and its value, as strings (`bytesKey`); the key has 32 bytes. */
export interface TrieLeaf {
  readonly key: string
  readonly value: string
}

/**
 * Receives a node of a trie, also one that is embedded in its parent: all are stored.
 * @param path 32 bytes as a string, whose first `depth` nibbles lead to the node
 * @param rlp is overwritten after the call
 */
export type NodeSink = (path: string, depth: number, rlp: Uint8Array) => void

const NO_SINK: NodeSink = () => undefined

/**
 * Returns the root of the trie that has exactly these leaves, in ascending order of their keys. The
 * sink gets each node once, children before their parents.
 * @throws RangeError when the keys are not ascending
 */
export function buildTrie(leaves: Iterable<TrieLeaf>, sink: NodeSink = NO_SINK): Hash {
  const builder = new TrieBuilder(0, sink)
  for (const { key, value } of leaves) builder.add(key, value)
  const root = builder.finish()
  return root === undefined ? EMPTY_TRIE_ROOT : keyBytes(root)
}

interface OpenBranch {
  readonly depth: number
  readonly node: ReturnType<typeof createBranch>
}

/**
 * Builds a trie, or a part below a path of `depth` nibbles, from leaves in ascending order. It
 * holds the branches on the newest leaf's path, since later leaves may belong to them; all nodes
 * left of that path are encoded, hashed and dropped.
 */
export class TrieBuilder {
  readonly #depth: number
  readonly #sink: NodeSink
  /** the branches above the newest leaf, from the root down */
  readonly #open: OpenBranch[] = []
  /** the newest leaf: its place is only known with the next one */
  #key: string | undefined
  #value = ''

  /**
   * @param depth number of nibbles that all keys share; the root of the built part is below them
   */
  constructor(depth: number, sink: NodeSink = NO_SINK) {
    this.#depth = depth
    this.#sink = sink
  }

  /** @throws RangeError when `key` is not above the one before */
  add(key: string, value: string): void {
    if (this.#key !== undefined) {
      if (key <= this.#key) throw new RangeError('the keys of a trie are not ascending')
      const fork = sharedNibbles(this.#key, key)
      const reference = this.#close(this.#key, fork)
      let branch = this.#open.at(-1)
      if (branch === undefined || branch.depth < fork) {
        branch = { depth: fork, node: createBranch() }
        this.#open.push(branch)
      }
      branch.node.children[nibbleAt(this.#key, fork)] = reference
    }
    this.#key = key
    this.#value = value
  }

  /**
   * Returns the reference of the node below the first `depth` nibbles (at depth 0 its hash), as a
   * string; undefined without leaves.
   */
  finish(): string | undefined {
    return this.#key === undefined ? undefined : this.#close(this.#key, this.#depth - 1)
  }

  /**
   * Completes the newest leaf (of `key`) and the branches below depth `fork`, where the next key
   * leaves its path. Returns the reference of the uppermost of these nodes, which belongs in the
   * branch at `fork`.
   */
  #close(key: string, fork: number): string {
    const above = () => Math.max(fork, this.#open.at(-1)?.depth ?? fork)
    let depth = above() + 1
    let reference = this.#complete(createLeaf(key, depth, this.#value), key, depth)
    for (let branch = this.#open.at(-1); branch !== undefined && branch.depth > fork; branch = this.#open.at(-1)) {
      this.#open.pop()
      branch.node.children[nibbleAt(key, branch.depth)] = reference
      reference = this.#complete(branch.node, key, branch.depth)
      depth = above() + 1
      if (depth < branch.depth) {
        const extension = createExtension(segmentOf(key, depth, branch.depth), reference)
        reference = this.#complete(extension, key, depth)
      }
    }
    return reference
  }

  #complete(node: TrieNode, path: string, depth: number): string {
    const { bytes, length } = writeNode(node)
    const reference = depth > 0 ? writtenReference() : writtenHash()
    this.#sink(path, depth, bytes.subarray(0, length))
    return reference
  }
}

/** Returns the number of leading nibbles that two different keys have in common. */
function sharedNibbles(a: string, b: string): number {
  let at = 0
  while (a.charCodeAt(at) === b.charCodeAt(at)) at++
  return at * 2 + (a.charCodeAt(at) >> 4 === b.charCodeAt(at) >> 4 ? 1 : 0)
}
