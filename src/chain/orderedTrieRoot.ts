import { EMPTY_TRIE_ROOT, type Hash, keccak256 } from '../primitives/hash.ts'
import { encodeRLP, encodeRLPList } from '../primitives/rlp.ts'

const EMPTY_STRING = Uint8Array.of(0x80)

interface Leaf {
  /** 4-bit digits of rlp(index) */
  readonly path: Uint8Array
  readonly value: Uint8Array
}

/**
 * Root of the Merkle-Patricia trie that holds `values` under rlp(index): the transactions, receipts and withdrawals roots
 * of a block. No key is a prefix of another, so that a branch never has a value.
 */
export function orderedTrieRoot(values: readonly Uint8Array[]): Hash {
  const leaves = values.map((value, index) => ({ path: pathOf(encodeRLP(BigInt(index))), value }))
  const [first] = leaves
  if (first === undefined) return EMPTY_TRIE_ROOT
  // rlp(index) sorts 1 to 127, 0, 128 and on
  const sorted = [...leaves.slice(1, 128), first, ...leaves.slice(128)]
  return keccak256(encodeNode(sorted, 0, sorted.length, 0))
}

/** The node over the sorted leaves [from, to), whose paths agree in the first `depth` digits. */
function encodeNode(leaves: readonly Leaf[], from: number, to: number, depth: number): Uint8Array {
  const first = leaves[from]!
  if (to - from === 1) return encodeRLP([compactPath(first.path, depth, first.path.length, true), first.value])
  const shared = sharedDigits(first.path, leaves[to - 1]!.path, depth)
  if (shared > depth) {
    const child = reference(encodeNode(leaves, from, to, shared))
    return encodeRLPList([encodeRLP(compactPath(first.path, depth, shared, false)), child])
  }
  const children: Uint8Array[] = []
  let start = from
  for (let digit = 0; digit < 16; digit++) {
    let end = start
    while (end < to && leaves[end]!.path[depth] === digit) end++
    children.push(end === start ? EMPTY_STRING : reference(encodeNode(leaves, start, end, depth + 1)))
    start = end
  }
  children.push(EMPTY_STRING)
  return encodeRLPList(children)
}

/** A node inside its parent: itself when shorter than a hash. */
function reference(node: Uint8Array): Uint8Array {
  return node.length < 32 ? node : encodeRLP(keccak256(node))
}

/** Number of digits in which two paths agree; in sorted leaves the first and last decide for all between. */
function sharedDigits(a: Uint8Array, b: Uint8Array, from: number): number {
  let length = from
  while (length < a.length && length < b.length && a[length] === b[length]) length++
  return length
}

function pathOf(bytes: Uint8Array): Uint8Array {
  const digits = new Uint8Array(bytes.length * 2)
  for (let i = 0; i < bytes.length; i++) {
    digits[i * 2] = bytes[i]! >> 4
    digits[i * 2 + 1] = bytes[i]! & 0xf
  }
  return digits
}

/** The hex-prefix encoding of digits [from, to) (yellow paper, appendix C). */
function compactPath(path: Uint8Array, from: number, to: number, isLeaf: boolean): Uint8Array {
  const odd = (to - from) % 2
  const out = new Uint8Array(1 + ((to - from) >> 1))
  out[0] = (isLeaf ? 0x20 : 0) + (odd === 1 ? 0x10 + path[from]! : 0)
  for (let at = from + odd, i = 1; at < to; at += 2, i++) out[i] = (path[at]! << 4) | path[at + 1]!
  return out
}
