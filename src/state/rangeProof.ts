import { bytesKey, bytesToHex, keyBytes } from '../primitives/bytes.ts'
import { EMPTY_TRIE_ROOT, type Hash, keccak256 } from '../primitives/hash.ts'
import { damagedContents } from '../storage/damage.ts'
import { type NodeSink, TrieBuilder, type TrieLeaf } from './trieBuilder.ts'
import { decodeNode, encodeNode, joinPath, nibbleAt, type TrieNode, type TrieSource, trieNodeKey } from './trieNode.ts'

/*
 * Proofs that the given leaves are all leaves of a trie between two bounds. Relative to the range,
 * a node is one of three:
 *
 * - outside: no key below its path is in the range. The proof says nothing about it;
 * - inside: all keys below its path are in the range. The leaves determine it, so the proof does not have it;
 * - on the edge: some keys are in the range and others need not be. The proof has it, unless it is
 *   embedded in its parent.
 *
 * The proof is the list of the nodes on the edge in the order in which a walk from the root reaches
 * them, lower paths first. Prover and verifier take the same walk, so a range has one proof. The
 * verifier compares each node on the edge with the reference in its parent (the root node with the
 * trusted root), and each node inside with the node that the leaves make up. So it never has to
 * rebuild the parts of the trie outside, and it knows where a proof is wrong.
 */

/** The leaves or the proof of a range do not match the trie. */
export class RangeProofError extends Error {
  override readonly name = 'RangeProofError'
}

export interface RangeClaim {
  /** root of the trie, which is known to be that of a real one */
  readonly root: Hash
  /** lowest and highest key of the range; both belong to it and need not be keys of the trie */
  readonly first: Hash
  readonly last: Hash
  /** said to be all leaves of the trie in the range, ascending */
  readonly leaves: readonly TrieLeaf[]
  /** see {@link proveRange} */
  readonly proof: readonly Uint8Array[]
}

const LOWEST = '\0'.repeat(32)
const HIGHEST = '\xff'.repeat(32)
const NIBBLES = 64
const EMPTY_ROOT = bytesKey(EMPTY_TRIE_ROOT)

/**
 * Returns the nodes of a trie that prove which leaves it has from `first` to `last` (both included,
 * neither need be there): those on the paths to the bounds, root first, then by path, without those
 * that are embedded in their parents. None for the range of all keys, and for an empty trie.
 * @throws DatabaseError when a node is missing
 */
export function proveRange(source: TrieSource, owner: Uint8Array, first: Hash, last: Hash): Uint8Array[] {
  const bounds = new Bounds(bytesKey(first), bytesKey(last))
  const proof: Uint8Array[] = []
  const visit = (path: string, depth: number): void => {
    if (bounds.place(path, depth) !== 'edge') return
    const rlp = source.get(trieNodeKey(owner, path, depth))?.slice()
    if (rlp === undefined && depth > 0) throw damagedContents('a trie node is missing')
    if (rlp === undefined) return
    if (depth === 0 || rlp.length >= 32) proof.push(rlp)
    forEachChild(decodeNode(rlp, path, depth), path, depth, (_, childPath, childDepth) => visit(childPath, childDepth))
  }
  visit(LOWEST, 0)
  return proof
}

/**
 * Accepts `leaves` only when they are all leaves of the trie from `first` to `last`. The sink gets
 * every node that they and the proof determine: the nodes inside the range, and those on its edge.
 * So ranges that together cover all keys yield all nodes of the trie. The sink is called before the
 * whole range is verified: its nodes are valid only when this function returns.
 * @throws RangeProofError
 */
export function verifyRange(claim: RangeClaim, sink?: NodeSink): void {
  new RangeVerifier(claim, sink).run()
}

/**
 * Returns the value of `key` in the trie, as a string, which its path from the root proves
 * (`proveRange` from `key` to `key`); undefined when that proves that the trie has no such key. Not
 * for a key that shares all but its last nibble with another one: no two hashes do.
 * @throws RangeProofError
 */
export function verifyPath(root: Hash, key: Hash, proof: readonly Uint8Array[]): string | undefined {
  const nodes = new ProofNodes(proof)
  const name = bytesKey(key)
  let value: string | undefined
  const visit = (reference: string, path: string, depth: number): void => {
    if (!startsWith(name, path, depth)) return
    const { node } = nodes.open(reference, path, depth)
    if (node.kind === 'leaf' && node.key === name) ({ value } = node)
    forEachChild(node, path, depth, visit)
  }
  if (bytesKey(root) !== EMPTY_ROOT) visit(bytesKey(root), LOWEST, 0)
  nodes.finish()
  return value
}

