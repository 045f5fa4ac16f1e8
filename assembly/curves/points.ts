// The curve y² = x³ + b over Fp in lanes, two points side by side, and its twist over Fp2: y² = x³ + b·ξ for BLS12-381, y² = x³ + b/ξ for
// bn254. Points are projective: x = X / Z, y = Y / Z, and infinity is (0, 1, 0). The formulas are complete (Renes, Costello, Batina:
// Complete addition formulas for prime order elliptic curves, algorithms 7 to 9): they hold for all points, since none of these curves
// has one of order 2.
import { isZero, zeroLanes } from './conversions'
import {
  add,
  addReduced,
  conjugate,
  copy,
  copyLane,
  multiply,
  multiplyLanes,
  negate,
  oneFp2,
  oneLanes,
  PAIR,
  prepare,
  scale,
  setZero,
  square,
  subtract,
  subtractTwo,
  sum2,
  sumLanes2,
  timesNonResidue,
} from './field'
import { invert } from './inversion'
import { CURVE_CONSTANT, X_PARAMETER } from './parameters'
import { frobeniusFactors } from './tower'

/** Kinds of coordinates: types that stand for the field in generic functions. */
export type Lanes = u8
export type Fp2 = u16

export const POINT: usize = 3 * PAIR
const Y: usize = PAIR
const Z: usize = 2 * PAIR

// @ts-ignore: decorator
@inline
function isLanes<F>(): bool {
  return sizeof<F>() == sizeof<Lanes>()
}

// @ts-ignore: decorator
@inline
function times<F>(z: usize, x: usize, y: usize): void {
  if (isLanes<F>()) multiplyLanes(z, x, y)
  else multiply(z, x, y)
}

// @ts-ignore: decorator
@inline
function squared<F>(z: usize, x: usize): void {
  if (isLanes<F>()) multiplyLanes(z, x, x)
  else square(z, x)
}

const operand0 = memory.data(2 * i32(PAIR), 16)
const operand1 = memory.data(2 * i32(PAIR), 16)

/** z = x0 · y0 + x1 · y1. */
// @ts-ignore: decorator
@inline
function productSum<F>(z: usize, x0: usize, y0: usize, x1: usize, y1: usize): void {
  if (isLanes<F>()) {
    sumLanes2(z, x0, y0, x1, y1)
  } else {
    prepare(operand0, y0)
    prepare(operand1, y1)
    sum2(z, x0, operand0, x1, operand1)
  }
}

/** z = x times three times the curve's constant. */
// @ts-ignore: decorator
@inline
export function timesTripleConstant<F>(z: usize, x: usize): void {
  if (isLanes<F>()) {
    scale(z, x, 3 * CURVE_CONSTANT)
  } else if (IS_BN254) {
    multiply(z, x, tripleTwist)
  } else {
    timesNonResidue(z, x)
    scale(z, z, 3 * CURVE_CONSTANT)
  }
}

const t0 = memory.data(i32(PAIR), 16)
const t1 = memory.data(i32(PAIR), 16)
const t2 = memory.data(i32(PAIR), 16)
const t3 = memory.data(i32(PAIR), 16)
const t4 = memory.data(i32(PAIR), 16)
const t5 = memory.data(i32(PAIR), 16)
const t6 = memory.data(i32(PAIR), 16)

/** z = p + q. The same address may be passed for several of them. */
export function addPoints<F>(z: usize, p: usize, q: usize): void {
  times<F>(t0, p, q)
  times<F>(t1, p + Y, q + Y)
  times<F>(t2, p + Z, q + Z)
  crossTerm<F>(t3, p, p + Y, q, q + Y, t0, t1)
  crossTerm<F>(t4, p + Y, p + Z, q + Y, q + Z, t1, t2)
  crossTerm<F>(t5, p, p + Z, q, q + Z, t0, t2)
  scale(t0, t0, 3)
  timesTripleConstant<F>(t2, t2)
  timesTripleConstant<F>(t5, t5)
  add(t6, t1, t2)
  subtract(t1, t1, t2)
  productSum<F>(z + Y, t1, t6, t0, t5)
  productSum<F>(z + Z, t6, t4, t0, t3)
  negate(t5, t5)
  productSum<F>(z, t3, t1, t4, t5)
}

