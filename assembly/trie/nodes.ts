// Stored nodes of tries that are cached in memory: the RLP of each by its database key, in a hash
// table. A node that was looked up since it was added is passed over once when nodes are dropped
// ("second chance"). Addresses of nodes stay valid until nodes are added under keys that are there
// already, removed or dropped, which no walk over a trie does.
import { fail, readNode } from './host'
import { FAILURE_NODE } from './trieLayout'

/** The next node of the same bucket. */
const NEXT: usize = 0
/** The neighbours in the order of age; that of the first and last is {@link ends}. */
const NEWER: usize = 4
const OLDER: usize = 8
const HASH: usize = 12
/** Which trie's, see {@link useTrie}. */
const OWNER: usize = 16
const KEY_LENGTH: usize = 20
const RLP_LENGTH: usize = 24
const IS_USED: usize = 28
/** Address of the node's hash while an update runs; 0: it is embedded in its parent. */
const HASH_AT: usize = 32
const HEADER: i32 = 40

/** Longest key, and zeros behind it. */
const KEY_ROOM: usize = 64
/** The key of the next look-up, with zeros behind it. */
export const key = memory.data(64, 16)
export let keyLength: u32 = 0

const ends = memory.data(HEADER, 16)
store<u32>(ends, u32(ends), NEWER)
store<u32>(ends, u32(ends), OLDER)

const FEWEST_BUCKETS: u32 = 1024
let bucketCount: u32 = FEWEST_BUCKETS
let buckets: usize = heap.alloc(usize(FEWEST_BUCKETS) << 2)
memory.fill(buckets, 0, usize(FEWEST_BUCKETS) << 2)

let count: u32 = 0
let bytes: u32 = 0
let owner: u32 = 0
/** Fraction of the golden ratio: a factor that mixes well. */
const MIX: u64 = 0x9e3779b97f4a7c15
/**
 * An odd number that is unknown to an attacker who chooses paths: each trie has its own, and its
 * nodes store the hashes that were made with it.
 */
let secret: u64 = MIX

/** Selects the trie whose nodes are read, added and removed from now on. A trie's seed is always the same. */
export function useTrie(id: u32, seed: u64): void {
  owner = id
  secret = (seed << 1) ^ MIX
}

/** Makes the database key of the node at the first `depth` nibbles of `path` the one of the next look-up: as `writeNodeKey` of src/state. */
export function setKey(ownerKey: usize, ownerLength: u32, path: usize, depth: u32): void {
  v128.store(key, i64x2.splat(0))
  v128.store(key, i64x2.splat(0), 16)
  v128.store(key, i64x2.splat(0), 32)
  v128.store(key, i64x2.splat(0), 48)
  store<u8>(key, 7)
  memory.copy(key + 1, ownerKey, ownerLength)
  let at = key + 1 + ownerLength
  store<u8>(at++, u8(depth))
  const pathBytes = (depth + 1) >>> 1
  for (let i: u32 = 0; i < pathBytes; i++) store<u8>(at + i, load<u8>(path + i))
  at += pathBytes
  if (depth & 1) store<u8>(at - 1, load<u8>(at - 1) & 0xf0)
  keyLength = u32(at - key)
}

/** Makes a copy of a key the one of the next look-up. */
export function copyKey(from: usize, length: u32): void {
  memory.fill(key, 0, KEY_ROOM)
  memory.copy(key, from, length)
  keyLength = length
}

function hashOfKey(): u32 {
  let hash = (u64(owner) ^ (u64(keyLength) << 32)) * secret
  for (let at: usize = 0; at < usize(keyLength); at += 8) {
    hash = (hash ^ load<u64>(key + at)) * secret
    hash ^= hash >>> 29
  }
  return u32(hash >>> 32)
}

// @ts-ignore: decorator
@inline
function hasKey(node: usize): bool {
  if (load<u32>(node, KEY_LENGTH) !== keyLength || load<u32>(node, OWNER) !== owner) return false
  for (let at: usize = 0; at < usize(keyLength); at += 8) {
    if (load<u64>(node + usize(HEADER) + at) !== load<u64>(key + at)) return false
  }
  return true
}

// @ts-ignore: decorator
@inline
function bucketOf(hash: u32): usize {
  return buckets + (usize(hash & (bucketCount - 1)) << 2)
}

/** Returns the node of the key, if it is in memory; otherwise 0. */
export function findNode(): usize {
  const hash = hashOfKey()
  let node = usize(load<u32>(bucketOf(hash)))
  while (node !== 0) {
    if (load<u32>(node, HASH) === hash && hasKey(node)) {
      store<u32>(node, 1, IS_USED)
      return node
    }
    node = usize(load<u32>(node, NEXT))
  }
  return 0
}

/** Returns the node of the key, from memory or from the host; 0 when it does not exist. */
export function getNode(): usize {
  const known = findNode()
  if (known !== 0) return known
  const length = readNode(key, keyLength)
  return length === 0 ? 0 : addNode(nodeInput, length)
}

