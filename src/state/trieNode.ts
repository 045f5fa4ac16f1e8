import { keccak256 } from '../primitives/hash.ts'
import { decodeItem, encodeHeader, headerLength, writeString } from './trieRlp.ts'

/**
 * Nodes of a Merkle-Patricia trie (Ethereum yellow paper, appendix D) whose keys are 32 bytes. A node's reference is its
 * keccak256, or the node's RLP itself where that is shorter than 32 bytes. `ref` is undefined while a node is new and its
 * reference is not computed; from then on the node never changes, but for children that are loaded or evicted.
 */
export type TrieNode = LeafNode | ExtensionNode | BranchNode

interface NodeBase {
  ref: Uint8Array | undefined
  /** generation that used the node last, for eviction */
  usedAt: number
  /** of a new node: the stored node at its path that it takes the place of */
  replaces: TrieNode | undefined
}

export interface LeafNode extends NodeBase {
  readonly kind: 'leaf'
  /** the whole key, 32 bytes */
  readonly key: Uint8Array
  /** nibbles of the key above this node */
  readonly depth: number
  readonly value: Uint8Array
}

export interface ExtensionNode extends NodeBase {
  readonly kind: 'extension'
  /** one nibble a byte */
  readonly segment: Uint8Array
  /** undefined when not in memory; then `childRef` stands for it */
  child: TrieNode | undefined
  childRef: Uint8Array | undefined
}

export interface BranchNode extends NodeBase {
  readonly kind: 'branch'
  /** those in memory */
  readonly children: (TrieNode | undefined)[]
  /** 16 places of 32 bytes for the children's references, then 16 bytes with their lengths */
  readonly refs: Uint8Array
}

const LENGTHS = 16 * 32
const REFS_BYTES = LENGTHS + 16
/** Length of a reference that is not computed yet. */
const UNKNOWN = 0xff

export function nibbleAt(key: Uint8Array, index: number): number {
  const byte = key[index >> 1]!
  return (index & 1) === 0 ? byte >> 4 : byte & 15
}

export function createLeaf(key: Uint8Array, depth: number, value: Uint8Array, usedAt: number): LeafNode {
  return { kind: 'leaf', key, depth, value, ref: undefined, usedAt, replaces: undefined }
}

export function createExtension(
  segment: Uint8Array,
  child: TrieNode | undefined,
  childRef: Uint8Array | undefined,
  usedAt: number,
): ExtensionNode {
  return { kind: 'extension', segment, child, childRef, ref: undefined, usedAt, replaces: undefined }
}

export function createBranch(usedAt: number): BranchNode {
  const children: (TrieNode | undefined)[] = new Array(16).fill(undefined)
  return { kind: 'branch', children, refs: new Uint8Array(REFS_BYTES), ref: undefined, usedAt, replaces: undefined }
}

/** A new branch with the children of `branch`. */
export function copyBranch(branch: BranchNode, usedAt: number): BranchNode {
  return {
    kind: 'branch',
    children: branch.children.slice(),
    refs: branch.refs.slice(),
    ref: undefined,
    usedAt,
    replaces: undefined,
  }
}

export function hasChild(branch: BranchNode, nibble: number): boolean {
  return branch.refs[LENGTHS + nibble] !== 0
}

/** Reference of a child; undefined when there is no such child or its reference is not computed. */
export function childRef(branch: BranchNode, nibble: number): Uint8Array | undefined {
  const length = branch.refs[LENGTHS + nibble]!
  if (length === 0 || length === UNKNOWN) return undefined
  return branch.refs.slice(nibble * 32, nibble * 32 + length)
}

export function setChild(branch: BranchNode, nibble: number, child: TrieNode | undefined): void {
  branch.children[nibble] = child
  if (child === undefined) branch.refs[LENGTHS + nibble] = 0
  else setChildRef(branch, nibble, child.ref)
}

export function setChildRef(branch: BranchNode, nibble: number, ref: Uint8Array | undefined): void {
  branch.refs[LENGTHS + nibble] = ref === undefined ? UNKNOWN : ref.length
  if (ref !== undefined) branch.refs.set(ref, nibble * 32)
}

/** Bit i is set when child i exists. */
export function childMask(branch: BranchNode): number {
  let mask = 0
  for (let i = 0; i < 16; i++) if (hasChild(branch, i)) mask |= 1 << i
  return mask
}

/** Gives memory for `length` bytes, all of which are written. */
export type Allocate = (length: number) => Uint8Array

const allocateNew: Allocate = (length) => new Uint8Array(length)

/** RLP of a node whose children's references are known. */
export function encodeNode(node: TrieNode, allocate: Allocate = allocateNew): Uint8Array {
  if (node.kind === 'branch') return encodeBranch(node, allocate)
  if (node.kind === 'leaf') return encodeLeaf(node, allocate)
  return encodeExtension(node, allocate)
}

/** Reference of a node with this RLP. */
export function referenceOf(rlp: Uint8Array): Uint8Array {
  return rlp.length < 32 ? rlp : keccak256(rlp)
}