/** z = p + q, where q is affine, (x, y), and not infinity (algorithm 8). */
export function addAffine<F>(z: usize, p: usize, q: usize): void {
  times<F>(t0, p, q)
  times<F>(t1, p + Y, q + Y)
  crossTerm<F>(t3, p, p + Y, q, q + Y, t0, t1)
  times<F>(t4, p + Z, q + Y)
  addReduced(t4, t4, p + Y)
  times<F>(t5, p + Z, q)
  addReduced(t5, t5, p)
  timesTripleConstant<F>(t2, p + Z)
  scale(t0, t0, 3)
  timesTripleConstant<F>(t5, t5)
  add(t6, t1, t2)
  subtract(t1, t1, t2)
  productSum<F>(z + Y, t1, t6, t0, t5)
  productSum<F>(z + Z, t6, t4, t0, t3)
  negate(t5, t5)
  productSum<F>(z, t3, t1, t4, t5)
}

/** z = (a + b)(c + d) − ac − bd. */
function crossTerm<F>(z: usize, a: usize, b: usize, c: usize, d: usize, ac: usize, bd: usize): void {
  add(z, a, b)
  add(t6, c, d)
  times<F>(z, z, t6)
  subtractTwo(z, z, ac, bd)
}

/** z = 2p, which may be the same. */
export function doublePoint<F>(z: usize, p: usize): void {
  squared<F>(t0, p + Y)
  times<F>(t1, p + Y, p + Z)
  squared<F>(t2, p + Z)
  times<F>(t3, p, p + Y)
  timesTripleConstant<F>(t2, t2)
  scale(t4, t0, 8)
  add(t5, t0, t2)
  scale(t6, t2, 3)
  subtract(t0, t0, t6)
  times<F>(z + Z, t1, t4)
  productSum<F>(z + Y, t0, t5, t2, t4)
  add(t0, t0, t0)
  times<F>(z, t0, t3)
}

export function copyPoint(z: usize, p: usize): void {
  memory.copy(z, p, POINT)
}

export function setInfinity<F>(z: usize): void {
  setZero(z)
  copy(z + Y, isLanes<F>() ? oneLanes : oneFp2)
  setZero(z + Z)
}

export function negatePoint(z: usize, p: usize): void {
  copy(z, p)
  negate(z + Y, p + Y)
  copy(z + Z, p + Z)
}

/** z = |x|·p of the parameter x; z is not p. */
export function multiplyByParameter<F>(z: usize, p: usize): void {
  copyPoint(z, p)
  for (let bit: i32 = 62 - i32(clz(X_PARAMETER)); bit >= 0; bit--) {
    doublePoint<F>(z, z)
    if ((X_PARAMETER >> bit) & 1) addPoints<F>(z, z, p)
  }
}

export const curveConstant = memory.data(i32(PAIR), 16)
const twistConstant = memory.data(i32(PAIR), 16)
const tripleTwist = memory.data(i32(PAIR), 16)
scale(curveConstant, oneLanes, CURVE_CONSTANT)
timesNonResidue(twistConstant, oneFp2)
if (IS_BN254) invert(twistConstant, twistConstant)
scale(twistConstant, twistConstant, CURVE_CONSTANT)
scale(tripleTwist, twistConstant, 3)

/** Returns which of the lanes have an affine point (x, y) of the curve: bit 0 and bit 1. */
export function lanesOnCurve(p: usize): u32 {
  multiplyLanes(t0, p, p)
  multiplyLanes(t0, t0, p)
  add(t0, t0, curveConstant)
  multiplyLanes(t1, p + Y, p + Y)
  subtract(t0, t1, t0)
  return zeroLanes(t0)
}

/** Returns whether (x, y) is on the twist. */
export function isOnTwist(p: usize): bool {
  square(t0, p)
  multiply(t0, t0, p)
  add(t0, t0, twistConstant)
  square(t1, p + Y)
  subtract(t0, t1, t0)
  return isZero(t0)
}

/** ψ(x, y) = (x̄ · psiX, ȳ · psiY): the Frobenius map of the curve, on the twist. */
const psiX = memory.data(i32(PAIR), 16)
const psiY = memory.data(i32(PAIR), 16)
if (IS_BN254) {
  copy(psiX, frobeniusFactors + PAIR)
  copy(psiY, frobeniusFactors + 2 * PAIR)
} else {
  invert(psiX, frobeniusFactors + PAIR)
  invert(psiY, frobeniusFactors + 2 * PAIR)
}

/** z = ψ(p). */
export function applyPsi(z: usize, p: usize): void {
  conjugate(z, p)
  multiply(z, z, psiX)
  conjugate(z + Y, p + Y)
  multiply(z + Y, z + Y, psiY)
  conjugate(z + Z, p + Z)
}
