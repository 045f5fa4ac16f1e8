// Of the pairing of BLS12-381: the Miller loop for two points of G2 whose lines are prepared, and the final exponentiation.
import { intoCyclotomicSubgroup } from '../exponentiation'
import { addReduced, copy, multiply, multiplyLanes, oneFp2, PAIR, sumLanes2, timesNonResidue } from '../field'
import { invert } from '../inversion'
import { addStep, beginFactor, doubleStep, FACTOR_Q, FACTOR_T, FACTOR_Y, LINE } from '../lines'
import { X_PARAMETER } from '../parameters'
import {
  conjugate12,
  copy12,
  cyclotomicSquare12,
  FP12,
  frobenius12,
  multiply12,
  square12,
} from '../tower'
import { powerOfX } from './powers'

/** Doublings and additions of the Miller loop: bits of |x| below the highest, and those of them that are set. */
const STEPS: usize = 68

const products = memory.data(i32(STEPS) * i32(PAIR), 16)
const lines0 = memory.data(i32(STEPS) * i32(LINE), 16)
const lines1 = memory.data(i32(STEPS) * i32(LINE), 16)
const a = memory.data(i32(PAIR), 16)
const c = memory.data(i32(PAIR), 16)
const sum = memory.data(i32(PAIR), 16)

/**
 * Makes the lines of a factor's point of G2, A + B·x·w² + y·w³ at a point (x, y) of G1: they are divided by their third coefficients.
 * (Factors in Fp2 do not change a pairing.)
 */
function makeLines(lines: usize, factor: usize): void {
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
  // one inversion for all: of the product of all third coefficients; the partial products before it are stored
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

/** The products of both points' lines in each step: A·A′, B·B′, A·B′, A′·B, A, A′, B, B′. */
const LINE_PRODUCT: usize = 8 * PAIR
const lineProducts = memory.data(i32(STEPS) * i32(LINE_PRODUCT), 16)

/** Prepares {@link preparedMillerLoop} for the points of G2 of two factors. */
export function prepareLines(factor0: usize, factor1: usize): void {
  makeLines(lines0, factor0)
  makeLines(lines1, factor1)
  for (let i: usize = 0; i < STEPS; i++) {
    const first = lines0 + i * LINE
    const second = lines1 + i * LINE
    const to = lineProducts + i * LINE_PRODUCT
    multiply(to, first, second)
    multiply(to + PAIR, first + PAIR, second + PAIR)
    multiply(to + 2 * PAIR, first, second + PAIR)
    multiply(to + 3 * PAIR, second, first + PAIR)
    copy(to + 4 * PAIR, first)
    copy(to + 5 * PAIR, second)
    copy(to + 6 * PAIR, first + PAIR)
    copy(to + 7 * PAIR, second + PAIR)
  }
}

/** Of both points (x, y) and (x′, y′): ξ·y·y′, x·x′, x·y′ and x′·y. */
const nonResidueYY = memory.data(i32(PAIR), 16)
const xx = memory.data(i32(PAIR), 16)
const xy0 = memory.data(i32(PAIR), 16)
const xy1 = memory.data(i32(PAIR), 16)
const lineProduct = memory.data(i32(FP12), 16)

/** As `millerLoop`, of two factors whose points of G2 were prepared. The lines of a step are multiplied by each other first. */
export function preparedMillerLoop(z: usize, factor0: usize, factor1: usize): void {
  multiplyLanes(nonResidueYY, factor0 + FACTOR_Y, factor1 + FACTOR_Y)
  multiplyLanes(nonResidueYY, nonResidueYY, oneFp2)
  timesNonResidue(nonResidueYY, nonResidueYY)
  multiplyLanes(xx, factor0, factor1)
  multiplyLanes(xy0, factor0, factor1 + FACTOR_Y)
  multiplyLanes(xy1, factor1, factor0 + FACTOR_Y)
  let step = lineProducts
  let end = step
  for (let bit: i32 = 62; bit >= 0; bit--) {
    if (bit < 62) square12(z, z)
    end += (((X_PARAMETER >> bit) & 1) != 0 ? 2 : 1) * LINE_PRODUCT
    for (; step < end; step += LINE_PRODUCT) {
      setLineProduct(step, factor0, factor1)
      if (step == lineProducts) copy12(z, lineProduct)
      else multiply12(z, z, lineProduct)
    }
  }
  conjugate12(z, z)
}

/**
 * (A + B·x·w² + y·w³)(A′ + B′·x′·w² + y′·w³), where w⁶ is ξ: it has no power w. (Lines times y: factors in Fp do not change a
 * pairing.)
 */
function setLineProduct(step: usize, factor0: usize, factor1: usize): void {
  const w2 = lineProduct + PAIR
  const w4 = lineProduct + 2 * PAIR
  const w3 = lineProduct + 4 * PAIR
  const w5 = lineProduct + 5 * PAIR
  addReduced(lineProduct, step, nonResidueYY)
  sumLanes2(w2, step + 2 * PAIR, factor1, step + 3 * PAIR, factor0)
  sumLanes2(w3, step + 4 * PAIR, factor1 + FACTOR_Y, step + 5 * PAIR, factor0 + FACTOR_Y)
  multiplyLanes(w4, step + PAIR, xx)
  sumLanes2(w5, step + 6 * PAIR, xy0, step + 7 * PAIR, xy1)
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
  powerOfX(f1, f)
  conjugate12(f2, f)
  multiply12(f1, f1, f2)
  powerOfX(f2, f1)
  conjugate12(f1, f1)
  multiply12(f1, f1, f2)
  powerOfX(f2, f1)
  frobenius12(f1, f1)
  multiply12(f1, f1, f2)
  // f1 to the x² + p² − 1, times f³
  powerOfX(f0, f1)
  powerOfX(f2, f0)
  frobenius12(f0, f1)
  frobenius12(f0, f0)
  conjugate12(f1, f1)
  multiply12(f1, f1, f2)
  multiply12(f1, f1, f0)
  cyclotomicSquare12(f0, f)
  multiply12(f, f, f0)
  multiply12(z, f, f1)
}
