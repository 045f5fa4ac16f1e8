import { createHash } from 'node:crypto'
import { EMPTY_BYTES, equalBytes } from '../../primitives/bytes.ts'
import { type Hash, sha256 } from '../../primitives/hash.ts'

/** RFC 6962 section 2.1: leaves and inner nodes are hashed under different prefixes. */
const LEAF_PREFIX = Uint8Array.of(0)
const INNER_PREFIX = Uint8Array.of(1)

/** From about this size on OpenSSL is faster than the WebAssembly hash. */
const LARGE_LEAF = 1024

/**
 * Reused memory for the input of a hash, prefix first; the hash function copies it. A block of 10,000 transactions needs 20,000
 * hashes.
 */
const leafInput = new Uint8Array(LARGE_LEAF)
leafInput.set(LEAF_PREFIX)
const innerInput = new Uint8Array(65)
innerInput.set(INNER_PREFIX)

/** CometBFT's bound on a proof's depth. */
const MAX_AUNTS = 100

/** Proof that a leaf is at `index` of `total`. */
export interface MerkleProof {
  readonly total: number
  readonly index: number
  readonly leafHash: Uint8Array
  /** siblings from the leaf up to the root's child */
  readonly aunts: readonly Uint8Array[]
}

function hashLeaf(leaf: Uint8Array): Hash {
  if (leaf.length >= LARGE_LEAF) return new Uint8Array(createHash('sha256').update(LEAF_PREFIX).update(leaf).digest())
  leafInput.set(leaf, 1)
  return sha256(leafInput.subarray(0, 1 + leaf.length))
}

/** Returns the hash of the inner node over two 32-byte hashes. */
function hashInner(left: Uint8Array, right: Uint8Array): Hash {
  innerInput.set(left, 1)
  innerInput.set(right, 33)
  return sha256(innerInput)
}

/**
 * Returns the largest power of two that is smaller than `n` (n ≥ 2): the number of leaves in the
 * left subtree.
 */
function splitPoint(n: number): number {
  return 2 ** (31 - Math.clz32(n - 1))
}

/** The last hash of a level and the two arrays that were hashed. */
interface LastInner {
  left: Uint8Array | undefined
  right: Uint8Array | undefined
  hash: Uint8Array
}

/**
 * Many leaves may be the same array (results of a block of transfers): then most nodes of a level are equal and need only one hash.
 */
function rootOf(hashes: readonly Uint8Array[], from: number, to: number, lasts: LastInner[]): Uint8Array {
  if (to - from === 1) return hashes[from]!
  const size = splitPoint(to - from)
  const left = rootOf(hashes, from, from + size, lasts)
  const right = rootOf(hashes, from + size, to, lasts)
  const level = Math.clz32(size)
  lasts[level] ??= { left: undefined, right: undefined, hash: left }
  const last = lasts[level]
  if (last.left !== left || last.right !== right) lasts[level] = { left, right, hash: hashInner(left, right) }
  return lasts[level].hash
}

/** Hashes the leaves, with a cache: the same leaf array yields the same hash array. */
function hashLeaves(leaves: readonly Uint8Array[]): Uint8Array[] {
  const hashes: Uint8Array[] = []
  for (let i = 0; i < leaves.length; i++) {
    hashes.push(i > 0 && leaves[i] === leaves[i - 1] ? hashes[i - 1]! : hashLeaf(leaves[i]!))
  }
  return hashes
}

/**
 * Returns the RFC 6962 root of `leaves`; sha256 of no bytes without leaves (CometBFT
 * crypto/merkle).
 */
export function merkleRoot(leaves: readonly Uint8Array[]): Hash {
  if (leaves.length === 0) return sha256(EMPTY_BYTES)
  return rootOf(hashLeaves(leaves), 0, leaves.length, [])
}

/** Returns the root with a proof for each leaf. */
export function merkleProofs(leaves: readonly Uint8Array[]): { root: Hash; proofs: MerkleProof[] } {
  if (leaves.length === 0) return { root: sha256(EMPTY_BYTES), proofs: [] }
  const hashes = leaves.map(hashLeaf)
  const aunts: Uint8Array[][] = hashes.map(() => [])
  const root = collect(hashes, 0, hashes.length, aunts)
  const proofs = hashes.map((leafHash, index) => ({ total: hashes.length, index, leafHash, aunts: aunts[index]! }))
  return { root, proofs }
}

/**
 * Returns the root of hashes[from, to); each leaf below gets its sibling at this level appended.
 */
function collect(hashes: readonly Uint8Array[], from: number, to: number, aunts: Uint8Array[][]): Uint8Array {
  if (to - from === 1) return hashes[from]!
  const middle = from + splitPoint(to - from)
  const left = collect(hashes, from, middle, aunts)
  const right = collect(hashes, middle, to, aunts)
  for (let i = from; i < to; i++) aunts[i]!.push(i < middle ? right : left)
  return hashInner(left, right)
}

/** Whether `proof` shows that `leaf` is under `root` at the proof's index. */
export function verifyMerkleProof(root: Uint8Array, leaf: Uint8Array, proof: MerkleProof): boolean {
  const { total, index, aunts } = proof
  if (!(index >= 0 && index < total) || aunts.length > MAX_AUNTS) return false
  if (aunts.some((aunt) => aunt.length !== 32)) return false
  const leafHash = hashLeaf(leaf)
  if (!equalBytes(leafHash, proof.leafHash)) return false
  const computed = climb(leafHash, index, total, aunts, aunts.length)
  return computed !== undefined && equalBytes(computed, root)
}

/**
 * Returns the root from a leaf and the first `count` aunts; undefined when their number does not
 * fit the tree.
 */
function climb(
  leafHash: Uint8Array,
  index: number,
  total: number,
  aunts: readonly Uint8Array[],
  count: number,
): Uint8Array | undefined {
  if (total === 1) return count === 0 ? leafHash : undefined
  if (count === 0) return undefined
  const aunt = aunts[count - 1]!
  const left = splitPoint(total)
  if (index < left) {
    const hash = climb(leafHash, index, left, aunts, count - 1)
    return hash && hashInner(hash, aunt)
  }
  const hash = climb(leafHash, index - left, total - left, aunts, count - 1)
  return hash && hashInner(aunt, hash)
}
