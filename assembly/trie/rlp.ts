// RLP of trie nodes: reading stored ones, writing new ones. A node's reference is its hash, or the node's RLP itself where that is
// shorter than 32 bytes.
import { FAILURE_NODE } from './trieLayout'
import { keccak256 } from '../keccak/keccak'
import { reverseWord } from '../evm/word'
import { fail } from './host'

const HASH_ITEM: u8 = 0xa0
const NO_ITEM: u8 = 0x80
export const HASH_BYTES: u32 = 32
/** Longest RLP of a branch and of an extension. */
export const BRANCH_ROOM: u32 = 3 + 17 + 16 * HASH_BYTES
export const EXTENSION_ROOM: u32 = 80
/** Longest RLP of a leaf without its value. */
export const LEAF_ROOM: u32 = 48

/** References of a branch's children: address and length of each; 0 for a missing child. */
export const REFERENCES: usize = 16 * 8

// The item that `readItem` has read: where its content begins (for a list, the list itself), its
// length, and where the next item begins.
let itemAt: usize = 0
let itemLength: u32 = 0
let itemEnd: usize = 0
let isList = false

function lengthOf(at: usize, bytes: u32): u32 {
  let length: u32 = 0
  for (let i: u32 = 0; i < bytes; i++) length = (length << 8) | u32(load<u8>(at + i))
  return length
}

function readItem(at: usize): void {
  const first = load<u8>(at)
  isList = first >= 0xc0
  let header: u32 = 1
  let length: u32 = 1
  if (first < 0x80) header = 0
  else if (first <= 0xb7) length = first - 0x80
  else if (first < 0xc0) {
    header = 1 + u32(first - 0xb7)
    length = lengthOf(at + 1, u32(first - 0xb7))
  } else if (first <= 0xf7) length = first - 0xc0
  else {
    header = 1 + u32(first - 0xf7)
    length = lengthOf(at + 1, u32(first - 0xf7))
  }
  itemEnd = at + header + length
  // An embedded node is taken as a whole.
  itemAt = isList ? at : at + header
  itemLength = u32(itemEnd - itemAt)
}

// What `readNode` has read of a leaf or an extension: its part of the path, hex-prefix encoded, and its value or its child's reference.
export let segmentAt: usize = 0
export let segmentLength: u32 = 0
export let contentAt: usize = 0
export let contentLength: u32 = 0

export const IS_BRANCH: u32 = 0
export const IS_EXTENSION: u32 = 1
export const IS_LEAF: u32 = 2

/** Returns the kind of node that the RLP encodes; for a branch, `references` gets those of its children. */
export function readRLP(rlp: usize, length: u32, references: usize): u32 {
  readItem(rlp)
  if (!isList || itemLength !== length) fail(FAILURE_NODE, 0)
  const first = load<u8>(rlp)
  const end = itemEnd
  const start = rlp + (first <= 0xf7 ? 1 : 1 + usize(first - 0xf7))
  readItem(start)
  segmentAt = itemAt
  segmentLength = itemLength
  const second = itemEnd
  readItem(second)
  if (itemEnd === end) {
    if (segmentLength === 0) fail(FAILURE_NODE, 0)
    contentAt = itemAt
    contentLength = itemLength
    return load<u8>(segmentAt) >= 0x20 ? IS_LEAF : IS_EXTENSION
  }
  let at = start
  for (let i: usize = 0; i < REFERENCES; i += 8) {
    const kind = load<u8>(at)
    let from = at + 1
    let size: u32 = 0
    if (kind === HASH_ITEM) size = HASH_BYTES
    else if (kind >= 0xc0 && kind < 0xc0 + 31) {
      from = at
      size = 1 + u32(kind - 0xc0)
    } else if (kind !== NO_ITEM) fail(FAILURE_NODE, 0)
    store<u32>(references + i, u32(from))
    store<u32>(references + i, size, 4)
    at = size === 0 ? at + 1 : from + size
  }
  if (at + 1 !== end) fail(FAILURE_NODE, 0)
  return IS_BRANCH
}

/** Returns which children a branch has: bit i is set when there is child i. */
export function childMask(references: usize): u32 {
  let mask: u32 = 0
  for (let i: u32 = 0; i < 16; i++) if (load<u32>(references + (usize(i) << 3), 4) !== 0) mask |= 1 << i
  return mask
}

// @ts-ignore: decorator
@inline
export function nibbleAt(path: usize, index: u32): u32 {
  const byte = u32(load<u8>(path + (index >>> 1)))
  return index & 1 ? byte & 15 : byte >>> 4
}

// @ts-ignore: decorator
@inline
export function setNibble(path: usize, index: u32, nibble: u32): void {
  const at = path + (index >>> 1)
  const byte = u32(load<u8>(at))
  store<u8>(at, u8(index & 1 ? (byte & 0xf0) | nibble : (byte & 0x0f) | (nibble << 4)))
}

