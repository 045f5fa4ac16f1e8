// The changes of the engine's own tables, so that a revert can undo those of a frame, the last one first.
import { ACCOUNT_IS_WARM, SLOT_IS_WARM, SLOT_VALUE } from './layout'
import { copyWord } from './word'

const UNDO_VALUE: u32 = 0
const UNDO_SLOT_WARM: u32 = 1
const UNDO_ACCOUNT_WARM: u32 = 2

/** An entry: kind, record, and at 16 the previous value. */
const ENTRY: usize = 48

let log: usize = heap.alloc(1 << 16)
let capacity: usize = 1 << 16
let length: usize = 0

function append(kind: u32, record: usize): usize {
  if (length + ENTRY > capacity) {
    log = heap.realloc(log, capacity << 1)
    capacity <<= 1
  }
  const entry = log + length
  store<u32>(entry, kind)
  store<usize>(entry, record, 4)
  length += ENTRY
  return entry
}

/** Called before a slot's value changes. */
export function recordValue(slot: usize): void {
  copyWord(append(UNDO_VALUE, slot) + 16, slot + SLOT_VALUE)
}

export function recordSlotWarm(slot: usize): void {
  append(UNDO_SLOT_WARM, slot)
}

export function recordAccountWarm(account: usize): void {
  append(UNDO_ACCOUNT_WARM, account)
}

export function undoMark(): usize {
  return length
}

/** Undoes everything since the mark. */
export function undoTo(mark: usize): void {
  while (length > mark) {
    length -= ENTRY
    const entry = log + length
    const record = load<usize>(entry, 4)
    switch (load<u32>(entry)) {
      case UNDO_VALUE:
        copyWord(record + SLOT_VALUE, entry + 16)
        break
      case UNDO_SLOT_WARM:
        store<u32>(record, 0, SLOT_IS_WARM)
        break
      default:
        store<u32>(record, 0, ACCOUNT_IS_WARM)
    }
  }
}

export function clearUndo(): void {
  length = 0
  if (capacity > 1 << 20) {
    heap.free(log)
    log = heap.alloc(1 << 16)
    capacity = 1 << 16
  }
}
