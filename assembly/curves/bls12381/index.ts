// Arithmetic of BLS12-381 for Ethereum's precompiles, a module of its own (dist/bls12381.wasm). Its host, src/evm/standard/bls12381.ts,
// puts inputs in EIP-2537's encoding at `inputAddress`, and gets a status: 0, or the number of what is wrong with the first bad point.
import { areZeros, isLarger, isZero, readElement, writeElement, zeroLanes } from '../conversions'
import { addReduced, copy, copyLane, multiply, multiplyLanes, negate, oneFp2, oneLanes, PAIR } from '../field'
import { invert, invertFirst } from '../inversion'
import { FACTOR, FACTOR_Q, FACTOR_Y } from '../lines'
import { BYTES } from '../parameters'
import {
  addAffine,
  addPoints,
  applyPsi,
  curveConstant,
  Fp2,
  isOnTwist,
  Lanes,
  lanesOnCurve,
  POINT,
  setInfinity,
} from '../points'
import { factors, multiplyByFactors, product } from '../product'
import {
  addLanesTogether,
  beginTerms,
  FIXED_MULTIPLES,
  FIXED_TABLE,
  fixedTables,
  makeTable,
  MULTIPLES,
  setFixedScalars,
  setScalars,
  sumTerms,
  sumWithTables,
  TABLE,
  tables,
  TERM,
  TERM_Y,
  terms,
} from '../sums'
import { isOne12 } from '../tower'
import { mapToG1 } from './mapToG1'
import { mapToG2 } from './mapToG2'
import { beta, isTwistOfOrder, lanesOfOrder, multiple } from './orders'
import { finalExponentiation, preparedMillerLoop, prepareLines } from './pairing'
import { squareRootLanes } from './roots'

/** Faults of a point; the host has the texts. */
const OK: i32 = 0
const BAD_TOP_BYTES: i32 = 1
const BAD_ELEMENT: i32 = 2
const BAD_POINT: i32 = 3
const BAD_ORDER_G1: i32 = 4
const BAD_ORDER_G2: i32 = 5
/** Not a fault: the point at infinity, which has no coordinates. */
const INFINITY: i32 = 6

const ELEMENT_BYTES: usize = 64
const G1_BYTES: usize = 128
const G2_BYTES: usize = 256
const SCALAR_BYTES: usize = 32

/** Room for 512 terms of G1, which is more than for 128 of G2 and for 64 pairs. */
const input = memory.data(81920, 16)
/**
 * 32 bytes for each scalar s, little-endian: two parts of 16 bytes, s0 + s1·x², for terms of G1, four of 8 to the base of |x| for
 * those of G2, for one or two of G1 and for proofs.
 */
const scalars = memory.data(16384, 16)
const output = memory.data(256, 16)

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

/** Reads an integer of 64 bytes, whose first 16 are zero. */
function readCoordinate(z: usize, lane: usize, bytes: usize): i32 {
  if ((load<u64>(bytes) | load<u64>(bytes, 8)) != 0) return BAD_TOP_BYTES
  return readElement(z, lane, bytes + 16) ? OK : BAD_ELEMENT
}

const single = memory.data(2 * i32(PAIR), 16)

/** Reads a point of G1's curve into a lane of (x, y) at z. */
function readG1(z: usize, lane: usize, bytes: usize): i32 {
  if (areZeros(bytes, G1_BYTES)) return INFINITY
  const status = readCoordinate(single, lane, bytes)
  if (status != OK) return status
  const statusOfY = readCoordinate(single + PAIR, lane, bytes + ELEMENT_BYTES)
  if (statusOfY != OK) return statusOfY
  copyLane(z, lane, single, lane)
  copyLane(z + PAIR, lane, single + PAIR, lane)
  return (lanesOnCurve(single) >> u32(lane)) & 1 ? OK : BAD_POINT
}

/** Reads a point of G2's curve into (x, y) at z. */
function readG2(z: usize, bytes: usize): i32 {
  if (areZeros(bytes, G2_BYTES)) return INFINITY
  for (let i: usize = 0; i < 4; i++) {
    const status = readCoordinate(z + (i >> 1) * PAIR, i & 1, bytes + i * ELEMENT_BYTES)
    if (status != OK) return status
  }
  return isOnTwist(z) ? OK : BAD_POINT
}

/** Two points of G1 side by side, and what reading them gave. */
const two = memory.data(i32(POINT), 16)
let firstStatus: i32 = OK
let secondStatus: i32 = OK

/**
 * Reads one or two points of G1 into `two` and checks their order, both at once. A fault of the second is left for its turn, in
 * `secondStatus`.
 */
