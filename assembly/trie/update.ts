// Updates of a Merkle-Patricia trie (Ethereum yellow paper, appendix D) whose nodes are stored by path. One walk down from the root visits
// each affected node once. On the way back a branch is written, hashed and logged at once; a leaf or an extension waits (in a slot) until
// the node above it stays a branch, because it is joined with that one if not.
import {
  FAILURE_MISSING,
  FAILURE_NODE,
  FAILURE_PRESENCE,
  FAILURE_STORAGE,
  UPDATE_BYTES,
  UPDATE_EXPECTED,
  UPDATE_INDEX,
  UPDATE_IS_CHECKED,
  UPDATE_KEEPS_STORAGE,
  UPDATE_LENGTH,
  UPDATE_VALUE,
} from './trieLayout'
import { fail } from './host'
import { beginPut, endPut, logDelete, logFormer } from './log'
import { getNode, hashAtOf, rlpLengthOf, rlpOf, setHashAt, setKey } from './nodes'
import {
  appendSegment,
  BRANCH_ROOM,
  childMask,
  contentAt,
  contentLength,
  EXTENSION_ROOM,
  hashBytes,
  HASH_BYTES,
  IS_BRANCH,
  IS_LEAF,
  LEAF_ROOM,
  nibbleAt,
  readRLP,
  REFERENCES,
  setNibble,
  writeBranch,
  writeExtension,
  writeLeaf,
  writeReferenceOf,
} from './rlp'
import { flagsOf } from './updates'

/** Results of an update for a node. */
const NONE: u32 = 0
/** It stays as it is. */
const SAME: u32 = 1
const LEAF: u32 = 2
const EXTENSION: u32 = 3
/** Written and logged already. */
const BRANCH: u32 = 4

// A slot holds a new node.
const KIND: usize = 0
/** Nibbles of an extension. */
const COUNT: usize = 4
/** Of a leaf: address and length. */
const VALUE: usize = 8
const VALUE_LENGTH: usize = 12
/** The stored node at the path of this one; 0: none. */
const FORMER: usize = 16
/** Of the node itself; of an extension that is not written yet, of its child. */
const REFERENCE_LENGTH: usize = 20
const REFERENCE: usize = 24
/** Of a leaf the key; of an extension as many nibbles as lead to its child. */
const PATH: usize = 56
const SLOT: usize = 88

const LEVELS: usize = 66
/** For each depth, a slot for each child of the branch there. */
const slots = memory.data(66 * 16 * 88, 16)
/** For each depth, the references of the children of the branch there. */
const allReferences = memory.data(66 * 128, 16)
/** Of a node that is only looked at. */
const otherReferences = memory.data(128, 16)
const rootSlot = memory.data(88, 16)
const formerRootHash = memory.data(32, 16)
const leafKey = memory.data(32, 16)

/** Keys and values for new leaves: address of the key, of the value and its length. */
const ITEM: usize = 12
let items: usize = heap.alloc(64 * ITEM)
let itemRoom: u32 = 64
let itemCount: u32 = 0

let ownerKey: usize = 0
let ownerLength: u32 = 0
let updates: usize = 0

export const rootHash = memory.data(32, 16)

/** keccak256(rlp("")), the root of a trie without keys. */
const emptyRoot = memory.data(32, 16)
store<u8>(rootHash, 0x80)
hashBytes(rootHash, 1, emptyRoot)

// @ts-ignore: decorator
@inline
function slotAt(depth: u32, nibble: u32): usize {
  return slots + (usize(depth) * 16 + usize(nibble)) * SLOT
}

// @ts-ignore: decorator
@inline
function keyOf(index: u32): usize {
  return updates + usize(index) * UPDATE_BYTES
}

// @ts-ignore: decorator
@inline
function kindOf(slot: usize): u32 {
  return load<u32>(slot, KIND)
}

/**
 * Applies `count` sorted updates to a trie, logs what changes, and writes the new root to {@link rootHash}.
 * @param isWiped the trie is taken for one without keys
 */