/**
 * The node of `rlp` at the first `depth` nibbles of `path`.
 * @throws Error when it is not a trie node
 */
export function decodeNode(
  rlp: Uint8Array,
  path: Uint8Array,
  depth: number,
  ref: Uint8Array | undefined,
  usedAt: number,
): TrieNode {
  const items = decodeItems(rlp)
  if (items.length === 17) {
    const branch = createBranch(usedAt)
    for (let i = 0; i < 16; i++) if (items[i]!.bytes.length > 0) setChildRef(branch, i, items[i]!.bytes)
    branch.ref = ref
    return branch
  }
  const [first, second] = items
  if (items.length !== 2 || first === undefined || second === undefined || first.bytes.length === 0) {
    throw new Error('not a trie node')
  }
  const flags = first.bytes[0]! >> 4
  const odd = flags & 1
  const length = (first.bytes.length - 1) * 2 + odd
  const segment = new Uint8Array(length)
  for (let i = 0; i < length; i++) segment[i] = nibbleAt(first.bytes, 2 - odd + i)
  if (flags < 2) return { ...createExtension(segment, undefined, second.bytes, usedAt), ref }
  if (depth + length !== 64) throw new Error('a leaf ends elsewhere than at 64 nibbles')
  const key = new Uint8Array(32)
  for (let i = 0; i < 64; i++) key[i >> 1]! |= (i < depth ? nibbleAt(path, i) : segment[i - depth]!) << (i & 1 ? 0 : 4)
  return { ...createLeaf(key, depth, second.bytes, usedAt), ref }
}

/** Items of a node's list: contents of strings, whole RLP of lists (embedded nodes). */
function decodeItems(rlp: Uint8Array): { bytes: Uint8Array }[] {
  const list = decodeItem(rlp, 0)
  if (!list.isList || list.end !== rlp.length) throw new Error('not a trie node')
  const items: { bytes: Uint8Array }[] = []
  for (let at = list.start; at < list.end; ) {
    const item = decodeItem(rlp, at)
    items.push({ bytes: rlp.subarray(item.isList ? at : item.start, item.end) })
    at = item.end
  }
  return items
}

function encodeBranch(branch: BranchNode, allocate: Allocate): Uint8Array {
  const { refs } = branch
  let payload = 1
  for (let i = 0; i < 16; i++) {
    const length = refs[LENGTHS + i]!
    if (length === UNKNOWN) throw new Error('the reference of a child is not computed')
    payload += length === 0 ? 1 : length === 32 ? 33 : length
  }
  const out = allocate(headerLength(payload) + payload)
  let at = encodeHeader(out, 0, payload, 0xc0)
  for (let i = 0; i < 16; i++) {
    const length = refs[LENGTHS + i]!
    if (length === 0) {
      out[at++] = 0x80
      continue
    }
    if (length === 32) out[at++] = 0xa0
    // A loop: 16 views for `set` would take longer.
    for (let from = i * 32, end = from + length; from < end; from++) out[at++] = refs[from]!
  }
  out[at] = 0x80
  return out
}

/** The path is hex-prefix encoded (yellow paper, appendix C): the flag is 2 for a leaf, 0 for an extension, plus 1 if odd. */
function encodeLeaf({ key, depth, value }: LeafNode, allocate: Allocate): Uint8Array {
  const pathBytes = 33 - ((depth + 1) >> 1)
  const pathLength = pathBytes === 1 ? 1 : 1 + pathBytes
  const payload = pathLength + stringLength(value)
  const out = allocate(headerLength(payload) + payload)
  let at = encodeHeader(out, 0, payload, 0xc0)
  if (pathBytes > 1) out[at++] = 0x80 + pathBytes
  out[at++] = depth & 1 ? 0x30 | nibbleAt(key, depth) : 0x20
  for (let i = (depth + 1) >> 1; i < 32; i++) out[at++] = key[i]!
  writeString(out, at, value)
  return out
}

function encodeExtension({ segment, childRef: ref }: ExtensionNode, allocate: Allocate): Uint8Array {
  if (ref === undefined) throw new Error('the reference below an extension is not computed')
  const pathBytes = (segment.length >> 1) + 1
  const pathLength = pathBytes === 1 ? 1 : 1 + pathBytes
  const payload = pathLength + (ref.length === 32 ? 33 : ref.length)
  const out = allocate(headerLength(payload) + payload)
  let at = encodeHeader(out, 0, payload, 0xc0)
  if (pathBytes > 1) out[at++] = 0x80 + pathBytes
  const odd = segment.length & 1
  out[at++] = odd ? 0x10 | segment[0]! : 0
  for (let i = odd; i < segment.length; i += 2) out[at++] = (segment[i]! << 4) | segment[i + 1]!
  if (ref.length === 32) out[at++] = 0xa0
  out.set(ref, at)
  return out
}

function stringLength(bytes: Uint8Array): number {
  return bytes.length === 1 && bytes[0]! < 0x80 ? 1 : headerLength(bytes.length) + bytes.length
}
