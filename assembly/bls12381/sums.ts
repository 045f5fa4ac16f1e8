// Sums of multiples of points. A term is an affine point and a short scalar: endomorphisms, which multiply by powers of |x|, take a
// scalar of 255 bits apart into two of 128 bits in G1, which are the two lanes, and into four of 64 bits in G2.
import { addAffine, addPoints, copyPoint, doublePoint, Fp2, Lanes, POINT, setInfinity } from './curves'
import { copy, merged, negate, PAIR, swapped } from './field'

/** A term: x, y and −y, then its signed digits, a byte each, of the first lane and of the second. */
export const TERM: usize = 464
export const TERM_Y: usize = PAIR
const TERM_NEGATED_Y: usize = 2 * PAIR
const TERM_DIGITS: usize = 3 * PAIR
const DIGITS: usize = 64

/** The terms that one sum may have, and the most that are added with tables of multiples. */
export const MAX_TERMS: usize = 512
const MAX_TABLES: usize = 16

export const terms = memory.data(237568, 16)

/** Bits of a scalar in each lane, and of one of a point in Fp2. */
// @ts-ignore: decorator
@inline
function scalarBits<F>(): u32 {
  return sizeof<F>() == sizeof<Lanes>() ? 128 : 64
}

/** Bits of a digit. */
let width: u32 = 4
let hasTables = true

/** Chooses what is the least work for so many terms, before any of them gets its scalars. */
export function beginTerms(count: usize): void {
  width = count <= MAX_TABLES ? 4 : count < 40 ? 5 : count < 180 ? 6 : 7
  hasTables = count <= MAX_TABLES
}

/** Up to 2^6 and that of the digit 0. */
const buckets = memory.data(21840, 16)
const TABLE: usize = 8 * POINT
const tables = memory.data(43008, 16)
const sum = memory.data(336, 16)
const part = memory.data(336, 16)

/** Writes the signed digits of a little-endian scalar, from −2^(width − 1) to 2^(width − 1). */
function recode(digits: usize, scalar: usize, bits: u32): void {
  const half: i32 = 1 << (width - 1)
  let carry: i32 = 0
  for (let position: u32 = 0; position <= bits; position += width) {
    // bits beyond the scalar are zeros
    let value: u32 = 0
    for (let k: u32 = 0; k < width && position + k < bits; k++) {
      const at = position + k
      value |= u32((load<u8>(scalar + (at >> 3)) >> u8(at & 7)) & 1) << k
    }
    let digit = i32(value) + carry
    carry = digit > half ? 1 : 0
    digit -= carry << width
    store<i8>(digits, i8(digit))
    digits++
  }
}

/** Prepares the term whose x and y are there: scalars of 16 bytes for both lanes, or one of 8 bytes. */
export function setScalars<F>(term: usize, scalar: usize): void {
  negate(term + TERM_NEGATED_Y, term + TERM_Y)
  recode(term + TERM_DIGITS, scalar, scalarBits<F>())
  if (sizeof<F>() == sizeof<Lanes>()) recode(term + TERM_DIGITS + DIGITS, scalar + 16, scalarBits<F>())
}

/** z = Σ of the first `count` terms; in lanes, each its own. */
export function sumTerms<F>(z: usize, count: usize): void {
  const top = i32(scalarBits<F>() / width)
  if (hasTables) sumWithTables<F>(z, count, top)
  else sumWithBuckets<F>(z, count, top)
}

// @ts-ignore: decorator
@inline
function magnitude(digit: i32): usize {
  return usize(digit < 0 ? -digit : digit)
}

/** z = p's first lane beside q's second. */
function mergeCoordinate(z: usize, p: usize, q: usize): void {
  for (let i: usize = 0; i < PAIR; i += 16) v128.store(z + i, merged(v128.load(p + i), v128.load(q + i)))
}

function mergePoint(z: usize, p: usize, q: usize): void {
  for (let i: usize = 0; i < POINT; i += PAIR) mergeCoordinate(z + i, p + i, q + i)
}