export function updateTrie(owner: usize, length: u32, list: usize, count: u32, isWiped: bool): void {
  ownerKey = owner
  ownerLength = length
  updates = list
  const former: usize = isWiped ? 0 : rootNode(owner, length, list)
  store<u32>(rootSlot, SAME, KIND)
  if (count > 0) {
    if (former === 0) insert(rootSlot, 0, count, 0)
    else updateNode(rootSlot, former, 0, count, 0)
  }
  const kind = kindOf(rootSlot)
  if (kind === SAME && former !== 0) {
    memory.copy(rootHash, formerRootHash, 32)
    return
  }
  if (kind === SAME || kind === NONE) {
    memory.copy(rootHash, emptyRoot, 32)
    // The root is not looked for where a trie is wiped, and may be there.
    if (isWiped) {
      setKey(owner, length, list, 0)
      logDelete()
    }
    return
  }
  finish(rootSlot, 0)
  memory.copy(rootHash, rootSlot + REFERENCE, 32)
}

/** Returns the stored root with its hash; 0 when the trie is empty. `path` is any. */
function rootNode(owner: usize, length: u32, path: usize): usize {
  setKey(owner, length, path, 0)
  const root = getNode()
  if (root === 0) return 0
  hashBytes(rlpOf(root), rlpLengthOf(root), formerRootHash)
  setHashAt(root, formerRootHash)
  return root
}

/** Returns the stored node at the first `depth` nibbles of a path, to which a reference leads. */
function childNode(path: usize, depth: u32, reference: usize, length: u32): usize {
  setKey(ownerKey, ownerLength, path, depth)
  const node = getNode()
  if (node === 0) fail(FAILURE_MISSING, 0)
  setHashAt(node, length === HASH_BYTES ? reference : 0)
  return node
}

/** Applies the updates [low, high), at least one, to the stored node at their first `depth` nibbles, which they share. */
function updateNode(out: usize, node: usize, low: u32, high: u32, depth: u32): void {
  const references = allReferences + usize(depth) * REFERENCES
  const kind = readRLP(rlpOf(node), rlpLengthOf(node), references)
  if (kind === IS_BRANCH) {
    updateBranch(out, node, low, high, depth, -1, 0, 0)
  } else if (kind === IS_LEAF) {
    updateLeaf(out, node, low, high, depth)
  } else {
    memory.copy(out + PATH, keyOf(low), 32)
    const count = appendSegment(out + PATH, depth)
    updateExtension(out, node, low, high, depth, count, contentAt, contentLength)
  }
  if (kindOf(out) === NONE) remove(keyOf(low), depth, node)
}

function updateLeaf(out: usize, node: usize, low: u32, high: u32, depth: u32): void {
  const key = leafKey
  memory.copy(key, keyOf(low), 32)
  if (appendSegment(key, depth) + depth !== 64) fail(FAILURE_NODE, 0)
  const value = contentAt
  const length = contentLength
  clearItems(high - low + 1)
  let isKept = true
  let isChanged = false
  for (let i = low; i < high; i++) {
    const update = keyOf(i)
    const order = isKept ? memory.compare(update, key, 32) : -1
    if (order > 0) {
      addItem(key, value, length)
      isKept = false
    }
    if (order === 0) {
      isKept = false
      const next = nextValue(update, value, length)
      const nextLength = load<u32>(update, UPDATE_LENGTH)
      if (nextLength !== 0) addItem(update, next, nextLength)
      if (nextLength !== length || memory.compare(next, value, length) !== 0) isChanged = true
    } else if (addNew(update)) {
      isChanged = true
    }
  }
  if (isKept) addItem(key, value, length)
  if (!isChanged) store<u32>(out, SAME, KIND)
  else if (itemCount === 0) store<u32>(out, NONE, KIND)
  else build(out, 0, itemCount, depth, node)
}

/** Inserts the updates [low, high) where nothing is stored. */
function insert(out: usize, low: u32, high: u32, depth: u32): void {
  clearItems(high - low)
  for (let i = low; i < high; i++) addNew(keyOf(i))
  if (itemCount === 0) store<u32>(out, SAME, KIND)
  else build(out, 0, itemCount, depth, 0)
}

/** Adds the value of a key that did not have one, if it gets one. */
function addNew(update: usize): bool {
  checkPresence(update, false)
  const length = load<u32>(update, UPDATE_LENGTH)
  if (length === 0) return false
  addItem(update, updates + usize(load<u32>(update, UPDATE_VALUE)), length)
  return true
}

