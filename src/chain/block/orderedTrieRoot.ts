import { EMPTY_TRIE_ROOT, type Hash, keccak256 } from '../../primitives/hash.ts'
import { headerLength, writeHeader } from '../../primitives/rlp.ts'

/**
 * Returns the root of the Merkle-Patricia trie that holds `values` under rlp(index): the
 * transactions, receipts and withdrawals roots of a block. No key is a prefix of another, so a
 * branch never has a value.
 */
export function orderedTrieRoot(values: readonly Uint8Array[]): Hash {
  if (values.length === 0) return EMPTY_TRIE_ROOT
  return keccak256(encodeNode({ values, order: keyOrder(values.length) }, 0, values.length, 0, 0))
}

interface Leaves {
  readonly values: readonly Uint8Array[]
  /** indexes in the order of their keys */
  readonly order: Uint32Array
}

/** Ordered by rlp(index): 1 to 127, then 0, then 128 and above. */
function keyOrder(count: number): Uint32Array {
  const order = Uint32Array.from({ length: count }, (_, at) => at)
  const before = Math.min(count - 1, 127)
  for (let at = 0; at < before; at++) order[at] = at + 1
  order[before] = 0
  return order
}

/** Bytes of rlp(index). */
function keyLength(index: number): number {
  if (index < 0x80) return 1
  return index < 0x100 ? 2 : index < 0x10000 ? 3 : 4
}

/** Returns a 4-bit digit of rlp(index). */
function digitAt(index: number, at: number): number {
  const length = keyLength(index)
  const byteIndex = at >> 1
  let byte = index === 0 ? 0x80 : index
  if (length > 1) byte = byteIndex === 0 ? 0x80 + length - 1 : (index >> (8 * (length - 1 - byteIndex))) & 0xff
  return (at & 1) === 0 ? byte >> 4 : byte & 15
}

/** Bytes that a header of up to 16 MB and a path of up to 8 digits take. */
const ROOM = 16
/** 16 hashes and an empty value, each with its header. */
const BRANCH_BYTES = 16 * 33 + 1
/** The memory for the node of each level, one at a time; [0, ROOM) is for the header. */
const levels: Uint8Array[] = []

function levelMemory(level: number, length: number): Uint8Array {
  let memory = levels[level]
  if (memory === undefined || memory.length < ROOM + length) {
    memory = new Uint8Array(ROOM + Math.max(length, BRANCH_BYTES))
    levels[level] = memory
  }
  return memory
}

/**
 * Returns the node over the sorted leaves [from, to), whose keys agree in the first `depth` digits:
 * a view on the memory of its level. Its children use the memory of the next level.
 */
function encodeNode(leaves: Leaves, from: number, to: number, depth: number, level: number): Uint8Array {
  const first = leaves.order[from]!
  if (to - from === 1) return encodeLeaf(first, leaves.values[first]!, depth, level)
  const shared = sharedDigits(first, leaves.order[to - 1]!, depth)
  const out = levelMemory(level, BRANCH_BYTES)
  let at = ROOM
  if (shared > depth) {
    at = writePath(out, at, first, depth, shared, false)
    at = writeReference(out, at, encodeNode(leaves, from, to, shared, level + 1))
    return withHeader(out, at)
  }
  let start = from
  for (let digit = 0; digit < 16; digit++) {
    let end = start
    while (end < to && digitAt(leaves.order[end]!, depth) === digit) end++
    if (end === start) out[at++] = 0x80
    else at = writeReference(out, at, encodeNode(leaves, start, end, depth + 1, level + 1))
    start = end
  }
  out[at++] = 0x80
  return withHeader(out, at)
}

function encodeLeaf(index: number, value: Uint8Array, depth: number, level: number): Uint8Array {
  const out = levelMemory(level, ROOM + value.length)
  let at = writePath(out, ROOM, index, depth, keyLength(index) * 2, true)
  if (value.length !== 1 || value[0]! >= 0x80) at = writeHeader(out, at, 0x80, value.length)
  out.set(value, at)
  return withHeader(out, at + value.length)
}

/** Puts the list's header before the bytes from `ROOM` to `end`. */
function withHeader(out: Uint8Array, end: number): Uint8Array {
  const length = end - ROOM
  const start = ROOM - headerLength(length)
  writeHeader(out, start, 0xc0, length)
  return out.subarray(start, end)
}

/** Writes a node inside its parent: its hash, or the node itself when it is shorter than a hash. */
function writeReference(out: Uint8Array, at: number, node: Uint8Array): number {
  if (node.length < 32) {
    out.set(node, at)
    return at + node.length
  }
  out[at] = 0xa0
  out.set(keccak256(node), at + 1)
  return at + 33
}

/**
 * Returns the number of leading digits that two keys share; all sorted leaves share those that the
 * first and last share.
 */
function sharedDigits(a: number, b: number, from: number): number {
  const most = Math.min(keyLength(a), keyLength(b)) * 2
  let length = from
  while (length < most && digitAt(a, length) === digitAt(b, length)) length++
  return length
}

/** Writes the hex-prefix encoding of digits [from, to) of a key (yellow paper, appendix C). */
function writePath(out: Uint8Array, at: number, index: number, from: number, to: number, isLeaf: boolean): number {
  const odd = (to - from) % 2
  const bytes = 1 + ((to - from) >> 1)
  let next = at
  if (bytes > 1) out[next++] = 0x80 + bytes
  out[next++] = (isLeaf ? 0x20 : 0) + (odd === 1 ? 0x10 + digitAt(index, from) : 0)
  for (let i = from + odd; i < to; i += 2) out[next++] = (digitAt(index, i) << 4) | digitAt(index, i + 1)
  return next
}
