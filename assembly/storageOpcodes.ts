// SLOAD, SSTORE, TLOAD, TSTORE: EIP-2200, 2929, 3529, 1153. Each takes the gas and gives what is left, or -1 with the
// failure set.
import { OUT_OF_GAS, WRITE_PROTECTION } from './constants'
import { fail } from './failure'
import { addRefund } from './frameStack'
import { IS_STATIC, RECORD, SLOT_IS_WARM, SLOT_ORIGINAL, SLOT_VALUE, WORD } from './layout'
import { findTransient, setSlot, setTransient, slotAt, warmSlot } from './slots'
import { eq, isZero } from './word'
import { clearWord, copyWord } from './wordAccess'

export const COLD_SLOT: i64 = 2_100
export const WARM_SLOT: i64 = 100
const SET: i64 = 20_000
const RESET: i64 = 5_000 - COLD_SLOT
const CLEAR_REFUND: i64 = 4_800
/** SSTORE wants more than the stipend of a call that carries value. */
export const SENTRY: i64 = 2_300

export function sload(frame: usize, sp: usize, gas: i64): i64 {
  const slot = slotAt(load<usize>(frame, RECORD), sp, gas, COLD_SLOT)
  if (slot === 0) return fail(OUT_OF_GAS)
  if (load<u32>(slot, SLOT_IS_WARM) !== 0) {
    gas -= WARM_SLOT
  } else {
    gas -= COLD_SLOT
    warmSlot(slot)
  }
  if (gas < 0) return fail(OUT_OF_GAS)
  copyWord(sp, slot + SLOT_VALUE)
  return gas
}

/** What SSTORE costs, but for the surcharge of a cold slot. */
export function sstoreCost(slot: usize, value: usize): i64 {
  if (eq(slot + SLOT_VALUE, value)) return WARM_SLOT
  if (!eq(slot + SLOT_ORIGINAL, slot + SLOT_VALUE)) return WARM_SLOT
  return isZero(slot + SLOT_ORIGINAL) ? SET : RESET
}

export function sstore(frame: usize, sp: usize, gas: i64): i64 {
  if (load<u32>(frame, IS_STATIC) !== 0) return fail(WRITE_PROTECTION)
  if (gas <= SENTRY) return fail(OUT_OF_GAS)
  const slot = slotAt(load<usize>(frame, RECORD), sp, gas, COLD_SLOT)
  if (slot === 0) return fail(OUT_OF_GAS)
  const value = sp - WORD
  if (load<u32>(slot, SLOT_IS_WARM) === 0) {
    gas -= COLD_SLOT
    warmSlot(slot)
  }
  gas -= sstoreCost(slot, value)
  if (gas < 0) return fail(OUT_OF_GAS)
  if (eq(slot + SLOT_VALUE, value)) return gas
  addRefund(sstoreRefund(slot, value))
  setSlot(slot, value)
  return gas
}

/** EIP-3529's change of the refund counter when the slot gets another value. */
export function sstoreRefund(slot: usize, value: usize): i64 {
  const original = slot + SLOT_ORIGINAL
  const current = slot + SLOT_VALUE
  if (eq(current, value)) return 0
  const hadNone = isZero(original)
  if (eq(original, current)) return !hadNone && isZero(value) ? CLEAR_REFUND : 0
  let refund: i64 = 0
  if (!hadNone) {
    if (isZero(current)) refund -= CLEAR_REFUND
    else if (isZero(value)) refund += CLEAR_REFUND
  }
  if (eq(original, value)) refund += (hadNone ? SET : RESET) - WARM_SLOT
  return refund
}

export function tload(frame: usize, sp: usize): void {
  const slot = findTransient(load<usize>(frame, RECORD), sp)
  if (slot === 0) clearWord(sp)
  else copyWord(sp, slot + SLOT_VALUE)
}

export function tstore(frame: usize, sp: usize, gas: i64): i64 {
  if (load<u32>(frame, IS_STATIC) !== 0) return fail(WRITE_PROTECTION)
  setTransient(load<usize>(frame, RECORD), sp, sp - WORD)
  return gas
}