/** Returns the new value of a key whose value is `value`; its length is in the update. */
function nextValue(update: usize, value: usize, length: u32): usize {
  checkPresence(update, true)
  const next = updates + usize(load<u32>(update, UPDATE_VALUE))
  if (flagsOf(update) & UPDATE_KEEPS_STORAGE) {
    if (length < 66) fail(FAILURE_NODE, 0)
    // An account's leaf ends with the storage root and the code's hash, each behind a byte.
    const root = value + usize(length) - 65
    const nextLength = load<u32>(update, UPDATE_LENGTH)
    if (nextLength !== 0) memory.copy(next + usize(nextLength) - 65, root, 32)
    else if (memory.compare(root, emptyRoot, 32) !== 0) fail(FAILURE_STORAGE, load<u32>(update, UPDATE_INDEX))
  }
  return next
}

function checkPresence(update: usize, isThere: bool): void {
  const flags = flagsOf(update)
  if (flags & UPDATE_IS_CHECKED && (flags & UPDATE_EXPECTED ? !isThere : isThere)) {
    fail(FAILURE_PRESENCE, load<u32>(update, UPDATE_INDEX))
  }
}

function clearItems(most: u32): void {
  itemCount = 0
  if (most <= itemRoom) return
  items = heap.realloc(items, usize(most) * ITEM)
  itemRoom = most
}

function addItem(key: usize, value: usize, length: u32): void {
  const item = items + usize(itemCount++) * ITEM
  store<u32>(item, u32(key))
  store<u32>(item, u32(value), 4)
  store<u32>(item, length, 8)
}

// @ts-ignore: decorator
@inline
function itemKey(index: u32): usize {
  return usize(load<u32>(items + usize(index) * ITEM))
}

/** Builds a new subtree of the sorted items [low, high), at least one. */
function build(out: usize, low: u32, high: u32, depth: u32, former: usize): void {
  store<u32>(out, u32(former), FORMER)
  const first = itemKey(low)
  memory.copy(out + PATH, first, 32)
  if (high - low === 1) {
    const item = items + usize(low) * ITEM
    setLeaf(out, usize(load<u32>(item, 4)), load<u32>(item, 8))
    return
  }
  const last = itemKey(high - 1)
  let fork = depth
  while (nibbleAt(first, fork) === nibbleAt(last, fork)) fork++
  const references = allReferences + usize(fork) * REFERENCES
  memory.fill(references, 0, REFERENCES)
  for (let from = low; from < high; ) {
    const nibble = nibbleAt(itemKey(from), fork)
    let to = from + 1
    while (to < high && nibbleAt(itemKey(to), fork) === nibble) to++
    const child = slotAt(fork, nibble)
    build(child, from, to, fork + 1, 0)
    finish(child, fork + 1)
    setReference(references, nibble, child)
    from = to
  }
  finishBranch(out, references, first, fork, fork === depth ? former : 0)
  if (fork > depth) setExtension(out, fork - depth)
}

function setLeaf(out: usize, value: usize, length: u32): void {
  store<u32>(out, LEAF, KIND)
  store<u32>(out, u32(value), VALUE)
  store<u32>(out, length, VALUE_LENGTH)
}

/** Makes the slot's branch, whose reference it has, the child of an extension. */
function setExtension(out: usize, count: u32): void {
  store<u32>(out, EXTENSION, KIND)
  store<u32>(out, count, COUNT)
}

// @ts-ignore: decorator
@inline
function setReference(references: usize, nibble: u32, slot: usize): void {
  const at = references + (usize(nibble) << 3)
  store<u32>(at, u32(slot + REFERENCE))
  store<u32>(at, load<u32>(slot, REFERENCE_LENGTH), 4)
}

/** Writes and logs the node of a slot at `depth`, unless that is done. */
function finish(slot: usize, depth: u32): void {
  const kind = kindOf(slot)
  if (kind === BRANCH) return
  const path = slot + PATH
  setKey(ownerKey, ownerLength, path, depth)
  let rlp: usize
  let length: u32
  if (kind === LEAF) {
    const valueLength = load<u32>(slot, VALUE_LENGTH)
    rlp = beginPut(LEAF_ROOM + valueLength)
    length = writeLeaf(rlp, path, depth, usize(load<u32>(slot, VALUE)), valueLength)
  } else {
    rlp = beginPut(EXTENSION_ROOM)
    const count = load<u32>(slot, COUNT)
    length = writeExtension(rlp, path, depth, count, slot + REFERENCE, load<u32>(slot, REFERENCE_LENGTH))
  }
  complete(slot, rlp, length, depth, usize(load<u32>(slot, FORMER)))
}