function readTwoG1(first: usize, second: usize, hasSecond: bool): void {
  firstStatus = readG1(two, 0, first)
  secondStatus = hasSecond ? readG1(two, 1, second) : INFINITY
  // the order of a lane without a point is not looked at
  if (firstStatus != OK && secondStatus != OK) return
  copy(two + 2 * PAIR, oneLanes)
  const good = lanesOfOrder(two, secondStatus != OK)
  if (firstStatus == OK && (good & 1) == 0) firstStatus = BAD_ORDER_G1
  if (secondStatus == OK && (good & 2) == 0) secondStatus = BAD_ORDER_G1
}

const pointG2 = memory.data(i32(POINT), 16)

function readG2OfOrder(bytes: usize): i32 {
  const status = readG2(pointG2, bytes)
  if (status != OK) return status
  copy(pointG2 + 2 * PAIR, oneFp2)
  return isTwistOfOrder(pointG2) ? OK : BAD_ORDER_G2
}

/** Writes a projective point's first lane to the output; two zeros are infinity. */
function writeG1(p: usize): void {
  memory.fill(output, 0, G1_BYTES)
  if ((zeroLanes(p + 2 * PAIR) & 1) != 0) return
  invertFirst(single, p + 2 * PAIR)
  multiplyLanes(single + PAIR, p, single)
  writeElement(output + 16, single + PAIR, 0)
  multiplyLanes(single + PAIR, p + PAIR, single)
  writeElement(output + ELEMENT_BYTES + 16, single + PAIR, 0)
}

function writeG2(p: usize): void {
  memory.fill(output, 0, G2_BYTES)
  if (isZero(p + 2 * PAIR)) return
  invert(single, p + 2 * PAIR)
  for (let i: usize = 0; i < 2; i++) {
    multiply(single + PAIR, p + i * PAIR, single)
    for (let lane: usize = 0; lane < 2; lane++) {
      writeElement(output + (2 * i + lane) * ELEMENT_BYTES + 16, single + PAIR, lane)
    }
  }
}

// ---- the maps to the groups

const mapped = memory.data(i32(PAIR), 16)

/** Maps the element of Fp in the input, 64 bytes, to G1, and writes the point to the output. */
export function writeMapToG1(): i32 {
  const status = readCoordinate(mapped, 0, input)
  if (status != OK) return status
  mapToG1(total, mapped)
  writeG1(total)
  return OK
}

/** Maps the element of Fp2 in the input, 128 bytes, to G2, and writes the point to the output. */
export function writeMapToG2(): i32 {
  for (let lane: usize = 0; lane < 2; lane++) {
    const status = readCoordinate(mapped, lane, input + lane * ELEMENT_BYTES)
    if (status != OK) return status
  }
  mapToG2(total, mapped)
  writeG2(total)
  return OK
}

// ---- sums of multiples

const total = memory.data(i32(POINT), 16)
const partSum = memory.data(i32(POINT), 16)

export function beginSumG1(): void {
  setInfinity<Lanes>(total)
}

export function beginSumG2(): void {
  setInfinity<Fp2>(total)
}

const G1_TERM_BYTES: usize = G1_BYTES + 32
const G2_TERM_BYTES: usize = G2_BYTES + 32

/**
 * Writes the point of a term, from the point in a lane of p: (x, y) in the first lane and, in
 * the second, (βx, −y), the point times the square of X_PARAMETER.
 */
function setPointG1(term: usize, p: usize, lane: usize): void {
  copyLane(term, 0, p, lane)
  copyLane(term, 1, p, lane)
  multiplyLanes(single, term, beta)
  copyLane(term, 1, single, 1)
  copyLane(term + TERM_Y, 0, p + PAIR, lane)
  negate(single, p + PAIR)
  copyLane(term + TERM_Y, 1, single, lane)
}

const affineMultiple = memory.data(2 * i32(PAIR), 16)

/** Makes (x, y) in the first lane of z of the projective point in a lane of p, which is not infinity. */
function makeAffine(z: usize, p: usize, lane: usize): void {
  copyLane(single, 0, p + 2 * PAIR, lane)
  invertFirst(single, single)
  for (let i: usize = 0; i < 2; i++) {
    copyLane(z + i * PAIR, 0, p + i * PAIR, lane)
    multiplyLanes(z + i * PAIR, z + i * PAIR, single)
  }
}

/** As {@link setPointG1}, of |x| times the point in a lane of those whose order was just checked. */
function setMultipleG1(term: usize, lane: usize): void {
  makeAffine(affineMultiple, multiple, lane)
  setPointG1(term, affineMultiple, 0)
}

/** Makes two terms of a point in a lane and a scalar in four digits to the base of |x|, 64 bits each. */
function setShortTermsG1(term: usize, lane: usize, scalar: usize): void {
  setPointG1(term, two, lane)
  setScalars<Lanes>(term, scalar, scalar + 16)
  setMultipleG1(term + TERM, lane)
  setScalars<Lanes>(term + TERM, scalar + 8, scalar + 24)
}

