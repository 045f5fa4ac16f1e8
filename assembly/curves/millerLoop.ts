// The Miller loop of both optimal ate pairings (Vercauteren: Optimal pairings), for products of many: its squarings are done once for all.
import { copy, negate, PAIR } from './field'
import { addStep, beginFactor, doubleStep, FACTOR, FACTOR_Q, FACTOR_T, LINE, multiplyByLineAt } from './lines'
import { LOOP_ADDED, LOOP_SUBTRACTED, LOOP_TOP } from './parameters'
import { applyPsi, POINT } from './points'
import { conjugate12, setOne12, square12 } from './tower'

const line = memory.data(i32(LINE), 16)
const point = memory.data(i32(POINT), 16)

/** z = the product of the Miller functions of `count` factors. */
export function millerLoop(z: usize, factors: usize, count: usize): void {
  const end = factors + count * FACTOR
  for (let factor = factors; factor < end; factor += FACTOR) beginFactor(factor)
  setOne12(z)
  for (let bit = LOOP_TOP - 1; bit >= 0; bit--) {
    if (bit < LOOP_TOP - 1) square12(z, z)
    for (let factor = factors; factor < end; factor += FACTOR) {
      doubleStep(line, factor + FACTOR_T)
      multiplyByLineAt(z, line, factor)
    }
    const digit = digitOf(bit)
    if (digit === 0) continue
    for (let factor = factors; factor < end; factor += FACTOR) {
      takePoint(factor)
      if (digit < 0) negate(point + PAIR, point + PAIR)
      addPoint(z, factor)
    }
  }
  if (!IS_BN254) {
    // x is negative
    conjugate12(z, z)
    return
  }
  // π(Q) and −π²(Q), where the Frobenius map π is ψ on the twist
  for (let factor = factors; factor < end; factor += FACTOR) {
    takePoint(factor)
    applyPsi(point, point)
    addPoint(z, factor)
    applyPsi(point, point)
    negate(point + PAIR, point + PAIR)
    addPoint(z, factor)
  }
}

/** Returns a digit of the loop's length: −1, 0 or 1. */
function digitOf(bit: i32): i32 {
  if (bit > 63) return 0
  return i32((LOOP_ADDED >> bit) & 1) - i32((LOOP_SUBTRACTED >> bit) & 1)
}

function takePoint(factor: usize): void {
  copy(point, factor + FACTOR_Q)
  copy(point + PAIR, factor + FACTOR_Q + PAIR)
}

/** Adds `point` to a factor's T. */
function addPoint(z: usize, factor: usize): void {
  addStep(line, factor + FACTOR_T, point)
  multiplyByLineAt(z, line, factor)
}
