// Arithmetic of bn254 (alt_bn128) for Ethereum's precompiles, a module of its own (dist/bn254.wasm). Its host, src/evm/standard/bn254.ts,
// puts inputs in the encoding of EIP-196 and EIP-197 at `inputAddress`, and gets a status: 0, or the number of what is wrong with
// the first bad point.
import { areZeros, isZero, readLanes, writeLanes, zeroLanes } from '../conversions'
import {
  addReduced,
  conjugate,
  copy,
  copyLane,
  multiply,
  multiplyLanes,
  oneFp2,
  PAIR,
  scale,
  subtract,
  subtractTwo,
  swapLanes,
} from '../field'
import { invertFirst } from '../inversion'
import { FACTOR, FACTOR_Q } from '../lines'
import { BYTES } from '../parameters'
import {
  addPoints,
  applyPsi,
  doublePoint,
  Fp2,
  isOnTwist,
  Lanes,
  lanesOnCurve,
  multiplyByParameter,
  POINT,
  setInfinity,
} from '../points'
import { factors, isProductEmpty, multiplyByFactors, product } from '../product'
import { addLanesTogether, beginTerms, setScalars, sumTerms, TERM_Y, terms } from '../sums'
import { frobeniusFactors, isOne12 } from '../tower'
import { finalExponentiation } from './finalExponentiation'

/** Faults of a point; the host has the texts. */
const OK: i32 = 0
const BAD_ELEMENT: i32 = 1
const BAD_POINT: i32 = 2
/** Not a fault: the point at infinity, which has no coordinates. */
const INFINITY: i32 = 3

const G1_BYTES: usize = 2 * BYTES
const G2_BYTES: usize = 4 * BYTES
const PAIR_BYTES: usize = G1_BYTES + G2_BYTES

/** Room for 64 pairs. */
const input = memory.data(64 * i32(PAIR_BYTES), 16)
/** Two parts of a scalar for {@link writeMultiple}, 16 bytes each, little-endian. */
const scalars = memory.data(32, 16)
const output = memory.data(i32(G1_BYTES), 16)

export function inputAddress(): usize {
  return input
}

export function scalarsAddress(): usize {
  return scalars
}

export function outputAddress(): usize {
  return output
}

// ---- points

const two = memory.data(2 * i32(PAIR), 16)

/** Reads a point of G1, which is the whole curve, into (x, y) at z, in both lanes. */
function readG1(z: usize, bytes: usize): i32 {
  if (areZeros(bytes, G1_BYTES)) return INFINITY
  if (readLanes(two, bytes, bytes + BYTES) != 3) return BAD_ELEMENT
  for (let lane: usize = 0; lane < 2; lane++) {
    copyLane(z, lane, two, 0)
    copyLane(z + PAIR, lane, two, 1)
  }
  return lanesOnCurve(z) == 3 ? OK : BAD_POINT
}

/** Reads a point of G2 into (x, y) at z; each coordinate is c1, then c0. */
function readG2(z: usize, bytes: usize): i32 {
  if (areZeros(bytes, G2_BYTES)) return INFINITY
  const y = bytes + 2 * BYTES
  if ((readLanes(z, bytes + BYTES, bytes) & readLanes(z + PAIR, y + BYTES, y)) != 3) return BAD_ELEMENT
  return isOnTwist(z) && isTwistOfOrder(z) ? OK : BAD_POINT
}

const whole = memory.data(i32(POINT), 16)
const multiple = memory.data(i32(POINT), 16)
const image = memory.data(i32(POINT), 16)
const sum = memory.data(i32(POINT), 16)
const left = memory.data(i32(PAIR), 16)
const right = memory.data(i32(PAIR), 16)

/**
 * Returns whether an affine point q of the twist has the right order: (x + 1)q + ψ(xq) + ψ²(xq) =
 * ψ³(2xq) (El Housni, Guillevic, Piellard: Co-factor clearing and subgroup membership testing on
 * pairing-friendly curves, section 5.1).
 */
function isTwistOfOrder(q: usize): bool {
  memory.copy(whole, q, 2 * PAIR)
  copy(whole + 2 * PAIR, oneFp2)
  multiplyByParameter<Fp2>(multiple, whole)
  addPoints<Fp2>(sum, multiple, whole)
  applyPsi(image, multiple)
  addPoints<Fp2>(sum, sum, image)
  applyPsi(image, image)
  addPoints<Fp2>(sum, sum, image)
  applyPsi(image, image)
  doublePoint<Fp2>(image, image)
  return areEqual(sum, image)
}

/** Returns whether two projective points of the twist are the same. */
function areEqual(p: usize, q: usize): bool {
  const isInfinity = isZero(p + 2 * PAIR)
  if (isInfinity || isZero(q + 2 * PAIR)) return isInfinity && isZero(q + 2 * PAIR)
  for (let i: usize = 0; i < 2; i++) {
    multiply(left, p + i * PAIR, q + 2 * PAIR)
    multiply(right, q + i * PAIR, p + 2 * PAIR)
    subtract(left, left, right)
    if (!isZero(left)) return false
  }
  return true
}

