// Merkle-Patricia tries for the state (src/state/trieEngine.ts): caches stored nodes in memory,
// computes how an update changes them, and returns the changes as operations for the database.
import { OPERATION_BYTES } from './trieLayout'
import { addNode, copyKey, findNode, removeNode, replaceNode } from './nodes'
import { hasLeaf as has, findMissing as find } from './paths'
import { rootHash, updateTrie } from './update'

export { dropNodes, reserveNode, useTrie } from './nodes'
export {
  beginLog,
  endLog,
  logAddress,
  logBytes,
  namesAddress,
  namesBytes,
  operationsAddress,
  operationsCount,
} from './log'
export { sortUpdates } from './updates'

const TRIE_NODE: u8 = 7

let input: usize = heap.alloc(1 << 12)
let inputRoom: u32 = 1 << 12

/** Reserves memory for the input of the next call. */
export function reserveInput(length: u32): usize {
  if (length > inputRoom) {
    input = heap.realloc(input, length)
    inputRoom = length
  }
  return input
}

export function rootAddress(): usize {
  return rootHash
}

/** Runs `updateTrie`; the input is the owner (`ownerLength` bytes, padded to 32) and the updates. */
export function update(ownerLength: u32, count: u32, isWiped: bool): void {
  updateTrie(input, ownerLength, input + 32, count, isWiped)
}

/** Returns whether a trie has a key, or any; the input is the owner, padded to 32 bytes, and the key. */
export function hasLeaf(ownerLength: u32, isAny: bool): bool {
  return has(input, ownerLength, input + 32, isAny)
}

/** Runs `findMissing`: all addresses are in the input, which begins with the owner. */
export function findMissing(ownerLength: u32, list: usize, parts: usize, count: u32, keys: usize, missing: usize): u32 {
  return find(input, ownerLength, list, parts, count, keys, missing)
}

/** Keeps a node that was read, unless there is one: its key and behind it its RLP are the input. */
export function keepNode(length: u32, rlpLength: u32): void {
  copyKey(input, length)
  if (findNode() === 0) addNode(input + usize(length), rlpLength)
}

/** Keeps the nodes that a log has stored: the input is its operations, and behind them its bytes. */
export function adopt(count: u32): void {
  const bytes = input + usize(count) * OPERATION_BYTES
  for (let i: u32 = 0; i < count; i++) {
    const operation = input + usize(i) * OPERATION_BYTES
    const at = bytes + usize(load<u32>(operation, 4))
    if (load<u8>(at) !== TRIE_NODE) continue
    const length = load<u32>(operation, 8)
    const rlpLength = load<i32>(operation, 12)
    copyKey(at, length)
    if (rlpLength < 0) removeNode()
    else replaceNode(at + length, rlpLength)
  }
}