class RangeVerifier {
  readonly #root: string
  readonly #leaves: readonly TrieLeaf[]
  readonly #bounds: Bounds
  readonly #nodes: ProofNodes
  readonly #sink: NodeSink | undefined
  /** index of the first leaf that the walk has not reached */
  #next = 0

  constructor({ root, first, last, leaves, proof }: RangeClaim, sink: NodeSink | undefined) {
    this.#root = bytesKey(root)
    this.#leaves = leaves
    this.#bounds = new Bounds(bytesKey(first), bytesKey(last))
    this.#nodes = new ProofNodes(proof)
    this.#sink = sink
  }

  run(): void {
    this.#checkOrder()
    if (this.#root !== EMPTY_ROOT) this.#visit(this.#root, LOWEST, 0)
    this.#passUpTo(undefined)
    this.#nodes.finish()
  }

  #checkOrder(): void {
    const { first, last } = this.#bounds
    let previous: string | undefined
    for (const { key } of this.#leaves) {
      if (key.length !== 32) throw new RangeProofError(`a key has ${key.length} bytes, not 32`)
      if (key < first || key > last) throw new RangeProofError(`the leaf ${text(key)} is outside of the range`)
      if (previous !== undefined && key <= previous) {
        throw new RangeProofError(`the leaf ${text(key)} does not come after the one before it`)
      }
      previous = key
    }
  }

  #visit(reference: string, path: string, depth: number): void {
    const place = this.#bounds.place(path, depth)
    if (place === 'outside') return
    this.#passUpTo(path)
    if (place === 'inside') {
      this.#compare(reference, path, depth)
      return
    }
    const { node, rlp } = this.#nodes.open(reference, path, depth)
    this.#sink?.(path, depth, rlp)
    if (node.kind === 'leaf') this.#compareLeaf(node)
    forEachChild(node, path, depth, (child, childPath, childDepth) => this.#visit(child, childPath, childDepth))
  }

  /**
   * Checks, when the walk reaches `path` (undefined: its end), that no given leaf is before it: the
   * trie has no leaf there.
   */
  #passUpTo(path: string | undefined): void {
    const leaf = this.#leaves[this.#next]
    if (leaf === undefined || (path !== undefined && leaf.key >= path)) return
    throw new RangeProofError(`the trie does not have the leaf ${text(leaf.key)}`)
  }

  /** Checks that all leaves below `path` are given and make up the node with this reference. */
  #compare(reference: string, path: string, depth: number): void {
    const builder = new TrieBuilder(depth, this.#sink)
    const leaves = this.#leaves
    const end = highestBelow(path, depth)
    for (; this.#next < leaves.length; this.#next++) {
      const { key, value } = leaves[this.#next]!
      if (key > end) break
      builder.add(key, value)
    }
    const built = builder.finish()
    if (built === reference) return
    const place = depth === 0 ? 'of the whole trie' : `below the path ${text(path, depth)}`
    if (built === undefined) throw new RangeProofError(`the leaves ${place} are missing`)
    throw new RangeProofError(`the leaves ${place} are not those of the trie`)
  }

  /** Checks that a leaf on the edge of the range is given if its key is in the range. */
  #compareLeaf({ key, value }: TrieLeaf): void {
    const { first, last } = this.#bounds
    if (key < first || key > last) return
    this.#passUpTo(key)
    const leaf = this.#leaves[this.#next]
    if (leaf?.key !== key) throw new RangeProofError(`the leaf ${text(key)} is missing`)
    if (leaf.value !== value) throw new RangeProofError(`the leaf ${text(key)} has another value in the trie`)
    this.#next++
  }
}

/** A range of keys. */
class Bounds {
  readonly first: string
  readonly last: string

  /** @throws RangeProofError */
  constructor(first: string, last: string) {
    if (first.length !== 32 || last.length !== 32) throw new RangeProofError('the bounds of a range are 32 bytes each')
    if (first > last) throw new RangeProofError('a range ends before it begins')
    this.first = first
    this.last = last
  }

  /**
   * Returns where the keys are that begin with the first `depth` nibbles of `path`, whose other
   * nibbles are 0.
   */
  place(path: string, depth: number): 'outside' | 'inside' | 'edge' {
    const end = highestBelow(path, depth)
    if (end < this.first || path > this.last) return 'outside'
    return path >= this.first && end <= this.last ? 'inside' : 'edge'
  }
}

