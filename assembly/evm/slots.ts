// The slots of storage and transient storage that a run has touched. A written value stays here until the world needs it.
import { STORE_ENTRY } from './constants'
import { isWarmSlot, loadSlot, storeSlots } from './host'
import {
  SLOT_EPOCH, SLOT_IS_DIRTY, SLOT_IS_WARM, SLOT_KEY, SLOT_NEXT, SLOT_OLDER, SLOT_ORIGINAL, SLOT_OWNER, SLOT_SIZE,
  SLOT_VALUE, scratch,
} from './layout'
import { TABLE_SIZE, allocateRecord, bucketOf, countRecord, emptyTable, hashWord, initializeTable } from './recordTable'
import { recordSlotWarm, recordValue } from './undoLog'
import { copyWord, eq, reverseWord } from './word'

/** Set in the owner of a slot of transient storage. */
const TRANSIENT: usize = 1

const table: usize = heap.alloc(TABLE_SIZE)
initializeTable(table)
let newest: usize = 0
/** Incremented when the world may have changed and the slots that are not dirty must be read again. */
let epoch: u32 = 1

export function forgetSlots(): void {
  emptyTable(table)
  newest = 0
  epoch = 1
}

export function slotsChanged(): void {
  epoch++
}

/** Returns the record of a slot, or 0 when the run has no such record. */
function findSlot(owner: usize, key: usize): usize {
  let slot = load<usize>(bucketOf(table, hashWord(key, <u32>owner)))
  while (slot !== 0) {
    if (load<usize>(slot, SLOT_OWNER) === owner && eq(slot + SLOT_KEY, key)) return slot
    slot = load<usize>(slot, SLOT_NEXT)
  }
  return 0
}

function addSlot(owner: usize, key: usize): usize {
  const slot = allocateRecord(SLOT_SIZE)
  store<usize>(slot, owner, SLOT_OWNER)
  copyWord(slot + SLOT_KEY, key)
  store<usize>(slot, newest, SLOT_OLDER)
  newest = slot
  if (countRecord(table)) {
    for (let other = newest; other !== 0; other = load<usize>(other, SLOT_OLDER)) chain(other)
  } else {
    chain(slot)
  }
  return slot
}

function chain(slot: usize): void {
  const bucket = bucketOf(table, hashWord(slot + SLOT_KEY, load<u32>(slot, SLOT_OWNER)))
  store<usize>(slot, load<usize>(bucket), SLOT_NEXT)
  store<usize>(bucket, slot)
}

/**
 * Returns the current record of a storage slot of the account `record`, whose key is a word; 0 when
 * it is cold and `gas` is below `coldCost`: nothing is read from the state before it is paid for.
 * Does not warm it.
 */
export function slotAt(record: usize, key: usize, gas: i64, coldCost: i64): usize {
  let slot = findSlot(record, key)
  if (slot !== 0) {
    if (load<u32>(slot, SLOT_EPOCH) !== epoch) reload(slot)
    return slot
  }
  if (gas < coldCost) {
    reverseWord(scratch, key)
    if (isWarmSlot(record, scratch) === 0) return 0
  }
  slot = addSlot(record, key)
  store<u32>(slot, loadSlot(record, key, slot + SLOT_VALUE), SLOT_IS_WARM)
  store<u32>(slot, epoch, SLOT_EPOCH)
  return slot
}

/** Reads the world's value of a slot again. The undo log has no entry for it: when the world reverts, all slots are read again. */
function reload(slot: usize): void {
  store<u32>(slot, epoch, SLOT_EPOCH)
  if (load<u32>(slot, SLOT_IS_DIRTY) !== 0) return
  loadSlot(load<usize>(slot, SLOT_OWNER), slot + SLOT_KEY, slot + SLOT_VALUE)
}

/** Returns whether a slot is warm, by its record where there is one. */
export function isSlotWarm(record: usize, key: usize): bool {
  const slot = findSlot(record, key)
  if (slot !== 0) return load<u32>(slot, SLOT_IS_WARM) !== 0
  reverseWord(scratch, key)
  return isWarmSlot(record, scratch) !== 0
}

export function warmSlot(slot: usize): void {
  store<u32>(slot, 1, SLOT_IS_WARM)
  recordSlotWarm(slot)
}

/** Changes the value of a storage slot. */
export function setSlot(slot: usize, value: usize): void {
  recordValue(slot)
  copyWord(slot + SLOT_VALUE, value)
  markDirty(slot)
}

/** Returns the record of a slot of transient storage (EIP-1153), or 0 when nothing was ever stored in it. */
export function findTransient(record: usize, key: usize): usize {
  return findSlot(record | TRANSIENT, key)
}

export function setTransient(record: usize, key: usize, value: usize): void {
  let slot = findSlot(record | TRANSIENT, key)
  if (slot === 0) slot = addSlot(record | TRANSIENT, key)
  recordValue(slot)
  copyWord(slot + SLOT_VALUE, value)
}

// Dirty slots: those with a value that the world does not have yet. All of them were written by the newest frame, or by frames that it
// called and that succeeded: before a frame is pushed they are stored in the world, and those of a frame that fails are dropped. So
// a slot is stored in the checkpoint of the frame that wrote it, once for each time that the frame wrote it and then made a call.

const INITIAL_DIRTY: usize = 1 << 12

let dirtyList: usize = heap.alloc(INITIAL_DIRTY)
let dirtyCapacity: usize = INITIAL_DIRTY
let dirtyLength: usize = 0

/** Called when a slot has got a value that the world does not have. */
function markDirty(slot: usize): void {
  if (load<u32>(slot, SLOT_IS_DIRTY) !== 0) return
  store<u32>(slot, 1, SLOT_IS_DIRTY)
  if (dirtyLength + 4 > dirtyCapacity) {
    dirtyList = heap.realloc(dirtyList, dirtyCapacity << 1)
    dirtyCapacity <<= 1
  }
  store<usize>(dirtyList + dirtyLength, slot)
  dirtyLength += 4
}

export function hasDirtySlots(): bool {
  return dirtyLength > 0
}

/** Stores the dirty slots in the world, in the order in which they became dirty. */
export function storeDirtySlots(): void {
  if (dirtyLength === 0) return
  const entries = heap.alloc((dirtyLength >> 2) * STORE_ENTRY)
  let entry = entries
  for (let at: usize = 0; at < dirtyLength; at += 4) {
    const slot = load<usize>(dirtyList + at)
    store<u32>(slot, 0, SLOT_IS_DIRTY)
    memory.copy(entry, load<usize>(slot, SLOT_OWNER), 20)
    reverseWord(entry + 32, slot + SLOT_KEY)
    reverseWord(entry + 64, slot + SLOT_VALUE)
    entry += STORE_ENTRY
  }
  storeSlots(entries, <u32>(dirtyLength >> 2))
  heap.free(entries)
  dirtyLength = 0
}

/** Forgets the dirty slots of a frame that has failed, whose values are undone. */
export function dropDirtySlots(): void {
  for (let at: usize = 0; at < dirtyLength; at += 4) store<u32>(load<usize>(dirtyList + at), 0, SLOT_IS_DIRTY)
  dirtyLength = 0
}

/** Forgets the records, which a new run does not have. */
export function forgetDirtySlots(): void {
  dirtyLength = 0
  if (dirtyCapacity > 1 << 16) {
    heap.free(dirtyList)
    dirtyList = heap.alloc(INITIAL_DIRTY)
    dirtyCapacity = INITIAL_DIRTY
  }
}