/** Writes the nibbles of the segment that was read behind the first `depth` of `path`, and returns their number. */
export function appendSegment(path: usize, depth: u32): u32 {
  const odd = (u32(load<u8>(segmentAt)) >>> 4) & 1
  const length = ((segmentLength - 1) << 1) + odd
  if (depth + length > 64) fail(FAILURE_NODE, 0)
  if ((depth & 1) === odd) {
    if (odd) setNibble(path, depth, u32(load<u8>(segmentAt)) & 15)
    memory.copy(path + ((depth + 1) >>> 1), segmentAt + 1, segmentLength - 1)
  } else {
    for (let i: u32 = 0; i < length; i++) setNibble(path, depth + i, nibbleAt(segmentAt, 2 - odd + i))
  }
  return length
}

function headerLength(length: u32): u32 {
  return length < 56 ? 1 : length < 0x100 ? 2 : length < 0x10000 ? 3 : length < 0x1000000 ? 4 : 5
}

/** Writes the header of a string (`kind` 0x80) or list (0xc0), and returns the address behind it. */
function writeHeader(at: usize, kind: u32, length: u32): usize {
  const size = headerLength(length)
  if (size === 1) {
    store<u8>(at, u8(kind + length))
  } else {
    store<u8>(at, u8(kind + 55 + size - 1))
    for (let i: u32 = 1; i < size; i++) store<u8>(at + i, u8(length >>> ((size - 1 - i) << 3)))
  }
  return at + size
}

// @ts-ignore: decorator
@inline
function writeReference(at: usize, reference: usize, length: u32): usize {
  if (length === HASH_BYTES) {
    store<u8>(at++, HASH_ITEM)
    v128.store(at, v128.load(reference))
    v128.store(at, v128.load(reference, 16), 16)
  } else {
    memory.copy(at, reference, length)
  }
  return at + length
}

/** Writes the branch with these children, and returns its length. */
export function writeBranch(out: usize, references: usize): u32 {
  let payload: u32 = 17
  for (let i: usize = 0; i < REFERENCES; i += 8) {
    const length = load<u32>(references + i, 4)
    if (length !== 0) payload += length === HASH_BYTES ? HASH_BYTES : length - 1
  }
  let at = writeHeader(out, 0xc0, payload)
  for (let i: usize = 0; i < REFERENCES; i += 8) {
    const length = load<u32>(references + i, 4)
    if (length === 0) store<u8>(at++, NO_ITEM)
    else at = writeReference(at, usize(load<u32>(references + i)), length)
  }
  store<u8>(at++, NO_ITEM)
  return u32(at - out)
}

/**
 * Writes a leaf, and returns its length. The path is hex-prefix encoded (yellow paper, appendix C):
 * the flag is 2 for a leaf, 0 for an extension, plus 1 if odd.
 */
export function writeLeaf(out: usize, path: usize, depth: u32, value: usize, length: u32): u32 {
  const pathBytes = 33 - ((depth + 1) >>> 1)
  const isByte = length === 1 && load<u8>(value) < 0x80
  const payload = pathBytes + (pathBytes === 1 ? 0 : 1) + length + (isByte ? 0 : headerLength(length))
  let at = writeHeader(out, 0xc0, payload)
  if (pathBytes > 1) store<u8>(at++, u8(0x80 + pathBytes))
  store<u8>(at++, u8(depth & 1 ? 0x30 | nibbleAt(path, depth) : 0x20))
  memory.copy(at, path + ((depth + 1) >>> 1), pathBytes - 1)
  at += pathBytes - 1
  if (!isByte) at = writeHeader(at, 0x80, length)
  memory.copy(at, value, length)
  return u32(at - out) + length
}

/** Writes an extension by `count` nibbles of `path` from `depth` on. */
export function writeExtension(out: usize, path: usize, depth: u32, count: u32, reference: usize, length: u32): u32 {
  const pathBytes = (count >>> 1) + 1
  const payload = pathBytes + (pathBytes === 1 ? 0 : 1) + (length === HASH_BYTES ? HASH_BYTES + 1 : length)
  let at = writeHeader(out, 0xc0, payload)
  if (pathBytes > 1) store<u8>(at++, u8(0x80 + pathBytes))
  const odd = count & 1
  store<u8>(at++, u8(odd ? 0x10 | nibbleAt(path, depth) : 0))
  for (let i = odd; i < count; i += 2) {
    store<u8>(at++, u8((nibbleAt(path, depth + i) << 4) | nibbleAt(path, depth + i + 1)))
  }
  return u32(writeReference(at, reference, length) - out)
}

/** Writes keccak-256 as bytes. */
export function hashBytes(data: usize, length: u32, out: usize): void {
  keccak256(data, length, out)
  reverseWord(out, out)
}

/** Writes the reference of a node to `out`, and returns its length. The root's is always its hash. */
export function writeReferenceOf(rlp: usize, length: u32, depth: u32, out: usize): u32 {
  if (length < HASH_BYTES && depth > 0) {
    memory.copy(out, rlp, length)
    return length
  }
  hashBytes(rlp, length, out)
  return HASH_BYTES
}