let nodeInput: usize = heap.alloc(1024)
let nodeInputLength: u32 = 1024

/** Reserves memory into which the host writes a node that it reads. */
export function reserveNode(length: u32): usize {
  if (length > nodeInputLength) {
    nodeInput = heap.realloc(nodeInput, length)
    nodeInputLength = length
  }
  return nodeInput
}

// @ts-ignore: decorator
@inline
function padded(length: u32): u32 {
  return (length + 7) & ~7
}

// @ts-ignore: decorator
@inline
function sizeOf(node: usize): u32 {
  return u32(HEADER) + padded(load<u32>(node, KEY_LENGTH)) + padded(load<u32>(node, RLP_LENGTH))
}

// @ts-ignore: decorator
@inline
export function rlpOf(node: usize): usize {
  return node + usize(HEADER) + padded(load<u32>(node, KEY_LENGTH))
}

// @ts-ignore: decorator
@inline
export function rlpLengthOf(node: usize): u32 {
  return load<u32>(node, RLP_LENGTH)
}

/** Address of the node's hash in its parent, as {@link setHashAt} was told last. */
// @ts-ignore: decorator
@inline
export function hashAtOf(node: usize): usize {
  return usize(load<u32>(node, HASH_AT))
}

// @ts-ignore: decorator
@inline
export function setHashAt(node: usize, at: usize): void {
  store<u32>(node, u32(at), HASH_AT)
}

/** Adds a node under the key, which must not be in memory. */
export function addNode(rlp: usize, length: u32): usize {
  if (length === 0) fail(FAILURE_NODE, 0)
  if (count >= bucketCount) growTable()
  const hash = hashOfKey()
  const size = u32(HEADER) + padded(keyLength) + padded(length)
  const node = heap.alloc(usize(size))
  const bucket = bucketOf(hash)
  store<u32>(node, load<u32>(bucket), NEXT)
  store<u32>(bucket, u32(node))
  store<u32>(node, hash, HASH)
  store<u32>(node, owner, OWNER)
  store<u32>(node, keyLength, KEY_LENGTH)
  store<u32>(node, length, RLP_LENGTH)
  store<u32>(node, 0, IS_USED)
  store<u32>(node, 0, HASH_AT)
  memory.copy(node + usize(HEADER), key, padded(keyLength))
  memory.copy(rlpOf(node), rlp, length)
  link(node)
  count++
  bytes += size
  return node
}

/** Makes `rlp` the node of the key. */
export function replaceNode(rlp: usize, length: u32): void {
  const node = findNode()
  if (node !== 0 && padded(load<u32>(node, RLP_LENGTH)) === padded(length)) {
    store<u32>(node, length, RLP_LENGTH)
    memory.copy(rlpOf(node), rlp, length)
    return
  }
  if (node !== 0) drop(node)
  addNode(rlp, length)
}

/** Forgets the node of the key. */
export function removeNode(): void {
  const node = findNode()
  if (node !== 0) drop(node)
}

/** Drops nodes that were not used for longest, until the others take at most `limit` bytes. */
export function dropNodes(limit: u32): void {
  while (bytes > limit) {
    const oldest = usize(load<u32>(ends, NEWER))
    if (load<u32>(oldest, IS_USED) === 0) {
      drop(oldest)
    } else {
      store<u32>(oldest, 0, IS_USED)
      unlink(oldest)
      link(oldest)
    }
  }
}

/** Puts a node at the newest end. */
function link(node: usize): void {
  const newest = usize(load<u32>(ends, OLDER))
  store<u32>(node, u32(newest), OLDER)
  store<u32>(node, u32(ends), NEWER)
  store<u32>(newest, u32(node), NEWER)
  store<u32>(ends, u32(node), OLDER)
}

function unlink(node: usize): void {
  const newer = load<u32>(node, NEWER)
  const older = load<u32>(node, OLDER)
  store<u32>(usize(newer), older, OLDER)
  store<u32>(usize(older), newer, NEWER)
}

function drop(node: usize): void {
  unlink(node)
  let at = bucketOf(load<u32>(node, HASH)) - NEXT
  while (usize(load<u32>(at, NEXT)) !== node) at = usize(load<u32>(at, NEXT))
  store<u32>(at, load<u32>(node, NEXT), NEXT)
  count--
  bytes -= sizeOf(node)
  heap.free(node)
}

function growTable(): void {
  buckets = heap.realloc(buckets, usize(bucketCount) << 3)
  bucketCount <<= 1
  memory.fill(buckets, 0, usize(bucketCount) << 2)
  for (let node = usize(load<u32>(ends, NEWER)); node !== ends; node = usize(load<u32>(node, NEWER))) {
    const bucket = bucketOf(load<u32>(node, HASH))
    store<u32>(node, load<u32>(bucket), NEXT)
    store<u32>(bucket, u32(node))
  }
}
