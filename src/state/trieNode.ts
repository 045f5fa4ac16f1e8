import type { Address } from '../primitives/address.ts'
import { bytesKey, bytesKeyOf, equalBytes } from '../primitives/bytes.ts'
import { keccak256 } from '../primitives/hash.ts'
import { keccakInput, keccakKeyOfInput } from '../primitives/keccak.ts'
import { headerLength, itemAt, writeHeader } from '../primitives/rlp.ts'
import type { Filled } from '../storage/batch.ts'
import { Column } from '../storage/columns.ts'
import { damagedContents } from '../storage/damage.ts'

/**
 * Nodes of a Merkle-Patricia trie (Ethereum yellow paper, appendix D) whose keys are 32 bytes. A node's reference is its keccak256, or
 * the node's RLP itself where that is shorter than 32 bytes. Keys, values and references are bytes as strings (`bytesKey`). The state's
 * tries are updated in WebAssembly (trieEngine.ts); this is for proofs, and for tries that are built at once.
 */
export type TrieNode = LeafNode | ExtensionNode | BranchNode

interface LeafNode {
  readonly kind: 'leaf'
  /** the whole key, 32 bytes */
  readonly key: string
  /** number of the key's nibbles above this node */
  readonly depth: number
  readonly value: string
}

interface ExtensionNode {
  readonly kind: 'extension'
  /** one nibble per byte */
  readonly segment: string
  /** reference */
  readonly child: string
}

interface BranchNode {
  readonly kind: 'branch'
  /** 16 references */
  readonly children: (string | undefined)[]
}

export function createLeaf(key: string, depth: number, value: string): LeafNode {
  return { kind: 'leaf', key, depth, value }
}

export function createExtension(segment: string, child: string): ExtensionNode {
  return { kind: 'extension', segment, child }
}

export function createBranch(): BranchNode {
  return { kind: 'branch', children: new Array(16).fill(undefined) }
}

/**
 * Returns the RLP of a node whose children's references are known: a view on memory that the next
 * call, and any hash, overwrites.
 */
export function encodeNode(node: TrieNode): Uint8Array {
  const { bytes, length } = writeNode(node)
  return bytes.subarray(0, length)
}

/** As {@link encodeNode}, without a view. */
export function writeNode(node: TrieNode): Filled {
  written.length =
    node.kind === 'branch' ? writeBranch(node) : node.kind === 'leaf' ? writeLeaf(node) : writeExtension(node)
  return written
}

/** Returns the reference of the node that {@link writeNode} has just written. */
export function writtenReference(): string {
  const { bytes, length } = written
  if (length < 32) return bytesKeyOf(bytes, 0, length)
  return writtenHash()
}

/** Returns the hash of the node that {@link writeNode} has just written, as a string. */
export function writtenHash(): string {
  const { bytes, length } = written
  return bytes === keccakInput ? keccakKeyOfInput(length) : bytesKey(keccak256(bytes.subarray(0, length)))
}

/**
 * Returns the node of `rlp` at the first `depth` nibbles of `path` (32 bytes).
 * @throws Error when it is not a trie node
 */
export function decodeNode(rlp: Uint8Array, path: string, depth: number): TrieNode {
  const list = itemAt(rlp, 0)
  if (!list.isList || list.end !== rlp.length) throw new Error('not a trie node')
  const items: string[] = []
  for (let at = list.start; at < list.end; ) {
    const item = itemAt(rlp, at)
    // The content of a string, or the whole RLP of a list (an embedded node).
    items.push(bytesKeyOf(rlp, item.isList ? at : item.start, item.end))
    at = item.end
  }
  if (items.length === 17) {
    const branch = createBranch()
    for (let i = 0; i < 16; i++) if (items[i] !== '') branch.children[i] = items[i]
    return branch
  }
  const [first, second] = items
  if (items.length !== 2 || first === undefined || second === undefined || first === '') {
    throw new Error('not a trie node')
  }
  const flags = first.charCodeAt(0) >> 4
  const odd = flags & 1
  const length = (first.length - 1) * 2 + odd
  const segment = segmentOf(first, 2 - odd, 2 - odd + length)
  if (flags >= 2 && depth + length !== 64) throw new Error('a leaf ends elsewhere than at 64 nibbles')
  return flags < 2 ? createExtension(segment, second) : createLeaf(joinPath(path, depth, segment), depth, second)
}