/** So few points are multiplied by scalars in four parts: half the doublings, but an inversion for each point. */
const FEW: usize = 2

/** Adds up to 512 terms of the input: a point of 128 bytes and a scalar, which is not read: its parts are in the scalars. */
export function addTermsG1(count: usize): i32 {
  const isShort = count <= FEW
  if (isShort) beginTerms(2 * count, 64)
  else beginTerms(count, 128)
  let used: usize = 0
  for (let i: usize = 0; i < count; i += 2) {
    const item = input + i * G1_TERM_BYTES
    const hasSecond = i + 1 < count
    readTwoG1(item, item + G1_TERM_BYTES, hasSecond)
    const lanes: usize = hasSecond ? 2 : 1
    for (let lane: usize = 0; lane < lanes; lane++) {
      const status = lane == 0 ? firstStatus : secondStatus
      if (status == INFINITY) continue
      if (status != OK) return status
      const term = terms + used * TERM
      const scalar = scalars + (i + lane) * SCALAR_BYTES
      if (isShort) {
        setShortTermsG1(term, lane, scalar)
        used += 2
      } else {
        setPointG1(term, two, lane)
        setScalars<Lanes>(term, scalar, scalar + 16)
        used++
      }
    }
  }
  if (used == 0) return OK
  sumTerms<Lanes>(partSum, used)
  addLanesTogether(partSum)
  addPoints<Lanes>(total, total, partSum)
  return OK
}

/** Adds up to 128 terms of the input, as {@link addTermsG1}. */
export function addTermsG2(count: usize): i32 {
  beginTerms(4 * count, 64)
  let used: usize = 0
  for (let i: usize = 0; i < count; i++) {
    const status = readG2OfOrder(input + i * G2_TERM_BYTES)
    if (status == INFINITY) continue
    if (status != OK) return status
    for (let k: usize = 0; k < 4; k++) {
      // a power of −ψ multiplies by that of |x|
      const term = terms + used * TERM
      copy(term, pointG2)
      copy(term + TERM_Y, pointG2 + PAIR)
      setScalars<Fp2>(term, scalars + i * SCALAR_BYTES + k * 8, 0)
      used++
      applyPsi(pointG2, pointG2)
      negate(pointG2 + PAIR, pointG2 + PAIR)
    }
  }
  if (used == 0) return OK
  sumTerms<Fp2>(partSum, used)
  addPoints<Fp2>(total, total, partSum)
  return OK
}

/** Writes the sum to the output, 128 bytes. */
export function writeSumG1(): void {
  writeG1(total)
}

/** Writes the sum to the output, 256 bytes. */
export function writeSumG2(): void {
  writeG2(total)
}

// ---- products of pairings

export { beginProduct } from '../product'

const PAIR_BYTES: usize = G1_BYTES + G2_BYTES

/** Multiplies by the pairings of up to 64 pairs of the input; those with infinity are one. */
export function addPairs(count: usize): i32 {
  let used: usize = 0
  for (let i: usize = 0; i < count; i += 2) {
    const item = input + i * PAIR_BYTES
    const hasSecond = i + 1 < count
    readTwoG1(item, item + PAIR_BYTES, hasSecond)
    const lanes: usize = hasSecond ? 2 : 1
    for (let lane: usize = 0; lane < lanes; lane++) {
      const status = lane == 0 ? firstStatus : secondStatus
      if (status != OK && status != INFINITY) return status
      const statusG2 = readG2OfOrder(item + lane * PAIR_BYTES + G1_BYTES)
      if (statusG2 != OK && statusG2 != INFINITY) return statusG2
      if (status == INFINITY || statusG2 == INFINITY) continue
      const factor = factors + used * FACTOR
      setPointOf(factor, two, lane)
      copy(factor + FACTOR_Q, pointG2)
      copy(factor + FACTOR_Q + PAIR, pointG2 + PAIR)
      used++
    }
  }
  multiplyByFactors(used)
  return OK
}

export function isProductOne(): bool {
  finalExponentiation(product)
  return isOne12(product)
}

// ---- proofs of KZG commitments

const proofFactors = memory.data(2 * i32(FACTOR), 16)
const commitmentFactor = proofFactors
const proofFactor = proofFactors + FACTOR
/** The terms of G1's generator, negated. */
const generatorTerms = memory.data(2 * i32(TERM), 16)

