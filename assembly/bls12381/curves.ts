// The curves of BLS12-381: y² = x³ + 4 over Fp in lanes, two points side by side, and y² = x³ + 4ξ over Fp2. Points are projective:
// x = X / Z, y = Y / Z, and infinity is (0, 1, 0). The formulas are complete (Renes, Costello, Batina: Complete addition formulas for
// prime order elliptic curves, algorithms 7 and 9): they hold for all points, since neither curve has one of order 2.
import { invert, isZero, zeroLanes } from './conversions'
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
import { frobeniusFactors } from './tower'

/** What coordinates are: types that stand for the field in generic functions. */
export type Lanes = u8
export type Fp2 = u16

export const POINT: usize = 336
const Y: usize = PAIR
const Z: usize = 2 * PAIR

/** |x|, of which order, trace and modulus are polynomials; x itself is negative. */
export const X_PARAMETER: u64 = 0xd201000000010000

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

const operand0 = memory.data(224, 16)
const operand1 = memory.data(224, 16)

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
function timesTripleConstant<F>(z: usize, x: usize): void {
  if (isLanes<F>()) {
    scale(z, x, 12)
  } else {
    timesNonResidue(z, x)
    scale(z, z, 12)
  }
}

const t0 = memory.data(112, 16)
const t1 = memory.data(112, 16)
const t2 = memory.data(112, 16)
const t3 = memory.data(112, 16)
const t4 = memory.data(112, 16)
const t5 = memory.data(112, 16)
const t6 = memory.data(112, 16)

/** z = p + q, any of which may be the same. */
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

/** z = p + q, of which q is affine, (x, y), and not infinity (algorithm 8). */
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

/** z = |x|·p; z is not p. */
export function multiplyByParameter<F>(z: usize, p: usize): void {
  copyPoint(z, p)
  for (let bit: i32 = 62; bit >= 0; bit--) {
    doublePoint<F>(z, z)
    if ((X_PARAMETER >> bit) & 1) addPoints<F>(z, z, p)
  }
}

export const constant4 = memory.data(112, 16)
const constantTwist = memory.data(112, 16)
scale(constant4, oneLanes, 4)
timesNonResidue(constantTwist, oneFp2)
scale(constantTwist, constantTwist, 4)

/** Which of the lanes have an affine point (x, y) of the curve: bit 0 and bit 1. */
export function lanesOnCurve(p: usize): u32 {
  multiplyLanes(t0, p, p)
  multiplyLanes(t0, t0, p)
  add(t0, t0, constant4)
  multiplyLanes(t1, p + Y, p + Y)
  subtract(t0, t1, t0)
  return zeroLanes(t0)
}

/** Whether (x, y) is on the twist. */
export function isOnTwist(p: usize): bool {
  square(t0, p)
  multiply(t0, t0, p)
  add(t0, t0, constantTwist)
  square(t1, p + Y)
  subtract(t0, t1, t0)
  return isZero(t0)
}

/** A cube root of 1 in both lanes: (βx, y) is −x²·(x, y) on points of the right order. */
export const beta = memory.data(112, 16)
/** ψ(x, y) = (x̄ · psiX, ȳ · psiY) on the twist is x·(x, y) on points of the right order. */
const psiX = memory.data(112, 16)
const psiY = memory.data(112, 16)
makeEndomorphisms()

function makeEndomorphisms(): void {
  // ξ to the (p − 1)/3 is β²·u, and β⁴ is β
  const factor = frobeniusFactors + PAIR
  copyLane(beta, 0, factor, 1)
  copyLane(beta, 1, factor, 1)
  multiplyLanes(beta, beta, beta)
  invert(psiX, factor)
  invert(psiY, frobeniusFactors + 2 * PAIR)
}

/** |x| times the points that {@link lanesOfOrder} was last asked about. */
export const multiple = memory.data(336, 16)
const multipleOfMultiple = memory.data(336, 16)

/** Which of the lanes have a point of the right order: bit 0 and bit 1. Points are affine (Z = 1) and on the curve. */
export function lanesOfOrder(p: usize): u32 {
  multiplyByParameter<Lanes>(multiple, p)
  multiplyByParameter<Lanes>(multipleOfMultiple, multiple)
  // −x²·p = (βx, y)
  multiplyLanes(t0, p, beta)
  multiplyLanes(t0, t0, multipleOfMultiple + Z)
  subtract(t0, t0, multipleOfMultiple)
  multiplyLanes(t1, p + Y, multipleOfMultiple + Z)
  add(t1, t1, multipleOfMultiple + Y)
  return zeroLanes(t0) & zeroLanes(t1)
}

/** z = ψ(p). */
export function applyPsi(z: usize, p: usize): void {
  conjugate(z, p)
  multiply(z, z, psiX)
  conjugate(z + Y, p + Y)
  multiply(z + Y, z + Y, psiY)
  conjugate(z + Z, p + Z)
}

const image = memory.data(336, 16)

/** Whether a point of the twist, affine and not infinity, has the right order: ψ(p) = x·p. */
export function isTwistOfOrder(p: usize): bool {
  multiplyByParameter<Fp2>(multiple, p)
  applyPsi(image, p)
  multiply(t0, image, multiple + Z)
  subtract(t0, t0, multiple)
  multiply(t1, image + Y, multiple + Z)
  add(t1, t1, multiple + Y)
  return isZero(t0) && isZero(t1)
}