/** Writes and logs a branch at the first `depth` nibbles of `path`, where `former` is stored. */
function finishBranch(slot: usize, references: usize, path: usize, depth: u32, former: usize): void {
  setKey(ownerKey, ownerLength, path, depth)
  const rlp = beginPut(BRANCH_ROOM)
  complete(slot, rlp, writeBranch(rlp, references), depth, former)
  store<u32>(slot, BRANCH, KIND)
}

function complete(slot: usize, rlp: usize, length: u32, depth: u32, former: usize): void {
  store<u32>(slot, writeReferenceOf(rlp, length, depth, slot + REFERENCE), REFERENCE_LENGTH)
  endPut(length)
  logFormerNode(former)
}

/** Removes the node at the first `depth` nibbles of a path. */
function remove(path: usize, depth: u32, former: usize): void {
  if (former === 0) return
  setKey(ownerKey, ownerLength, path, depth)
  logDelete()
  logFormerNode(former)
}

/** Adds to the history what was stored under the key: `former`, or nothing. */
function logFormerNode(former: usize): void {
  if (former === 0) {
    logFormer(0, 0, 0, 0)
    return
  }
  const hash = hashAtOf(former)
  const rlp = rlpOf(former)
  const length = rlpLengthOf(former)
  if (hash !== 0 && readRLP(rlp, length, otherReferences) === IS_BRANCH) {
    logFormer(childMask(otherReferences), hash, rlp, length)
  } else {
    logFormer(0, 0, rlp, length)
  }
}

function matches(path: usize, key: usize, depth: u32, count: u32): bool {
  for (let i: u32 = 0; i < count; i++) if (nibbleAt(path, depth + i) !== nibbleAt(key, depth + i)) return false
  return true
}

/** Applies updates to an extension by `count` nibbles of the slot's path; `former` is 0 for a part of a stored one. */
function updateExtension(
  out: usize,
  former: usize,
  low: u32,
  high: u32,
  depth: u32,
  count: u32,
  reference: usize,
  length: u32,
): void {
  const path = out + PATH
  if (!matches(path, keyOf(low), depth, count) || !matches(path, keyOf(high - 1), depth, count)) {
    // Some updates are not below the extension. Its first nibble is treated as a branch with one child; if no second child is added, it
    // becomes an extension again.
    const references = allReferences + usize(depth) * REFERENCES
    memory.fill(references, 0, REFERENCES)
    const nibble = nibbleAt(path, depth)
    const at = references + (usize(nibble) << 3)
    store<u32>(at, u32(reference))
    store<u32>(at, length, 4)
    const child = slotAt(depth, nibble)
    memory.copy(child + PATH, path, 32)
    updateBranch(out, former, low, high, depth, i32(nibble), count - 1, child)
    return
  }
  const child = slotAt(depth, 0)
  const end = depth + count
  updateNode(child, childNode(keyOf(low), end, reference, length), low, high, end)
  const kind = kindOf(child)
  if (kind === SAME || kind === NONE) {
    store<u32>(out, kind, KIND)
    return
  }
  join(out, child, depth, count)
  store<u32>(out, u32(former), FORMER)
}

/** Makes `out`, at `depth`, what is left when the node of `child` is the only one below it, `count` nibbles deeper. */
function join(out: usize, child: usize, depth: u32, count: u32): void {
  const kind = kindOf(child)
  memory.copy(out + PATH, child + PATH, 32)
  if (kind !== BRANCH) remove(child + PATH, depth + count, usize(load<u32>(child, FORMER)))
  if (kind === LEAF) {
    setLeaf(out, usize(load<u32>(child, VALUE)), load<u32>(child, VALUE_LENGTH))
    return
  }
  const length = load<u32>(child, REFERENCE_LENGTH)
  store<u32>(out, length, REFERENCE_LENGTH)
  memory.copy(out + REFERENCE, child + REFERENCE, length)
  setExtension(out, kind === BRANCH ? count : count + load<u32>(child, COUNT))
}

