// Maps Fp2 to G2 (RFC 9380, BLS12381G2_XMD:SHA-256_SSWU_RO_'s map_to_curve and clear_cofactor): the simplified SWU map to a curve
// E′: y² = x³ + 240u·x + 1012ξ, the isogeny of degree 3 from there to the twist, and the cofactor cleared.
import { isZero, parityLanes, zeroLanes } from '../conversions'
import { addPoints, applyPsi, Fp2, multiplyByParameter, negatePoint, doublePoint, setInfinity } from '../points'
import {
  add,
  addReduced,
  copy,
  copyLane,
  multiply,
  multiplyLanes,
  negate,
  oneFp2,
  oneLanes,
  PAIR,
  scale,
  setZero,
  square,
  subtract,
} from '../field'
import { invert, invertFirst } from '../inversion'
import { squareRootLanes } from './roots'

/** E′, and Z = −(2 + u) of the map. */
const curveA = memory.data(i32(PAIR), 16)
const curveB = memory.data(i32(PAIR), 16)
const z = memory.data(i32(PAIR), 16)
const minusBOverA = memory.data(i32(PAIR), 16)
const bOverZA = memory.data(i32(PAIR), 16)
/** The x of the isogeny's kernel, 6u − 6; 48u and 16ξ of its formula; ½ in both lanes. */
const kernelX = memory.data(i32(PAIR), 16)
const fortyEightU = memory.data(i32(PAIR), 16)
const sixteenXi = memory.data(i32(PAIR), 16)
const half = memory.data(i32(PAIR), 16)
const t0 = memory.data(i32(PAIR), 16)
const t1 = memory.data(i32(PAIR), 16)
const t2 = memory.data(i32(PAIR), 16)
makeConstants()

/** `to` = a + b·u for small integers that are not negative. */
function setSmall(to: usize, a: i32, b: i32): void {
  setZero(to)
  for (let bit: i32 = 10; bit >= 0; bit--) {
    addReduced(to, to, to)
    setZero(t0)
    if ((a >> bit) & 1) copyLane(t0, 0, oneLanes, 0)
    if ((b >> bit) & 1) copyLane(t0, 1, oneLanes, 1)
    addReduced(to, to, t0)
  }
}

function makeConstants(): void {
  setSmall(curveA, 0, 240)
  setSmall(curveB, 1012, 1012)
  setSmall(z, 2, 1)
  negate(z, z)
  setSmall(kernelX, 6, 0)
  setSmall(t1, 0, 6)
  subtract(kernelX, t1, kernelX)
  setSmall(fortyEightU, 0, 48)
  setSmall(sixteenXi, 16, 16)
  addReduced(half, oneLanes, oneLanes)
  invertFirst(half, half)
  copyLane(half, 1, half, 0)
  invert(t1, curveA)
  multiply(t1, curveB, t1)
  negate(minusBOverA, t1)
  invert(t2, z)
  multiply(bOverZA, t1, t2)
}

const x1 = memory.data(i32(PAIR), 16)
const x2 = memory.data(i32(PAIR), 16)
const y = memory.data(i32(PAIR), 16)
const zt2 = memory.data(i32(PAIR), 16)
const g1 = memory.data(i32(PAIR), 16)
const g2 = memory.data(i32(PAIR), 16)
const norms = memory.data(i32(PAIR), 16)
const roots = memory.data(i32(PAIR), 16)

/** z = x³ + 240u·x + 1012ξ. */
function rightSide(to: usize, x: usize): void {
  square(to, x)
  addReduced(to, to, curveA)
  multiply(to, to, x)
  addReduced(to, to, curveB)
}

/** A lane of z = c0² + c1² of x: a square if and only if x is one. */
function normTo(to: usize, lane: usize, x: usize): void {
  multiplyLanes(t0, x, x)
  copyLane(t1, 0, t0, 1)
  copyLane(t1, 1, t0, 0)
  addReduced(t0, t0, t1)
  copyLane(to, lane, t0, 0)
}

