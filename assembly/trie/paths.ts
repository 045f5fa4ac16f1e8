// Looks along the paths of a trie without a change: which nodes are not in memory, and whether a key is there.
import { FAILURE_MISSING, LISTED_KEY_BYTES, PART_BYTES, UPDATE_BYTES } from './trieLayout'
import { fail } from './host'
import { findNode, getNode, key, keyLength, rlpLengthOf, rlpOf, setKey } from './nodes'
import { appendSegment, IS_BRANCH, IS_LEAF, nibbleAt, readRLP, REFERENCES } from './rlp'

/** For each depth, the references of the children of the branch there. */
const allReferences = memory.data(66 * 128, 16)
const path = memory.data(32, 16)

let ownerKey: usize = 0
let ownerLength: u32 = 0
let updates: usize = 0
let keys: usize = 0
let parts: usize = 0
let missing: u32 = 0

/**
 * Finds the nodes at which the paths of updates leave what is in memory. Writes the key of each to `missingKeys`, and to `missingParts` the
 * part of the updates that need it. There is room for as many as there are updates.
 * @param given parts whose nodes may be in memory
 * @returns how many nodes are missing
 */
export function findMissing(
  owner: usize,
  length: u32,
  list: usize,
  given: usize,
  count: u32,
  missingKeys: usize,
  missingParts: usize,
): u32 {
  ownerKey = owner
  ownerLength = length
  updates = list
  keys = missingKeys
  parts = missingParts
  missing = 0
  for (let i: u32 = 0; i < count; i++) {
    const part = given + usize(i) * PART_BYTES
    walk(load<u32>(part), load<u32>(part, 4), load<u32>(part, 8))
  }
  return missing
}

// @ts-ignore: decorator
@inline
function keyOf(index: u32): usize {
  return updates + usize(index) * UPDATE_BYTES
}

function walk(low: u32, high: u32, depth: u32): void {
  setKey(ownerKey, ownerLength, keyOf(low), depth)
  const node = findNode()
  if (node === 0) {
    const name = keys + usize(missing) * LISTED_KEY_BYTES
    memory.copy(name, key, LISTED_KEY_BYTES - 1)
    store<u8>(name + LISTED_KEY_BYTES - 1, u8(keyLength))
    const part = parts + usize(missing) * PART_BYTES
    store<u32>(part, low)
    store<u32>(part, high, 4)
    store<u32>(part, depth, 8)
    missing++
    return
  }
  const references = allReferences + usize(depth) * REFERENCES
  const kind = readRLP(rlpOf(node), rlpLengthOf(node), references)
  if (kind === IS_LEAF) return
  if (kind !== IS_BRANCH) {
    // As in an update: when some keys leave the trie here, it takes the child only if it has to.
    memory.copy(path, keyOf(low), 32)
    const end = depth + appendSegment(path, depth)
    if (matches(keyOf(low), depth, end) && matches(keyOf(high - 1), depth, end)) walk(low, high, end)
    return
  }
  for (let from = low; from < high; ) {
    const nibble = nibbleAt(keyOf(from), depth)
    let to = from + 1
    while (to < high && nibbleAt(keyOf(to), depth) === nibble) to++
    if (load<u32>(references + (usize(nibble) << 3), 4) !== 0) walk(from, to, depth + 1)
    from = to
  }
}

/** Returns whether the nibbles [depth, end) of a key are those of the path. */
function matches(other: usize, depth: u32, end: u32): bool {
  for (let i = depth; i < end; i++) if (nibbleAt(path, i) !== nibbleAt(other, i)) return false
  return true
}

/** Returns whether a trie has a key of 32 bytes, or any key. */
export function hasLeaf(owner: usize, length: u32, wanted: usize, isAny: bool): bool {
  let depth: u32 = 0
  while (true) {
    setKey(owner, length, wanted, depth)
    const node = getNode()
    if (node === 0) {
      if (depth > 0) fail(FAILURE_MISSING, 0)
      return false
    }
    if (isAny) return true
    const kind = readRLP(rlpOf(node), rlpLengthOf(node), allReferences)
    if (kind === IS_BRANCH) {
      if (load<u32>(allReferences + (usize(nibbleAt(wanted, depth)) << 3), 4) === 0) return false
      depth++
      continue
    }
    memory.copy(path, wanted, 32)
    const end = depth + appendSegment(path, depth)
    if (!matches(wanted, depth, end)) return false
    if (kind === IS_LEAF) return true
    depth = end
  }
}