/** z = the sum of both lanes' points, in both. */
export function addLanesTogether(z: usize): void {
  for (let i: usize = 0; i < POINT; i += 16) v128.store(part + i, swapped(v128.load(z + i)))
  addPoints<Lanes>(z, z, part)
}

const negated = memory.data(112, 16)

/** Few terms: a table of each point's multiples, and doublings for all at once (Straus). */
function sumWithTables<F>(z: usize, count: usize, top: i32): void {
  for (let i: usize = 0; i < count; i++) {
    const term = terms + i * TERM
    const table = tables + i * TABLE
    setInfinity<F>(table)
    addAffine<F>(table, table, term)
    for (let k: usize = 1; k < 8; k++) addAffine<F>(table + k * POINT, table + (k - 1) * POINT, term)
  }
  setInfinity<F>(z)
  setInfinity<F>(sum)
  for (let window = top; window >= 0; window--) {
    if (window < top) for (let k: u32 = 0; k < width; k++) doublePoint<F>(z, z)
    for (let i: usize = 0; i < count; i++) {
      const digits = terms + i * TERM + TERM_DIGITS + usize(window)
      const table = tables + i * TABLE
      const first = i32(load<i8>(digits))
      if (sizeof<F>() == sizeof<Lanes>()) {
        const second = i32(load<i8>(digits + DIGITS))
        // `sum` is infinity, what a digit 0 stands for
        const p = first == 0 ? sum : table + (magnitude(first) - 1) * POINT
        const q = second == 0 ? sum : table + (magnitude(second) - 1) * POINT
        mergePoint(part, p, q)
        negate(negated, part + PAIR)
        mergeCoordinate(part + PAIR, first < 0 ? negated : part + PAIR, second < 0 ? negated : part + PAIR)
        addPoints<F>(z, z, part)
      } else if (first != 0) {
        copyPoint(part, table + (magnitude(first) - 1) * POINT)
        if (first < 0) negate(part + PAIR, part + PAIR)
        addPoints<F>(z, z, part)
      }
    }
  }
}

/** Many terms: points with the same digit are added up first (Pippenger). Bucket 0 takes what a digit 0 drops. */
function sumWithBuckets<F>(z: usize, count: usize, top: i32): void {
  const used = usize(1) << (width - 1)
  setInfinity<F>(z)
  for (let window = top; window >= 0; window--) {
    if (window < top) for (let k: u32 = 0; k < width; k++) doublePoint<F>(z, z)
    for (let i: usize = 0; i <= used; i++) setInfinity<F>(buckets + i * POINT)
    for (let i: usize = 0; i < count; i++) addToBuckets<F>(terms + i * TERM, usize(window))
    setInfinity<F>(sum)
    for (let i = used; i > 0; i--) {
      addPoints<F>(sum, sum, buckets + i * POINT)
      addPoints<F>(z, z, sum)
    }
  }
}

function addToBuckets<F>(term: usize, window: usize): void {
  const digits = term + TERM_DIGITS + window
  const first = i32(load<i8>(digits))
  const bucket = buckets + magnitude(first) * POINT
  const firstY = term + (first < 0 ? TERM_NEGATED_Y : TERM_Y)
  copy(point, term)
  if (sizeof<F>() == sizeof<Lanes>()) {
    const second = i32(load<i8>(digits + DIGITS))
    const other = buckets + magnitude(second) * POINT
    mergeCoordinate(point + PAIR, firstY, term + (second < 0 ? TERM_NEGATED_Y : TERM_Y))
    mergePoint(part, bucket, other)
    addAffine<F>(part, part, point)
    mergePoint(bucket, part, bucket)
    mergePoint(other, other, part)
  } else if (first != 0) {
    copy(point + PAIR, firstY)
    addAffine<F>(bucket, bucket, point)
  }
}

const point = memory.data(224, 16)