/** Returns the reference of a node with this RLP. */
export function referenceOf(rlp: Uint8Array): string {
  return bytesKey(rlp.length < 32 ? rlp : keccak256(rlp))
}

export function nibbleAt(key: string, index: number): number {
  const byte = key.charCodeAt(index >> 1)
  return (index & 1) === 0 ? byte >> 4 : byte & 15
}

/** Nibbles [from, to) of a key, one per byte. */
export function segmentOf(key: string, from: number, to: number): string {
  const nibbles = new Uint8Array(to - from)
  for (let i = from; i < to; i++) nibbles[i - from] = nibbleAt(key, i)
  return bytesKey(nibbles)
}

/** Returns a path of 32 bytes: the first `depth` nibbles of `path`, then `segment`, then zeros. */
export function joinPath(path: string, depth: number, segment: string): string {
  const out = new Uint8Array(32)
  const end = depth + segment.length
  for (let i = 0; i < end; i++) {
    out[i >> 1]! |= (i < depth ? nibbleAt(path, i) : segment.charCodeAt(i - depth)) << (i & 1 ? 0 : 4)
  }
  return bytesKey(out)
}

/** How the RLP of a string of 32 bytes begins, and that of one of no bytes. */
const HASH_ITEM = 0xa0
const NO_ITEM = 0x80

/** Where nodes are written, one at a time: all but leaves with very long values where they are hashed. */
const written = { bytes: keccakInput, length: 0 }
let longBytes = new Uint8Array(0)

/** Returns memory for a node of `length` bytes; the caller writes all of them. */
function room(length: number): Uint8Array {
  written.bytes = keccakInput
  if (length > keccakInput.length) {
    if (length > longBytes.length) longBytes = new Uint8Array(length)
    written.bytes = longBytes
  }
  return written.bytes
}

function writeBranch({ children }: BranchNode): number {
  let payload = 17
  for (const child of children) if (child !== undefined) payload += child.length === 32 ? 32 : child.length - 1
  const length = headerLength(payload) + payload
  const out = room(length)
  let at = writeHeader(out, 0, 0xc0, payload)
  for (const child of children) {
    if (child === undefined) out[at++] = NO_ITEM
    else at = writeRef(out, at, child)
  }
  out[at] = NO_ITEM
  return length
}

/** The path is hex-prefix encoded (yellow paper, appendix C): the flag is 2 for a leaf, 0 for an extension, plus 1 if odd. */
function writeLeaf({ key, depth, value }: LeafNode): number {
  const pathBytes = 33 - ((depth + 1) >> 1)
  const pathLength = pathBytes === 1 ? 1 : 1 + pathBytes
  const isByte = value.length === 1 && value.charCodeAt(0) < 0x80
  const payload = pathLength + (isByte ? 1 : headerLength(value.length) + value.length)
  const length = headerLength(payload) + payload
  const out = room(length)
  let at = writeHeader(out, 0, 0xc0, payload)
  if (pathBytes > 1) out[at++] = 0x80 + pathBytes
  out[at++] = depth & 1 ? 0x30 | nibbleAt(key, depth) : 0x20
  for (let i = (depth + 1) >> 1; i < 32; i++) out[at++] = key.charCodeAt(i)
  if (!isByte) at = writeHeader(out, at, 0x80, value.length)
  writeText(out, at, value)
  return length
}

function writeExtension({ segment, child }: ExtensionNode): number {
  const pathBytes = (segment.length >> 1) + 1
  const pathLength = pathBytes === 1 ? 1 : 1 + pathBytes
  const payload = pathLength + (child.length === 32 ? 33 : child.length)
  const length = headerLength(payload) + payload
  const out = room(length)
  let at = writeHeader(out, 0, 0xc0, payload)
  if (pathBytes > 1) out[at++] = 0x80 + pathBytes
  const odd = segment.length & 1
  out[at++] = odd ? 0x10 | segment.charCodeAt(0) : 0
  for (let i = odd; i < segment.length; i += 2) out[at++] = (segment.charCodeAt(i) << 4) | segment.charCodeAt(i + 1)
  writeRef(out, at, child)
  return length
}

