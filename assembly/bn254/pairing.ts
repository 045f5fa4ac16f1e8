// The optimal ate pairing of bn254 (Vercauteren: Optimal pairings), for products of many: the squarings of the Miller loop and the final
// exponentiation are done once for all.
import { copy, negate, PAIR } from '../curves/field'
import { intoCyclotomicSubgroup, powerOfParameter } from '../curves/exponentiation'
import { addStep, beginFactor, doubleStep, FACTOR, FACTOR_Q, FACTOR_T, LINE, multiplyByLineAt } from '../curves/lines'
import { applyPsi, POINT } from '../curves/points'
import {
  conjugate12,
  copy12,
  cyclotomicSquare12,
  FP12,
  frobenius12,
  multiply12,
  setOne12,
  square12,
} from '../curves/tower'

/**
 * The length of the loop, 6x + 2, in non-adjacent form: 2^65 and powers of two that are added and subtracted. (A third fewer additions
 * than in binary.)
 */
const TOP: i32 = 65
const ADDED: u64 = 0x2002004200804028
const SUBTRACTED: u64 = 0x82889008420a0480

const line = memory.data(i32(LINE), 16)
const point = memory.data(i32(POINT), 16)

/** Multiplies z by Miller functions of `count` factors. */
export function millerLoop(z: usize, factors: usize, count: usize): void {
  const end = factors + count * FACTOR
  for (let factor = factors; factor < end; factor += FACTOR) beginFactor(factor)
  setOne12(z)
  for (let bit = TOP - 1; bit >= 0; bit--) {
    if (bit < TOP - 1) square12(z, z)
    for (let factor = factors; factor < end; factor += FACTOR) {
      doubleStep(line, factor + FACTOR_T)
      multiplyByLineAt(z, line, factor)
    }
    const isAdded = bit < 64 && ((ADDED >> bit) & 1) != 0
    if (!isAdded && (bit == 64 || ((SUBTRACTED >> bit) & 1) == 0)) continue
    for (let factor = factors; factor < end; factor += FACTOR) {
      const q = factor + FACTOR_Q
      copy(point, q)
      if (isAdded) copy(point + PAIR, q + PAIR)
      else negate(point + PAIR, q + PAIR)
      addPoint(z, factor)
    }
  }
  // π(Q) and −π²(Q), where the Frobenius map π is ψ on the twist
  for (let factor = factors; factor < end; factor += FACTOR) {
    copy(point, factor + FACTOR_Q)
    copy(point + PAIR, factor + FACTOR_Q + PAIR)
    applyPsi(point, point)
    addPoint(z, factor)
    applyPsi(point, point)
    negate(point + PAIR, point + PAIR)
    addPoint(z, factor)
  }
}

/** Adds the affine `point` to a factor's T. */
function addPoint(z: usize, factor: usize): void {
  addStep(line, factor + FACTOR_T, point)
  multiplyByLineAt(z, line, factor)
}

const f = memory.data(i32(FP12), 16)
const f0 = memory.data(i32(FP12), 16)
const f1 = memory.data(i32(FP12), 16)
const f2 = memory.data(i32(FP12), 16)
const f3 = memory.data(i32(FP12), 16)

/**
 * z to the power of 2x(6x² + 3x + 1)(p¹² − 1)/r, which is one if and only if that without the first factors, which r does not divide, is:
 * (p⁶ − 1)(p² + 1), then the rest (Fuentes-Castañeda, Knapp, Rodríguez-Henríquez: Faster hashing to G2, section 4.2):
 * (1 + 6x + 12x² + 12x³) + (4x + 6x² + 12x³)p + (6x + 6x² + 12x³)p² + (−1 + 4x + 6x² + 12x³)p³.
 */
export function finalExponentiation(z: usize): void {
  intoCyclotomicSubgroup(f, z)
  // f0 = f^−2x, f1 = f^−6x, f2 = f^6x², f3 = f^−12x³
  powerOfParameter(f0, f)
  cyclotomicSquare12(f0, f0)
  cyclotomicSquare12(f1, f0)
  multiply12(f1, f1, f0)
  powerOfParameter(f2, f1)
  cyclotomicSquare12(f3, f2)
  powerOfParameter(z, f3)
  copy12(f3, z)
  // f3 = f^(6x + 6x² + 12x³), f0 = that without 2x
  conjugate12(f3, f3)
  multiply12(f3, f3, f2)
  conjugate12(f1, f1)
  multiply12(f3, f3, f1)
  multiply12(f0, f0, f3)
  // by p², p and 1, and by p³
  multiply12(f2, f2, f3)
  multiply12(z, f2, f)
  frobenius12(f1, f0)
  multiply12(z, z, f1)
  frobenius12(f1, f3)
  frobenius12(f1, f1)
  multiply12(z, z, f1)
  conjugate12(f, f)
  multiply12(f0, f0, f)
  frobenius12(f0, f0)
  frobenius12(f0, f0)
  frobenius12(f0, f0)
  multiply12(z, z, f0)
}