/** Takes the constants of proofs from the input: the generator of G1 negated, that of G2 negated, and [τ]₂. A status as of other points. */
export function setUpProofs(): i32 {
  readTwoG1(input, input, false)
  if (firstStatus != OK) return firstStatus
  setPointG1(generatorTerms, two, 0)
  setMultipleG1(generatorTerms + TERM, 0)
  for (let i: usize = 0; i < 2; i++) makeTable<Lanes>(fixedTables + i * FIXED_TABLE, generatorTerms + i * TERM, FIXED_MULTIPLES)
  let bytes = input + G1_BYTES
  for (let i: usize = 0; i < 2; i++) {
    const statusG2 = readG2OfOrder(bytes)
    if (statusG2 != OK) return statusG2
    const factor = proofFactors + i * FACTOR
    copy(factor + FACTOR_Q, pointG2)
    copy(factor + FACTOR_Q + PAIR, pointG2 + PAIR)
    bytes += G2_BYTES
  }
  prepareLines(commitmentFactor, proofFactor)
  return OK
}

/** Flags in the first byte of a compressed point: compressed, infinity, the larger of both y. */
const COMPRESSED: u8 = 0x80
const IS_INFINITY: u8 = 0x40
const IS_LARGER: u8 = 0x20
const compressed = memory.data(i32(BYTES), 16)

/**
 * Reads two points of G1's subgroup, 48 bytes each as ZCash has them, into `two`. Bits 0 and 1 of the result say which are infinity;
 * −1 when one of them is not the one encoding of such a point.
 */
function readTwoCompressed(bytes: usize): i32 {
  let infinities: i32 = 0
  for (let lane: usize = 0; lane < 2; lane++) {
    memory.copy(compressed, bytes + lane * BYTES, BYTES)
    const flags = load<u8>(compressed)
    if ((flags & COMPRESSED) == 0) return -1
    store<u8>(compressed, flags & 0x1f)
    if ((flags & IS_INFINITY) != 0) {
      if ((flags & IS_LARGER) != 0 || !areZeros(compressed, BYTES)) return -1
      infinities |= 1 << i32(lane)
    } else if (!readElement(two, lane, compressed)) {
      return -1
    }
  }
  const y = two + PAIR
  multiplyLanes(single, two, two)
  multiplyLanes(single, single, two)
  addReduced(single, single, curveConstant)
  squareRootLanes(y, single)
  for (let lane: usize = 0; lane < 2; lane++) {
    const wantsLarger = (load<u8>(bytes + lane * BYTES) & IS_LARGER) != 0
    negate(single, y)
    if (isLarger(y, lane) != wantsLarger) copyLane(y, lane, single, lane)
  }
  copy(two + 2 * PAIR, oneLanes)
  if ((i32(lanesOnCurve(two)) | infinities) != 3 || (i32(lanesOfOrder(two, false)) | infinities) != 3) return -1
  return infinities
}

/** Makes the point (x, y) in a lane of p that of a factor. */
function setPointOf(factor: usize, p: usize, lane: usize): void {
  for (let to: usize = 0; to < 2; to++) {
    copyLane(factor, to, p, lane)
    copyLane(factor + FACTOR_Y, to, p + PAIR, lane)
  }
}

/**
 * Returns whether a KZG proof holds (consensus-specs, verify_kzg_proof): the input is the
 * commitment C and the proof π, 48 bytes each, the scalars are z and y: e(C − y·G₁ + z·π, −G₂) ·
 * e(π, [τ]₂) = 1, where both points of G2 are constants, whose lines are computed once.
 */
export function isProven(): bool {
  const infinities = readTwoCompressed(input)
  if (infinities < 0) return false
  const isProofInfinity = (infinities & 2) != 0
  // y times the negated generator, and z·π before it
  const own: usize = isProofInfinity ? 0 : 2
  const y = scalars + SCALAR_BYTES
  beginTerms(4, 64)
  for (let i: usize = 0; i < 2; i++) {
    const term = terms + (own + i) * TERM
    memory.copy(term, generatorTerms + i * TERM, 2 * PAIR)
    setFixedScalars(term, y + 8 * i, y + 16 + 8 * i)
  }
  if (!isProofInfinity) {
    setShortTermsG1(terms, 1, scalars)
    for (let i: usize = 0; i < 2; i++) makeTable<Lanes>(tables + i * TABLE, terms + i * TERM, MULTIPLES)
  }
  sumWithTables<Lanes>(total, own + 2, 2)
  addLanesTogether(total)
  if ((infinities & 1) == 0) addAffine<Lanes>(total, total, two)
  // a pairing is one only where one of the points is infinity
  const isLeftInfinity = (zeroLanes(total + 2 * PAIR) & 1) != 0
  if (isLeftInfinity || isProofInfinity) return isLeftInfinity && isProofInfinity
  setPointOf(proofFactor, two, 1)
  makeAffine(two, total, 0)
  setPointOf(commitmentFactor, two, 0)
  preparedMillerLoop(product, commitmentFactor, proofFactor)
  return isProductOne()
}
