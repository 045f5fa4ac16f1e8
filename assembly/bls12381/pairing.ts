// The optimal ate pairing of BLS12-381 (Vercauteren: Optimal pairings), for products of many: the squarings of the Miller loop and the
// final exponentiation are done once for all. Points of the twist are homogeneous: x = X / Z, y = Y / Z.
import { invert } from './conversions'
import { X_PARAMETER } from './curves'
import {
  add,
  addReduced,
  copy,
  multiply,
  multiplyLanes,
  negate,
  oneFp2,
  PAIR,
  scale,
  square,
  subtract,
  timesNonResidue,
} from './field'
import {
  conjugate12,
  copy12,
  cyclotomicSquare12,
  frobenius12,
  invert12,
  multiply12,
  multiplyByLine,
  multiplyByMonicLine,
  setOne12,
  square12,
} from './tower'

/** A line before a point (x, y) of G1 is put in: three coefficients, the second for x, the third for y. */
const LINE: usize = 336
/** Doublings and additions of the Miller loop: bits of |x| below the highest, and those of them that are set. */
const STEPS: usize = 68

/** What a factor of the product is made of: x and y of the point of G1 in both lanes, then Q (x, y) and T = (X, Y, Z) on the twist. */
export const FACTOR: usize = 784
export const FACTOR_Y: usize = PAIR
export const FACTOR_Q: usize = 2 * PAIR
const FACTOR_T: usize = 4 * PAIR

const a = memory.data(112, 16)
const b = memory.data(112, 16)
const c = memory.data(112, 16)
const e = memory.data(112, 16)
const h = memory.data(112, 16)
const sum = memory.data(112, 16)

/** T = 2·T; the line is the tangent in T. */
function doubleStep(line: usize, t: usize): void {
  const x = t
  const y = t + PAIR
  const z = t + 2 * PAIR
  square(b, y)
  square(c, z)
  // three times the curve's constant, 4ξ
  timesNonResidue(e, c)
  scale(e, e, 12)
  multiply(a, x, y)
  addReduced(h, y, z)
  square(h, h)
  add(sum, b, c)
  subtract(h, h, sum)
  subtract(line, e, b)
  square(line + PAIR, x)
  scale(line + PAIR, line + PAIR, 3)
  negate(line + 2 * PAIR, h)
  // X = 2·xy·(b − 3e), Y = (b + 3e)² − 12e², Z = 4·b·h
  scale(c, e, 3)
  subtract(sum, b, c)
  multiply(x, a, sum)
  addReduced(x, x, x)
  addReduced(y, b, c)
  square(y, y)
  square(e, e)
  scale(e, e, 12)
  subtract(y, y, e)
  multiply(z, b, h)
  scale(z, z, 4)
}

/** T = T + Q; the line is that through both. */
function addStep(line: usize, t: usize, q: usize): void {
  const x = t
  const y = t + PAIR
  const z = t + 2 * PAIR
  const o = line + PAIR
  const l = line + 2 * PAIR
  multiply(a, q + PAIR, z)
  subtract(o, y, a)
  multiply(a, q, z)
  subtract(l, x, a)
  multiply(a, q, o)
  multiply(b, q + PAIR, l)
  subtract(line, a, b)
  square(c, o)
  square(sum, l)
  multiply(e, l, sum)
  multiply(c, z, c)
  multiply(h, x, sum)
  // a = e + z·o² − 2·x·l²
  addReduced(a, e, c)
  add(b, h, h)
  subtract(a, a, b)
  multiply(x, l, a)
  multiply(b, y, e)
  subtract(h, h, a)
  multiply(y, h, o)
  subtract(y, y, b)
  multiply(z, z, e)
  negate(o, o)
}

const atX = memory.data(112, 16)
const atY = memory.data(112, 16)

/** Multiplies by a line at the point of G1 of a factor. */
function multiplyByLineAt(z: usize, line: usize, factor: usize): void {
  multiplyLanes(atX, line + PAIR, factor)
  multiplyLanes(atY, line + 2 * PAIR, factor + FACTOR_Y)
  multiplyByLine(z, line, atX, atY)
}

const line = memory.data(336, 16)

/** Multiplies z by Miller functions of `count` factors. */
export function millerLoop(z: usize, factors: usize, count: usize): void {
  const end = factors + count * FACTOR
  for (let factor = factors; factor < end; factor += FACTOR) {
    const q = factor + FACTOR_Q
    const t = factor + FACTOR_T
    copy(t, q)
    copy(t + PAIR, q + PAIR)
    copy(t + 2 * PAIR, oneFp2)
  }
  setOne12(z)
  for (let bit: i32 = 62; bit >= 0; bit--) {
    if (bit < 62) square12(z, z)
    for (let factor = factors; factor < end; factor += FACTOR) {
      doubleStep(line, factor + FACTOR_T)
      multiplyByLineAt(z, line, factor)
    }
    if (!((X_PARAMETER >> bit) & 1)) continue
    for (let factor = factors; factor < end; factor += FACTOR) {
      addStep(line, factor + FACTOR_T, factor + FACTOR_Q)
      multiplyByLineAt(z, line, factor)
    }
  }
  // x is negative
  conjugate12(z, z)
}

const products = memory.data(7616, 16)

/**
 * The lines of a factor's point of G2, for {@link preparedMillerLoop}: divided by their third coefficients, which is left out. (Factors in
 * Fp2 do not change a pairing.)
 */
export function prepareLines(lines: usize, factor: usize): void {
  const q = factor + FACTOR_Q
  const t = factor + FACTOR_T
  copy(t, q)
  copy(t + PAIR, q + PAIR)
  copy(t + 2 * PAIR, oneFp2)
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
 * As {@link millerLoop}, of two factors with lines that {@link prepareLines} made. In place of x and y these have 1 / y and x / y: lines
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

const f = memory.data(672, 16)
const f0 = memory.data(672, 16)
const f1 = memory.data(672, 16)
const f2 = memory.data(672, 16)

/** z = y to the power of x, of the cyclotomic subgroup; z is not y. */
function powerOfParameter(z: usize, y: usize): void {
  copy12(z, y)
  for (let bit: i32 = 62; bit >= 0; bit--) {
    cyclotomicSquare12(z, z)
    if ((X_PARAMETER >> bit) & 1) multiply12(z, z, y)
  }
  conjugate12(z, z)
}

/**
 * z to the power of 3(p¹² − 1)/r, which is one if and only if that without the factor 3 is: (p⁶ − 1)(p² + 1), then
 * (x − 1)²(x + p)(x² + p² − 1) + 3 (Hayashida, Hayasaka, Teruya: Efficient final exponentiation via cyclotomic structure).
 */
export function finalExponentiation(z: usize): void {
  invert12(f0, z)
  conjugate12(f, z)
  multiply12(f, f, f0)
  frobenius12(f0, f)
  frobenius12(f0, f0)
  multiply12(f, f0, f)
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
