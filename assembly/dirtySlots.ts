// The storage slots that the world does not have yet. All of them are the newest frame's, or of frames that it called and that
// succeeded: before a frame is pushed they go to the world, and those of a frame that fails are forgotten. So each is stored
// in the checkpoint of the frame that wrote it, once for each time that it was written to and then left.
import { STORE_ENTRY } from './constants'
import { storeSlots } from './host'
import { SLOT_IS_DIRTY, SLOT_KEY, SLOT_OWNER, SLOT_VALUE } from './layout'
import { reverseWord } from './wordAccess'

const INITIAL: usize = 1 << 12

let list: usize = heap.alloc(INITIAL)
let capacity: usize = INITIAL
let length: usize = 0

/** To be called when a slot has got a value that the world does not have. */
export function markDirty(slot: usize): void {
  if (load<u32>(slot, SLOT_IS_DIRTY) !== 0) return
  store<u32>(slot, 1, SLOT_IS_DIRTY)
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

/** Gives the dirty slots to the world, in the order in which they became dirty. */
export function storeDirtySlots(): void {
  if (length === 0) return
  const entries = heap.alloc((length >> 2) * STORE_ENTRY)
  let entry = entries
  for (let at: usize = 0; at < length; at += 4) {
    const slot = load<usize>(list + at)
    store<u32>(slot, 0, SLOT_IS_DIRTY)
    memory.copy(entry, load<usize>(slot, SLOT_OWNER), 20)
    reverseWord(entry + 32, slot + SLOT_KEY)
    reverseWord(entry + 64, slot + SLOT_VALUE)
    entry += STORE_ENTRY
  }
  storeSlots(entries, <u32>(length >> 2))
  heap.free(entries)
  length = 0
}

/** Forgets the dirty slots of a frame that has failed, whose values are undone. */
export function dropDirtySlots(): void {
  for (let at: usize = 0; at < length; at += 4) store<u32>(load<usize>(list + at), 0, SLOT_IS_DIRTY)
  length = 0
}

/** For a new run: the records are gone. */
export function forgetDirtySlots(): void {
  length = 0
  if (capacity > 1 << 16) {
    heap.free(list)
    list = heap.alloc(INITIAL)
    capacity = INITIAL
  }
}