/** `y` becomes a root of the square x, whose norm has a root in that lane of `roots`. */
function squareRootOf(x: usize, lane: usize): void {
  // lanes (c0 + s)/2 and (c0 − s)/2 with s² = c0² + c1²: where c1 is not 0, one of them is a square
  // r², and the root is r + c1/(2r)·u
  copyLane(t1, 0, roots, lane)
  negate(t2, roots)
  copyLane(t1, 1, t2, lane)
  copyLane(t0, 0, x, 0)
  copyLane(t0, 1, x, 0)
  add(t0, t0, t1)
  multiplyLanes(t0, t0, half)
  squareRootLanes(t1, t0)
  multiplyLanes(t2, t1, t1)
  subtract(t2, t2, t0)
  const good = zeroLanes(t2) & ~zeroLanes(t0)
  setZero(y)
  if (good != 0) {
    const chosen: usize = (good & 1) != 0 ? 0 : 1
    copyLane(y, 0, t1, chosen)
    add(t2, y, y)
    invertFirst(t2, t2)
    copyLane(t0, 0, x, 1)
    multiplyLanes(t2, t2, t0)
    copyLane(y, 1, t2, 0)
    return
  }
  // c1 is 0, and c0 is not a square: −c0 is
  negate(t0, x)
  squareRootLanes(t1, t0)
  copyLane(y, 1, t1, 0)
}

/** Returns the sign of RFC 9380: the parity of c0, of c1 where c0 is 0. */
function sign(x: usize): u32 {
  const parities = parityLanes(x)
  return (zeroLanes(x) & 1) != 0 ? parities >> 1 : parities & 1
}

const point = memory.data(3 * i32(PAIR), 16)
const multiple = memory.data(3 * i32(PAIR), 16)
const image = memory.data(3 * i32(PAIR), 16)

/** Makes `to` the projective point of G2 that t is mapped to. */
export function mapToG2(to: usize, t: usize): void {
  // 1. x1 and x2 of E′: one of the two has a y
  square(zt2, t)
  multiply(zt2, zt2, z)
  square(t0, zt2)
  addReduced(t0, t0, zt2)
  if (isZero(t0)) {
    copy(x1, bOverZA)
  } else {
    invert(x1, t0)
    addReduced(x1, x1, oneFp2)
    multiply(x1, x1, minusBOverA)
  }
  multiply(x2, x1, zt2)
  rightSide(g1, x1)
  rightSide(g2, x2)
  // 2. y, with the sign of t
  normTo(norms, 0, g1)
  normTo(norms, 1, g2)
  squareRootLanes(roots, norms)
  multiplyLanes(t0, roots, roots)
  subtract(t0, t0, norms)
  const isFirst = (zeroLanes(t0) & 1) != 0
  const x = isFirst ? x1 : x2
  squareRootOf(isFirst ? g1 : g2, isFirst ? 0 : 1)
  if (sign(y) != sign(t)) negate(y, y)
  // 3. the isogeny (Vélu): with d the distance from the kernel, (x + 48u/d + 16ξ/d²)/9 and −y(1 − 48u/d² − 32ξ/d³)/27
  const d = x2
  const d2 = g1
  const d3 = g2
  copy(t2, x)
  subtract(d, x, kernelX)
  if (isZero(d)) {
    setInfinity<Fp2>(to)
    return
  }
  square(d2, d)
  multiply(d3, d2, d)
  multiply(t0, d, fortyEightU)
  multiply(t1, t2, d2)
  addReduced(t1, t1, t0)
  addReduced(t1, t1, sixteenXi)
  multiply(t1, t1, d)
  scale(point, t1, 3)
  subtract(t1, t0, d3)
  addReduced(t1, t1, sixteenXi)
  addReduced(t1, t1, sixteenXi)
  multiply(point + PAIR, t1, y)
  scale(point + 2 * PAIR, d3, 9)
  scale(point + 2 * PAIR, point + 2 * PAIR, 3)
  clearCofactor(to)
}

/** `to` = (x² − x − 1)·p + (x − 1)·ψ(p) + ψ²(2·p) of the `point` p (Budroni, Pintore: Efficient hash maps to G2 on BLS curves). */
function clearCofactor(to: usize): void {
  // ψ²(2p) − ψ(p) − p
  doublePoint<Fp2>(to, point)
  applyPsi(to, to)
  applyPsi(to, to)
  applyPsi(image, point)
  negatePoint(multiple, image)
  addPoints<Fp2>(to, to, multiple)
  negatePoint(multiple, point)
  addPoints<Fp2>(to, to, multiple)
  // −x·p, and x·(x·p + ψ(p)); x is negative
  multiplyByParameter<Fp2>(multiple, point)
  addPoints<Fp2>(to, to, multiple)
  negatePoint(image, image)
  addPoints<Fp2>(image, image, multiple)
  multiplyByParameter<Fp2>(point, image)
  addPoints<Fp2>(to, to, point)
}