const affine = memory.data(i32(PAIR), 16)

/** Writes a projective point's first lane to the output; two zeros are infinity. */
function writeG1(p: usize): void {
  memory.fill(output, 0, G1_BYTES)
  if ((zeroLanes(p + 2 * PAIR) & 1) != 0) return
  invertFirst(left, p + 2 * PAIR)
  copyLane(left, 1, left, 0)
  copy(affine, p)
  copyLane(affine, 1, p + PAIR, 0)
  multiplyLanes(affine, affine, left)
  writeLanes(output, output + BYTES, affine)
}

// ---- sums and multiples

const x = memory.data(i32(PAIR), 16)
const y = memory.data(i32(PAIR), 16)
const otherX = memory.data(i32(PAIR), 16)
const otherY = memory.data(i32(PAIR), 16)
const slope = memory.data(i32(PAIR), 16)
const run = memory.data(i32(PAIR), 16)

/** Writes the sum of the two points of the input to the output; both are read side by side. */
export function writeSum(): i32 {
  const second = input + G1_BYTES
  const below = readLanes(two, input, second) & readLanes(two + PAIR, input + BYTES, second + BYTES)
  const good = lanesOnCurve(two)
  for (let lane: usize = 0; lane < 2; lane++) {
    if (areZeros(input + lane * G1_BYTES, G1_BYTES)) continue
    if (((below >> u32(lane)) & 1) == 0) return BAD_ELEMENT
    if (((good >> u32(lane)) & 1) == 0) return BAD_POINT
  }
  if (areZeros(input, G1_BYTES)) memory.copy(output, second, G1_BYTES)
  else if (areZeros(second, G1_BYTES)) memory.copy(output, input, G1_BYTES)
  else writeAffineSum()
  return OK
}

/** Writes the sum of the points in the lanes of `two`, which are not infinity, by the chord or the tangent. */
function writeAffineSum(): void {
  copy(x, two)
  copy(y, two + PAIR)
  swapLanes(otherX, x)
  swapLanes(otherY, y)
  subtract(run, otherX, x)
  subtract(slope, otherY, y)
  if ((zeroLanes(run) & 1) != 0) {
    if ((zeroLanes(slope) & 1) == 0) {
      memory.fill(output, 0, G1_BYTES)
      return
    }
    // no point has y = 0
    addReduced(run, y, y)
    multiplyLanes(slope, x, x)
    scale(slope, slope, 3)
  }
  invertFirst(run, run)
  multiplyLanes(slope, slope, run)
  multiplyLanes(run, slope, slope)
  subtractTwo(run, run, x, otherX)
  subtract(x, x, run)
  multiplyLanes(slope, slope, x)
  subtract(slope, slope, y)
  copyLane(run, 1, slope, 0)
  writeLanes(output, output + BYTES, run)
}

const total = memory.data(i32(POINT), 16)
const point = memory.data(i32(POINT), 16)

/** A cube root of 1 in both lanes: (βx, y) is λ·(x, y), where λ = −(36x³ + 18x² + 6x + 2) is a cube root of 1 modulo the order. */
const beta = memory.data(i32(PAIR), 16)
// ξ to the (p² − 1)/3: the norm of ξ to the (p − 1)/3
conjugate(left, frobeniusFactors + PAIR)
multiply(beta, left, frobeniusFactors + PAIR)
copyLane(beta, 1, beta, 0)

/** Writes the point of the input times k0 + k1·λ to the output; k0 and k1 are in the scalars. */
export function writeMultiple(): i32 {
  const status = readG1(point, input)
  if (status != OK && status != INFINITY) return status
  setInfinity<Lanes>(total)
  if (status == OK) {
    beginTerms(1, 128)
    copy(terms, point)
    multiplyLanes(affine, point, beta)
    copyLane(terms, 1, affine, 1)
    copy(terms + TERM_Y, point + PAIR)
    setScalars<Lanes>(terms, scalars, scalars + 16)
    sumTerms<Lanes>(total, 1)
    addLanesTogether(total)
  }
  writeG1(total)
  return OK
}

// ---- products of pairings

export { beginProduct } from '../product'

/** Multiplies by the pairings of up to 64 pairs of the input; those with infinity are one. */
export function addPairs(count: usize): i32 {
  let used: usize = 0
  for (let i: usize = 0; i < count; i++) {
    const item = input + i * PAIR_BYTES
    const factor = factors + used * FACTOR
    const status = readG1(factor, item)
    if (status != OK && status != INFINITY) return status
    const statusG2 = readG2(factor + FACTOR_Q, item + G1_BYTES)
    if (statusG2 != OK && statusG2 != INFINITY) return statusG2
    if (status == OK && statusG2 == OK) used++
  }
  multiplyByFactors(used)
  return OK
}

export function isProductOne(): bool {
  if (isProductEmpty()) return true
  finalExponentiation(product)
  return isOne12(product)
}
