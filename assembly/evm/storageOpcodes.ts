// SLOAD, SSTORE, TLOAD and TSTORE. All gas of SLOAD and SSTORE is charged here; TLOAD and TSTORE
// have a fixed price, which is in opcodeTable.ts. Each function takes the gas and returns what is
// left, or -1 with the failure set.
//
// SSTORE: EIP-2200 (price by original, current and new value; the sentry), EIP-2929 (cold slots), EIP-3529 (refunds).
import { OUT_OF_GAS, WRITE_PROTECTION } from './constants'
import { fail } from './failure'
import { addRefund } from './frameStack'
import { IS_STATIC, RECORD, SLOT_IS_WARM, SLOT_ORIGINAL, SLOT_VALUE, WORD } from './layout'
import { findTransient, setSlot, setTransient, slotAt, warmSlot } from './slots'
import { clearWord, copyWord, eq, isZero } from './word'

/** EIP-2929 */
export const COLD_SLOT: i64 = 2_100
export const WARM_SLOT: i64 = 100
/** EIP-2200: the transaction's first change of a slot that was zero before, and of one that was not. */
const SET: i64 = 20_000
const RESET: i64 = 5_000 - COLD_SLOT
/** EIP-3529 */
const CLEAR_REFUND: i64 = 4_800
/** EIP-2200: with no more gas than this, the stipend of a call that carries value, SSTORE fails. */
export const SENTRY: i64 = 2_300

/** Runs SLOAD: charges 100 for a warm slot or 2,100 for a cold one (EIP-2929). */
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

/** Returns the cost of SSTORE without the surcharge of a cold slot (EIP-2200, with the prices of EIP-2929). */
export function sstoreCost(slot: usize, value: usize): i64 {
  if (eq(slot + SLOT_VALUE, value)) return WARM_SLOT
  if (!eq(slot + SLOT_ORIGINAL, slot + SLOT_VALUE)) return WARM_SLOT
  return isZero(slot + SLOT_ORIGINAL) ? SET : RESET
}

/**
 * SSTORE: the gas is charged and the refund counted here (EIP-2200, 2929, 3529).
 *
 * 1. Failures that geth finds before it looks at the slot: a static call, no more gas than the sentry.
 * 2. The surcharge of a cold slot; nothing is read from the state before it is paid for.
 * 3. The price by original, current and new value.
 * 4. The refund, from the values before the write.
 * 5. The write.
 */
export function sstore(frame: usize, sp: usize, gas: i64): i64 {
  // 1.
  if (load<u32>(frame, IS_STATIC) !== 0) return fail(WRITE_PROTECTION)
  if (gas <= SENTRY) return fail(OUT_OF_GAS)
  // 2.
  const slot = slotAt(load<usize>(frame, RECORD), sp, gas, COLD_SLOT)
  if (slot === 0) return fail(OUT_OF_GAS)
  const value = sp - WORD
  if (load<u32>(slot, SLOT_IS_WARM) === 0) {
    gas -= COLD_SLOT
    warmSlot(slot)
  }
  // 3.
  gas -= sstoreCost(slot, value)
  if (gas < 0) return fail(OUT_OF_GAS)
  if (eq(slot + SLOT_VALUE, value)) return gas
  // 4.
  addRefund(sstoreRefund(slot, value))
  // 5.
  setSlot(slot, value)
  return gas
}

/** Returns the change of the refund counter when the slot gets this value (EIP-3529). */
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
