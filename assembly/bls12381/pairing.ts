// Of the pairing of BLS12-381: the Miller loop for two points of G2 whose lines are prepared, and the final exponentiation.
import { intoCyclotomicSubgroup, powerOfParameter } from '../curves/exponentiation'
import { copy, multiply, multiplyLanes, oneFp2, PAIR } from '../curves/field'
import { invert } from '../curves/inversion'
import { addStep, beginFactor, doubleStep, FACTOR_Q, FACTOR_T, LINE } from '../curves/lines'
import { X_PARAMETER } from '../curves/parameters'
import {
  conjugate12,
  cyclotomicSquare12,
  FP12,
  frobenius12,
  multiply12,
  multiplyByMonicLine,
  setOne12,
  square12,
} from '../curves/tower'

/** Doublings and additions of the Miller loop: bits of |x| below the highest, and those of them that are set. */
const STEPS: usize = 68
/** Bytes of the lines of all steps. */
export const LINES: usize = STEPS * LINE

const products = memory.data(i32(STEPS) * i32(PAIR), 16)
const a = memory.data(i32(PAIR), 16)
const c = memory.data(i32(PAIR), 16)
const sum = memory.data(i32(PAIR), 16)
const atX = memory.data(i32(PAIR), 16)
const atY = memory.data(i32(PAIR), 16)

/**
 * The lines of a factor's point of G2, for {@link preparedMillerLoop}: divided by their third coefficients, which is left out. (Factors in
 * Fp2 do not change a pairing.)
 */
export function prepareLines(lines: usize, factor: usize): void {
  const q = factor + FACTOR_Q
  const t = factor + FACTOR_T
  beginFactor(factor)
  let at = lines
  for (let bit: i32 = 62; bit >= 0; bit--) {
    doubleStep(at, t)
    at += LINE
    if (!((X_PARAMETER >> bit) & 1)) continue
    addStep(at, t, q)
    at += LINE
  }
  // one inversion for all: of the product of third coefficients, of which the products of those before are kept
  copy(sum, oneFp2)
  for (let i: usize = 0; i < STEPS; i++) {
    copy(products + i * PAIR, sum)
    multiply(sum, sum, lines + i * LINE + 2 * PAIR)
  }
  invert(c, sum)
  for (let i = STEPS; i > 0; i--) {
    at = lines + (i - 1) * LINE
    multiply(a, c, products + (i - 1) * PAIR)
    multiply(c, c, at + 2 * PAIR)
    multiply(at, at, a)
    multiply(at + PAIR, at + PAIR, a)
  }
}

/**
 * As `millerLoop`, of two factors with lines that {@link prepareLines} made. In place of x and y these have 1 / y and x / y: lines
 * are divided by y too.
 */
export function preparedMillerLoop(z: usize, factor0: usize, lines0: usize, factor1: usize, lines1: usize): void {
  setOne12(z)
  let step: usize = 0
  for (let bit: i32 = 62; bit >= 0; bit--) {
    if (bit < 62) square12(z, z)
    const steps: usize = ((X_PARAMETER >> bit) & 1) != 0 ? 2 : 1
    for (let end = step + steps * LINE; step < end; step += LINE) {
      multiplyByPreparedLineAt(z, lines0 + step, factor0)
      multiplyByPreparedLineAt(z, lines1 + step, factor1)
    }
  }
  conjugate12(z, z)
}

function multiplyByPreparedLineAt(z: usize, line: usize, factor: usize): void {
  multiplyLanes(atY, line, factor)
  multiplyLanes(atX, line + PAIR, factor + PAIR)
  multiplyByMonicLine(z, atY, atX)
}

const f = memory.data(i32(FP12), 16)
const f0 = memory.data(i32(FP12), 16)
const f1 = memory.data(i32(FP12), 16)
const f2 = memory.data(i32(FP12), 16)

/**
 * z to the power of 3(p¹² − 1)/r, which is one if and only if that without the factor 3 is: (p⁶ − 1)(p² + 1), then
 * (x − 1)²(x + p)(x² + p² − 1) + 3 (Hayashida, Hayasaka, Teruya: Efficient final exponentiation via cyclotomic structure).
 */
export function finalExponentiation(z: usize): void {
  intoCyclotomicSubgroup(f, z)
  // f1 = f to the x − 1, then that to the x − 1, then to the x + p
  powerOfParameter(f1, f)
  conjugate12(f2, f)
  multiply12(f1, f1, f2)
  powerOfParameter(f2, f1)
  conjugate12(f1, f1)
  multiply12(f1, f1, f2)
  powerOfParameter(f2, f1)
  frobenius12(f1, f1)
  multiply12(f1, f1, f2)
  // f1 to the x² + p² − 1, times f³
  powerOfParameter(f0, f1)
  powerOfParameter(f2, f0)
  frobenius12(f0, f1)
  frobenius12(f0, f0)
  conjugate12(f1, f1)
  multiply12(f1, f1, f2)
  multiply12(f1, f1, f0)
  cyclotomicSquare12(f0, f)
  multiply12(f, f, f0)
  multiply12(z, f, f1)
}
