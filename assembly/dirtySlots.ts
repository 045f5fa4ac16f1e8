// The storage slots that the world does not have yet.
import { STORE_ENTRY } from './constants'
import { storeSlots } from './host'
import { SLOT_IS_DIRTY, SLOT_IS_LISTED, SLOT_KEY, SLOT_OWNER, SLOT_VALUE } from './layout'
import { recordStored } from './undoLog'
import { reverseWord } from './wordAccess'

let list: usize = heap.alloc(1 << 12)
let capacity: usize = 1 << 12
let length: usize = 0

/** Notes a slot that was just marked dirty. */
export function listDirty(slot: usize): void {
  if (load<u32>(slot, SLOT_IS_LISTED) !== 0) return
  store<u32>(slot, 1, SLOT_IS_LISTED)
  if (length + 4 > capacity) {
    list = heap.realloc(list, capacity << 1)
    capacity <<= 1
  }
  store<usize>(list + length, slot)
  length += 4
}

export function hasDirtySlots(): bool {
  return length > 0
}

/** Gives all dirty slots to the world, in the order in which they became dirty. */
export function storeDirtySlots(): void {
  if (length === 0) return
  const entries = heap.alloc((length >> 2) * STORE_ENTRY)
  let count: u32 = 0
  for (let at: usize = 0; at < length; at += 4) {
    const slot = load<usize>(list + at)
    store<u32>(slot, 0, SLOT_IS_LISTED)
    // a revert may have made it clean again
    if (load<u32>(slot, SLOT_IS_DIRTY) === 0) continue
    store<u32>(slot, 0, SLOT_IS_DIRTY)
    recordStored(slot)
    const entry = entries + <usize>count * STORE_ENTRY
    memory.copy(entry, load<usize>(slot, SLOT_OWNER), 20)
    reverseWord(entry + 32, slot + SLOT_KEY)
    reverseWord(entry + 64, slot + SLOT_VALUE)
    count++
  }
  length = 0
  if (count > 0) storeSlots(entries, count)
  heap.free(entries)
}

export function forgetDirtySlots(): void {
  length = 0
  if (capacity > 1 << 16) {
    heap.free(list)
    list = heap.alloc(1 << 12)
    capacity = 1 << 12
  }
}
