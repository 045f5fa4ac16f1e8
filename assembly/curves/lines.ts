// Steps of Miller loops: lines through points of the twist, which are homogeneous there: x = X / Z, y = Y / Z.
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
} from './field'
import { Fp2, timesTripleConstant } from './points'
import { multiplyByLine } from './tower'

/** A line before a point (x, y) of G1 is put in: three coefficients, the second for x, the third for y. */
export const LINE: usize = 3 * PAIR

/** A factor of the product: x and y of the point of G1 in both lanes, then Q (x, y) and T = (X, Y, Z) on the twist. */
export const FACTOR: usize = 7 * PAIR
export const FACTOR_Y: usize = PAIR
export const FACTOR_Q: usize = 2 * PAIR
export const FACTOR_T: usize = 4 * PAIR

/** T = Q: where a Miller loop begins. */
export function beginFactor(factor: usize): void {
  const t = factor + FACTOR_T
  memory.copy(t, factor + FACTOR_Q, 2 * PAIR)
  copy(t + 2 * PAIR, oneFp2)
}

const a = memory.data(i32(PAIR), 16)
const b = memory.data(i32(PAIR), 16)
const c = memory.data(i32(PAIR), 16)
const e = memory.data(i32(PAIR), 16)
const h = memory.data(i32(PAIR), 16)
const sum = memory.data(i32(PAIR), 16)

/** T = 2·T; the line is the tangent in T. */
export function doubleStep(line: usize, t: usize): void {
  const x = t
  const y = t + PAIR
  const z = t + 2 * PAIR
  square(b, y)
  square(c, z)
  timesTripleConstant<Fp2>(e, c)
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
export function addStep(line: usize, t: usize, q: usize): void {
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

const atX = memory.data(i32(PAIR), 16)
const atY = memory.data(i32(PAIR), 16)

/** Multiplies by a line at the point of G1 of a factor. */
export function multiplyByLineAt(z: usize, line: usize, factor: usize): void {
  multiplyLanes(atX, line + PAIR, factor)
  multiplyLanes(atY, line + 2 * PAIR, factor + FACTOR_Y)
  // the coefficients of 1 and of w³ change places with the type of the twist
  if (IS_BN254) multiplyByLine(z, atY, atX, line)
  else multiplyByLine(z, line, atX, atY)
}