/** A hash is a string in its parent's list, an embedded node a list. */
function writeRef(out: Uint8Array, at: number, ref: string): number {
  if (ref.length !== 32) return writeText(out, at, ref)
  out[at] = HASH_ITEM
  return writeText(out, at + 1, ref)
}

function writeText(out: Uint8Array, at: number, text: string): number {
  for (let i = 0; i < text.length; i++) out[at + i] = text.charCodeAt(i)
  return at + text.length
}

/** Reads stored nodes. */
export interface TrieSource {
  /** RLP of the node with this database key; the array of the key is overwritten after the call */
  get(key: Uint8Array): Uint8Array | undefined
}

/** Owner part of trie keys: the account trie, or the storage trie of one account. */
export const ACCOUNT_TRIE: Uint8Array = Uint8Array.of(0)

export function storageTrie(address: Address): Uint8Array {
  const owner = new Uint8Array(21)
  owner[0] = 1
  owner.set(address, 1)
  return owner
}

/** Bytes of the longest node key. */
export const NODE_KEY_BYTES = 2 + 21 + 32

/**
 * Writes the database key of the node of `owner`'s trie at the first `depth` nibbles of `path`, and
 * returns its length: owner ‖ depth ‖ packed nibbles. With the depth in front, siblings are
 * neighbours, and no key is a prefix of another.
 */
export function writeNodeKey(out: Uint8Array, owner: Uint8Array, path: Uint8Array, depth: number): number {
  out[0] = Column.trieNode
  let at = 1
  for (let i = 0; i < owner.length; i++) out[at++] = owner[i]!
  out[at++] = depth
  const bytes = (depth + 1) >> 1
  for (let i = 0; i < bytes; i++) out[at++] = path[i]!
  if (depth & 1) out[at - 1]! &= 0xf0
  return at
}

/**
 * Returns the key that {@link writeNodeKey} writes, in an array of its own; `path` is 32 bytes as a
 * string.
 */
export function trieNodeKey(owner: Uint8Array, path: string, depth: number): Uint8Array {
  const out = new Uint8Array(NODE_KEY_BYTES)
  return out.slice(0, writeNodeKey(out, owner, setPath(new Uint8Array(32), path, depth), depth))
}

/**
 * Writes the bytes of the first `depth` nibbles of a path given as a string. With an odd `depth` the last byte has one nibble more.
 */
export function setPath(out: Uint8Array, path: string, depth: number): Uint8Array {
  for (let i = (depth + 1) >> 1; i-- > 0; ) out[i] = path.charCodeAt(i)
  return out
}

/** A record of a node in the history: its RLP, or for a branch its hash and which children it has. */
export type NodeRecord = { readonly rlp: Uint8Array } | BranchRecord

interface BranchRecord {
  /** bit i is set when child i exists */
  readonly mask: number
  readonly hash: Uint8Array
}

/** How the record of a branch begins. */
const BRANCH = 1

/** Reads a record that an update wrote (assembly/trie/log.ts); undefined for no node. */
export function decodeNodeRecord(record: Uint8Array): NodeRecord | undefined {
  if (record.length === 0) return undefined
  if (record[0] !== BRANCH) return { rlp: record }
  return { mask: (record[1]! << 8) | record[2]!, hash: record.subarray(3) }
}

/**
 * Returns the RLP of a record's branch.
 * @param reference returns the reference of the child at a nibble
 * @throws DatabaseError when the branch does not have its hash
 */
export function rebuildBranch({ mask, hash }: BranchRecord, reference: (nibble: number) => string): Uint8Array {
  const branch = createBranch()
  for (let nibble = 0; nibble < 16; nibble++) {
    if ((mask & (1 << nibble)) !== 0) branch.children[nibble] = reference(nibble)
  }
  const rlp = encodeNode(branch).slice()
  if (!equalBytes(keccak256(rlp), hash)) throw damagedContents('an old trie node does not match its hash')
  return rlp
}

/** Returns the key of a node's history record of block `height`, without the height. */
export function trieHistoryPrefix(nodeKey: Uint8Array): Uint8Array {
  const key = new Uint8Array(nodeKey)
  key[0] = Column.trieHistory
  return key
}
