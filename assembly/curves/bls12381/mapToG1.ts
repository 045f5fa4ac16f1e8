// Maps Fp to G1 (RFC 9380, BLS12381G1_XMD:SHA-256_SSWU_RO_'s map_to_curve and clear_cofactor): the simplified SWU map to a curve
// E′: y² = x³ + A·x + B, the isogeny of degree 11 from there to the curve, and the cofactor cleared. All is in the first lane.
import { parityLanes, powerLanes, zeroLanes } from '../conversions'
import { add, addReduced, copy, copyLane, multiplyLanes, negate, oneLanes, PAIR, scale, subtract } from '../field'
import { invertFirst } from '../inversion'
import { BYTES, LIMBS } from '../parameters'
import { addPoints, Lanes, POINT } from '../points'
import { multiplySingleByParameter } from './single'
import { curveLimbs, kernelLimbs, xLimbs, yLimbs } from './isogeny'
import { squareRoot, squareRootLanes } from './roots'

/** Z of the map, which is not a square. */
const Z: i32 = 11

const X_COEFFICIENTS: usize = 12
const Y_COEFFICIENTS: usize = 16
const KERNEL_COEFFICIENTS: usize = 6

const curveA = memory.data(i32(PAIR), 16)
const curveB = memory.data(i32(PAIR), 16)
const z = memory.data(i32(PAIR), 16)
/** A root of −Z. */
const rootOfMinusZ = memory.data(i32(PAIR), 16)
/** (p − 3)/4, big-endian. */
const exponent = memory.data(i32(BYTES), 16)
/** Coefficients of the numerators of y and of x, side by side, and of h. */
const numerators = memory.data(i32(Y_COEFFICIENTS) * i32(PAIR), 16)
const kernel = memory.data(i32(KERNEL_COEFFICIENTS) * i32(PAIR), 16)

const t0 = memory.data(i32(PAIR), 16)
const t1 = memory.data(i32(PAIR), 16)
makeConstants()

/** Puts the number that begins at `limbs` into a lane. */
function setLane(to: usize, lane: usize, limbs: usize): void {
  for (let i: usize = 0; i < LIMBS; i++) store<u32>(to + (i << 3) + (lane << 2), load<u32>(limbs + (i << 2)))
}

function makeConstants(): void {
  const size = LIMBS << 2
  setLane(curveA, 0, curveLimbs)
  setLane(curveB, 0, curveLimbs + size)
  scale(z, oneLanes, Z)
  negate(t0, z)
  squareRootLanes(rootOfMinusZ, t0)
  // (p + 1)/4 less 1
  memory.copy(exponent, squareRoot, BYTES)
  store<u8>(exponent + BYTES - 1, load<u8>(exponent + BYTES - 1) - 1)
  for (let i: usize = 0; i < Y_COEFFICIENTS; i++) setLane(numerators + i * PAIR, 0, yLimbs + i * size)
  const skipped = Y_COEFFICIENTS - X_COEFFICIENTS
  for (let i: usize = 0; i < X_COEFFICIENTS; i++) setLane(numerators + (i + skipped) * PAIR, 1, xLimbs + i * size)
  for (let i: usize = 0; i < KERNEL_COEFFICIENTS; i++) setLane(kernel + i * PAIR, 0, kernelLimbs + i * size)
}

/** `to` = the value of polynomials at x, in each lane; coefficients are below the modulus, so that each sum is as a loose one. */
function evaluate(to: usize, coefficients: usize, count: usize, x: usize): void {
  copy(to, coefficients)
  for (let i: usize = 1; i < count; i++) {
    multiplyLanes(to, to, x)
    add(to, to, coefficients + i * PAIR)
  }
  scale(to, to, 1)
}

const zt2 = memory.data(i32(PAIR), 16)
const numerator = memory.data(i32(PAIR), 16)
const denominator = memory.data(i32(PAIR), 16)
/** u and v of the ratio y² = u/v whose root is taken. */
const u = memory.data(i32(PAIR), 16)
const v = memory.data(i32(PAIR), 16)
const x = memory.data(i32(PAIR), 16)
const y = memory.data(i32(PAIR), 16)
const h = memory.data(i32(PAIR), 16)
const values = memory.data(i32(PAIR), 16)
const point = memory.data(i32(POINT), 16)

/** Makes (x, y) the point of E′ that t is mapped to (RFC 9380, section F.2, with sqrt_ratio of F.2.1.2). */
function mapToIsogenous(t: usize): void {
  // 1. x1 = numerator / denominator
  multiplyLanes(t0, t, t)
  multiplyLanes(zt2, t0, z)
  multiplyLanes(t0, zt2, zt2)
  addReduced(t0, t0, zt2)
  addReduced(t1, t0, oneLanes)
  multiplyLanes(numerator, t1, curveB)
  if ((zeroLanes(t0) & 1) != 0) copy(t1, z)
  else negate(t1, t0)
  multiplyLanes(denominator, t1, curveA)
  // 2. its y² as u / v
  multiplyLanes(t0, denominator, denominator)
  multiplyLanes(v, t0, denominator)
  multiplyLanes(u, numerator, numerator)
  multiplyLanes(t1, t0, curveA)
  addReduced(u, u, t1)
  multiplyLanes(u, u, numerator)
  multiplyLanes(t1, v, curveB)
  addReduced(u, u, t1)
  // 3. a root of the ratio, u·v·(u·v³)^((p − 3)/4), or of Z times the ratio
  multiplyLanes(t0, v, v)
  multiplyLanes(t1, u, v)
  multiplyLanes(t0, t0, t1)
  powerLanes(y, t0, exponent)
  multiplyLanes(y, y, t1)
  multiplyLanes(t0, y, y)
  multiplyLanes(t0, t0, v)
  subtract(t0, t0, u)
  if ((zeroLanes(t0) & 1) == 0) {
    // x2 = Z·t²·x1 has one
    multiplyLanes(y, y, rootOfMinusZ)
    multiplyLanes(t0, zt2, t)
    multiplyLanes(y, y, t0)
    multiplyLanes(numerator, numerator, zt2)
  }
  if (((parityLanes(y) ^ parityLanes(t)) & 1) != 0) negate(y, y)
  invertFirst(t0, denominator)
  multiplyLanes(x, numerator, t0)
}

/** Makes `to` the projective point of G1 that the element in the first lane of t is mapped to. */
export function mapToG1(to: usize, t: usize): void {
  mapToIsogenous(t)
  // the isogeny: (X / h², y·Y / h³); where h is 0 it is infinity, and so is (0, y·Y, 0)
  copyLane(x, 1, x, 0)
  evaluate(values, numerators, Y_COEFFICIENTS, x)
  evaluate(h, kernel, KERNEL_COEFFICIENTS, x)
  copyLane(t0, 0, values, 1)
  multiplyLanes(point, t0, h)
  multiplyLanes(point + PAIR, values, y)
  multiplyLanes(t0, h, h)
  multiplyLanes(point + 2 * PAIR, t0, h)
  // times 1 − x, of the negative x
  multiplySingleByParameter(to, point)
  addPoints<Lanes>(to, to, point)
}
