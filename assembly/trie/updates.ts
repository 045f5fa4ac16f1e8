// The updates of one trie as the host passes them (trieLayout.ts): their keys are hashed and sorted.
import { UPDATE_BYTES, UPDATE_FLAGS, UPDATE_INDEX } from './trieLayout'
import { hashBytes } from './rlp'

/** Replaces the preimages of `length` bytes by their hashes, which are the keys, and sorts the updates by key. */
export function sortUpdates(updates: usize, count: u32, length: u32): void {
  for (let i: u32 = 0; i < count; i++) {
    const update = updates + usize(i) * UPDATE_BYTES
    hashBytes(update, length, update)
    store<u32>(update, i, UPDATE_INDEX)
  }
  if (count > 1) sort(updates, count)
}

/** Begin of a key as a number, and place of its update. */
const ITEM: usize = 16

/** Sorts by merging, whose time does not depend on the keys. */
function sort(updates: usize, count: u32): void {
  const size = usize(count) * ITEM
  let from = heap.alloc(size)
  let to = heap.alloc(size)
  for (let i: u32 = 0; i < count; i++) {
    const item = from + usize(i) * ITEM
    const update = updates + usize(i) * UPDATE_BYTES
    store<u64>(item, bswap<u64>(load<u64>(update)))
    store<u32>(item, u32(update), 8)
  }
  for (let width: u32 = 1; width < count; width <<= 1) {
    for (let low: u32 = 0; low < count; low += width << 1) {
      const middle = min(low + width, count)
      merge(from, to, low, middle, min(middle + width, count))
    }
    const swapped = from
    from = to
    to = swapped
  }
  const sorted = heap.alloc(usize(count) * UPDATE_BYTES)
  for (let i: u32 = 0; i < count; i++) {
    memory.copy(sorted + usize(i) * UPDATE_BYTES, usize(load<u32>(from + usize(i) * ITEM, 8)), UPDATE_BYTES)
  }
  memory.copy(updates, sorted, usize(count) * UPDATE_BYTES)
  heap.free(sorted)
  heap.free(from)
  heap.free(to)
}

function merge(from: usize, to: usize, low: u32, middle: u32, high: u32): void {
  let left = low
  let right = middle
  for (let at = low; at < high; at++) {
    const takesLeft = left < middle && (right >= high || !isBelow(from + usize(right) * ITEM, from + usize(left) * ITEM))
    const item = from + usize(takesLeft ? left++ : right++) * ITEM
    v128.store(to + usize(at) * ITEM, v128.load(item))
  }
}

function isBelow(a: usize, b: usize): bool {
  const first = load<u64>(a)
  const second = load<u64>(b)
  if (first !== second) return first < second
  return memory.compare(usize(load<u32>(a, 8)), usize(load<u32>(b, 8)), 32) < 0
}

// @ts-ignore: decorator
@inline
export function flagsOf(update: usize): u32 {
  return load<u32>(update, UPDATE_FLAGS)
}
