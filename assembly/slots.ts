// The storage and transient storage slots that a run has touched. They live here until the world needs them.
import { allocateRecord } from './arena'
import { markDirty } from './dirtySlots'
import { isWarmSlot, loadSlot } from './host'
import {
  SLOT_EPOCH,
  SLOT_IS_DIRTY,
  SLOT_IS_WARM,
  SLOT_KEY,
  SLOT_NEXT,
  SLOT_OLDER,
  SLOT_ORIGINAL,
  SLOT_OWNER,
  SLOT_SIZE,
  SLOT_VALUE,
  scratch,
} from './layout'
import { bucketOf, countRecord, emptyTable, initializeTable, TABLE_SIZE } from './recordTable'
import { hashWord } from './tableHash'
import { recordSlotWarm, recordValue } from './undoLog'
import { eq } from './word'
import { copyWord, reverseWord } from './wordAccess'

/** Set in the owner of a slot of transient storage. */
const TRANSIENT: usize = 1

const table: usize = heap.alloc(TABLE_SIZE)
initializeTable(table)
let newest: usize = 0
/** Raised when the world may have changed behind the slots that are not dirty. */
let epoch: u32 = 1
/** Where the host writes value and original value. */
const loaded: usize = heap.alloc(64)

export function forgetSlots(): void {
  emptyTable(table)
  newest = 0
  epoch = 1
}

export function slotsChanged(): void {
  epoch++
}

/** The record of a slot, or 0 when the run has none. */
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
 * The current record of a storage slot of the account `record`, whose key is a word; 0 when it is cold and `gas` is below
 * `coldCost`: nothing is read from the state before it is paid for. Does not warm it.
 */
export function slotAt(record: usize, key: usize, gas: i64, coldCost: i64): usize {
  let slot = findSlot(record, key)
  if (slot !== 0) {
    if (load<u32>(slot, SLOT_EPOCH) !== epoch) reload(slot)
    return slot
  }
  reverseWord(scratch, key)
  if (gas < coldCost && isWarmSlot(record, scratch) === 0) return 0
  slot = addSlot(record, key)
  store<u32>(slot, loadSlot(record, scratch, loaded), SLOT_IS_WARM)
  copyWord(slot + SLOT_VALUE, loaded)
  copyWord(slot + SLOT_ORIGINAL, loaded + 32)
  store<u32>(slot, epoch, SLOT_EPOCH)
  return slot
}

/** Takes the world's value of a slot again. No undoing takes it back: where the world's goes, all are to be read again. */
function reload(slot: usize): void {
  store<u32>(slot, epoch, SLOT_EPOCH)
  if (load<u32>(slot, SLOT_IS_DIRTY) !== 0) return
  reverseWord(scratch, slot + SLOT_KEY)
  loadSlot(load<usize>(slot, SLOT_OWNER), scratch, loaded)
  copyWord(slot + SLOT_VALUE, loaded)
}

/** Whether a slot is warm, by its record where there is one. */
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

/** The record of a slot of transient storage (EIP-1153), or 0 when nothing was ever stored in it. */
export function findTransient(record: usize, key: usize): usize {
  return findSlot(record | TRANSIENT, key)
}

export function setTransient(record: usize, key: usize, value: usize): void {
  let slot = findSlot(record | TRANSIENT, key)
  if (slot === 0) slot = addSlot(record | TRANSIENT, key)
  recordValue(slot)
  copyWord(slot + SLOT_VALUE, value)
}