/** Returns the highest key that begins with the first `depth` nibbles of `path`. */
function highestBelow(path: string, depth: number): string {
  const whole = depth >> 1
  if ((depth & 1) === 0) return path.slice(0, whole) + HIGHEST.slice(whole)
  return path.slice(0, whole) + String.fromCharCode(path.charCodeAt(whole) | 15) + HIGHEST.slice(whole + 1)
}

/** The nodes of a proof, which are opened in their order. */
class ProofNodes {
  readonly #proof: readonly Uint8Array[]
  #next = 0

  constructor(proof: readonly Uint8Array[]) {
    this.#proof = proof
  }

  /**
   * Returns the node with this reference at the first `depth` nibbles of `path`: the next one of
   * the proof, or the embedded one.
   * @throws RangeProofError when the proof's next node is another one, or not a trie node
   */
  open(reference: string, path: string, depth: number): { readonly node: TrieNode; readonly rlp: Uint8Array } {
    const rlp = reference.length === 32 ? this.#take(reference, path, depth) : keyBytes(reference)
    return { node: decode(rlp, path, depth), rlp }
  }

  /** @throws RangeProofError when a node was not opened */
  finish(): void {
    const more = this.#proof.length - this.#next
    if (more > 0) throw new RangeProofError(`the proof has ${more} more nodes than the range needs`)
  }

  #take(reference: string, path: string, depth: number): Uint8Array {
    const rlp = this.#proof[this.#next]
    const place = depth === 0 ? 'the root' : `the node at ${text(path, depth)}`
    if (rlp === undefined) throw new RangeProofError(`${place} is missing in the proof`)
    if (bytesKey(keccak256(rlp)) !== reference) {
      throw new RangeProofError(`${place} should be the proof's node ${this.#next}, which has another hash`)
    }
    this.#next++
    return rlp
  }
}

/**
 * @throws RangeProofError when `rlp` is not the exact encoding of a node that can be at this depth
 */
function decode(rlp: Uint8Array, path: string, depth: number): TrieNode {
  let node: TrieNode
  try {
    node = decodeNode(rlp, path, depth)
  } catch (cause) {
    throw new RangeProofError(`no trie node is at ${text(path, depth)}`, { cause })
  }
  if (!canBeAt(node, depth) || bytesKey(encodeNode(node)) !== bytesKey(rlp)) {
    throw new RangeProofError(`the node at ${text(path, depth)} is not one of a trie with keys of 32 bytes`)
  }
  return node
}

function canBeAt(node: TrieNode, depth: number): boolean {
  if (node.kind === 'leaf') return true
  if (node.kind === 'branch') {
    return depth < NIBBLES && node.children.every((child) => child === undefined || isReference(child))
  }
  const { length } = node.segment
  return length > 0 && depth + length < NIBBLES && isReference(node.child)
}

/** A hash, or the RLP list of an embedded node. */
function isReference(child: string): boolean {
  return child.length === 32 || (child.length < 32 && child.charCodeAt(0) >= 0xc0)
}

/**
 * Visits the children of `node`, which was decoded at the first `depth` nibbles of `path`, in
 * ascending order, each with its reference and its path (zeros after its nibbles).
 */
function forEachChild(
  node: TrieNode,
  path: string,
  depth: number,
  visit: (reference: string, childPath: string, childDepth: number) => void,
): void {
  if (node.kind === 'leaf') return
  const visitOne = (reference: string, segment: string): void =>
    visit(reference, joinPath(path, depth, segment), depth + segment.length)
  if (node.kind === 'extension') {
    visitOne(node.child, node.segment)
    return
  }
  for (let nibble = 0; nibble < 16; nibble++) {
    const child = node.children[nibble]
    if (child !== undefined) visitOne(child, String.fromCharCode(nibble))
  }
}

/** Whether `key` begins with the first `depth` nibbles of `path`. */
function startsWith(key: string, path: string, depth: number): boolean {
  for (let i = 0; i < depth; i++) if (nibbleAt(key, i) !== nibbleAt(path, i)) return false
  return true
}

/** Returns the hex digits of a key, or of its first nibbles. */
function text(key: string, nibbles = NIBBLES): string {
  return bytesToHex(keyBytes(key)).slice(0, 2 + nibbles)
}