/**
 * Applies updates to the branch whose references are those of this depth. If it stands for an
 * extension, `only` is the nibble of its child: below it, the extension continues for `rest`
 * nibbles of the path of `extension`, a slot.
 */
function updateBranch(
  out: usize,
  former: usize,
  low: u32,
  high: u32,
  depth: u32,
  only: i32,
  rest: u32,
  extension: usize,
): void {
  const references = allReferences + usize(depth) * REFERENCES
  let changed: u32 = 0
  for (let from = low; from < high; ) {
    const key = keyOf(from)
    const nibble = nibbleAt(key, depth)
    let to = from + 1
    while (to < high && nibbleAt(keyOf(to), depth) === nibble) to++
    const child = slotAt(depth, nibble)
    const at = references + (usize(nibble) << 3)
    const reference = usize(load<u32>(at))
    const length = load<u32>(at, 4)
    if (length === 0) insert(child, from, to, depth + 1)
    else if (rest > 0) updateExtension(child, 0, from, to, depth + 1, rest, reference, length)
    else updateNode(child, childNode(key, depth + 1, reference, length), from, to, depth + 1)
    if (kindOf(child) !== SAME) changed |= 1 << nibble
    from = to
  }
  if (changed === 0) {
    store<u32>(out, SAME, KIND)
    return
  }
  let left = childMask(references) & ~changed
  for (let nibble: u32 = 0; nibble < 16; nibble++) {
    if (changed & (1 << nibble) && kindOf(slotAt(depth, nibble)) !== NONE) left |= 1 << nibble
  }
  const path = out + PATH
  memory.copy(path, keyOf(low), 32)
  store<u32>(out, u32(former), FORMER)
  if (left === 0) {
    store<u32>(out, NONE, KIND)
    return
  }
  // The rest of an extension is a node of its own from now on.
  if (rest > 0 && (changed & (1 << only)) === 0) {
    const at = references + (usize(only) << 3)
    const length = load<u32>(at, 4)
    memory.copy(extension + REFERENCE, usize(load<u32>(at)), length)
    store<u32>(extension, length, REFERENCE_LENGTH)
    store<u32>(extension, 0, FORMER)
    setExtension(extension, rest)
    changed |= 1 << only
  }
  if (popcnt<u32>(left) === 1) {
    const nibble = ctz<u32>(left)
    const child = slotAt(depth, nibble)
    if ((changed & left) === 0) loadChild(child, references, path, nibble, depth)
    join(out, child, depth, 1)
    store<u32>(out, u32(former), FORMER)
    return
  }
  for (let nibble: u32 = 0; nibble < 16; nibble++) {
    if ((changed & (1 << nibble)) === 0) continue
    const child = slotAt(depth, nibble)
    if (kindOf(child) === NONE) {
      store<u64>(references + (usize(nibble) << 3), 0)
    } else {
      finish(child, depth + 1)
      setReference(references, nibble, child)
    }
  }
  finishBranch(out, references, path, depth, former)
}

/** Fills a slot with a stored child that does not change itself. */
function loadChild(child: usize, references: usize, path: usize, nibble: u32, depth: u32): void {
  const at = references + (usize(nibble) << 3)
  const reference = usize(load<u32>(at))
  const length = load<u32>(at, 4)
  memory.copy(child + PATH, path, 32)
  setNibble(child + PATH, depth, nibble)
  const node = childNode(child + PATH, depth + 1, reference, length)
  store<u32>(child, u32(node), FORMER)
  const kind = readRLP(rlpOf(node), rlpLengthOf(node), otherReferences)
  if (kind === IS_LEAF) {
    if (appendSegment(child + PATH, depth + 1) + depth + 1 !== 64) fail(FAILURE_NODE, 0)
    setLeaf(child, contentAt, contentLength)
    return
  }
  if (kind === IS_BRANCH) {
    store<u32>(child, BRANCH, KIND)
    store<u32>(child, length, REFERENCE_LENGTH)
    memory.copy(child + REFERENCE, reference, length)
    return
  }
  setExtension(child, appendSegment(child + PATH, depth + 1))
  store<u32>(child, contentLength, REFERENCE_LENGTH)
  memory.copy(child + REFERENCE, contentAt, contentLength)
}
