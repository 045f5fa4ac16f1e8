// Sums of multiples of points. A term is an affine point and a short scalar: endomorphisms take a scalar of 255 bits apart: in G1 into two
// of 128 bits, which are the two lanes, or into two for each lane; in G2 into four of 64 bits.
import { addAffine, addPoints, copyPoint, doublePoint, Fp2, Lanes, POINT, setInfinity } from './points'
import { copy, mergeLanes, negate, PAIR, swapLanes } from './field'

/** A term: x, y and −y, then its signed digits, a byte each, of the first lane and of the second. */
export const TERM: usize = 3 * PAIR + 128
export const TERM_Y: usize = PAIR
const TERM_NEGATED_Y: usize = 2 * PAIR
const TERM_DIGITS: usize = 3 * PAIR
const DIGITS: usize = 64

/** The most terms that are added with tables of multiples. */
const MAX_TABLES: usize = 16

/** Room for 512. */
export const terms = memory.data(512 * i32(TERM), 16)

/** Bits of the scalars, and of their digits. */
let bits: u32 = 64
let width: u32 = 4
let hasTables = true

/** Begins a sum of so many terms, whose scalars have 64 bits or 128. */
export function beginTerms(count: usize, scalarBits: u32): void {
  bits = scalarBits
  hasTables = count <= MAX_TABLES
  width = hasTables ? 4 : count < 40 ? 5 : count < 180 ? 6 : 7
}

/** Up to 2^6 and that of the digit 0. */
const buckets = memory.data(65 * i32(POINT), 16)
/** Multiples in a table, for digits of 4 bits. */
export const MULTIPLES: usize = 8
export const TABLE: usize = MULTIPLES * POINT
export const tables = memory.data(i32(MAX_TABLES) * i32(TABLE), 16)
/** Of terms that are always the same, whose digits have 8 bits; see {@link sumWithTables}. */
const FIXED_WIDTH: u32 = 8
export const FIXED_MULTIPLES: usize = 128
export const FIXED_TABLE: usize = FIXED_MULTIPLES * POINT
export const fixedTables = memory.data(2 * i32(FIXED_TABLE), 16)
const sum = memory.data(i32(POINT), 16)
const part = memory.data(i32(POINT), 16)

/** Writes the signed digits of a little-endian scalar, from −2^(width − 1) to 2^(width − 1) − 1. */
function recode(digits: usize, scalar: usize, width: u32): void {
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
    carry = digit >= half ? 1 : 0
    digit -= carry << width
    store<i8>(digits, i8(digit))
    digits++
  }
}

/** Prepares the term whose x and y are there, with the little-endian scalar of each lane; in Fp2 there is one. */
export function setScalars<F>(term: usize, first: usize, second: usize): void {
  negate(term + TERM_NEGATED_Y, term + TERM_Y)
  recode(term + TERM_DIGITS, first, width)
  if (sizeof<F>() == sizeof<Lanes>()) recode(term + TERM_DIGITS + DIGITS, second, width)
}

/** As {@link setScalars}, of a term in lanes that has a table in `fixedTables`. */
export function setFixedScalars(term: usize, first: usize, second: usize): void {
  recode(term + TERM_DIGITS, first, FIXED_WIDTH)
  recode(term + TERM_DIGITS + DIGITS, second, FIXED_WIDTH)
}

/** z = Σ of the first `count` terms; in lanes, each its own. */
export function sumTerms<F>(z: usize, count: usize): void {
  if (hasTables) {
    for (let i: usize = 0; i < count; i++) makeTable<F>(tables + i * TABLE, terms + i * TERM, MULTIPLES)
    sumWithTables<F>(z, count, 0)
  } else {
    sumWithBuckets<F>(z, count)
  }
}

// @ts-ignore: decorator
@inline
function magnitude(digit: i32): usize {
  return usize(digit < 0 ? -digit : digit)
}

/** z = p's first lane and q's second. */
function mergePoint(z: usize, p: usize, q: usize): void {
  for (let i: usize = 0; i < POINT; i += PAIR) mergeLanes(z + i, p + i, q + i)
}

/** z = the sum of both lanes' points, in both. */
export function addLanesTogether(z: usize): void {
  for (let i: usize = 0; i < POINT; i += PAIR) swapLanes(part + i, z + i)
  addPoints<Lanes>(z, z, part)
}

const negated = memory.data(i32(PAIR), 16)

/** Makes the table of a term's point times 1 to `multiples`. */
export function makeTable<F>(table: usize, term: usize, multiples: usize): void {
  setInfinity<F>(table)
  addAffine<F>(table, table, term)
  for (let k: usize = 1; k < multiples; k++) addAffine<F>(table + k * POINT, table + (k - 1) * POINT, term)
}

/**
 * Few terms: a table of each point's multiples, and doublings for all at once (Straus). The last `fixed` terms have their tables in
 * `fixedTables`, the others in `tables`.
 */
export function sumWithTables<F>(z: usize, count: usize, fixed: usize): void {
  const top = i32(bits / width)
  setInfinity<F>(z)
  setInfinity<F>(sum)
  for (let window = top; window >= 0; window--) {
    if (window < top) for (let k: u32 = 0; k < width; k++) doublePoint<F>(z, z)
    // a digit of 8 bits has two windows of 4
    const used = (window & 1) == 0 ? count : count - fixed
    for (let i: usize = 0; i < used; i++) {
      const isFixed = i >= count - fixed
      const digits = terms + i * TERM + TERM_DIGITS + usize(isFixed ? window >> 1 : window)
      const table = isFixed ? fixedTables + (i + fixed - count) * FIXED_TABLE : tables + i * TABLE
      const first = i32(load<i8>(digits))
      if (sizeof<F>() == sizeof<Lanes>()) {
        const second = i32(load<i8>(digits + DIGITS))
        // `sum` is infinity, what a digit 0 stands for
        const p = first == 0 ? sum : table + (magnitude(first) - 1) * POINT
        const q = second == 0 ? sum : table + (magnitude(second) - 1) * POINT
        mergePoint(part, p, q)
        negate(negated, part + PAIR)
        mergeLanes(part + PAIR, first < 0 ? negated : part + PAIR, second < 0 ? negated : part + PAIR)
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
function sumWithBuckets<F>(z: usize, count: usize): void {
  const top = i32(bits / width)
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
    mergeLanes(point + PAIR, firstY, term + (second < 0 ? TERM_NEGATED_Y : TERM_Y))
    mergePoint(part, bucket, other)
    addAffine<F>(part, part, point)
    mergePoint(bucket, part, bucket)
    mergePoint(other, other, part)
  } else if (first != 0) {
    copy(point + PAIR, firstY)
    addAffine<F>(bucket, bucket, point)
  }
}

const point = memory.data(2 * i32(PAIR), 16)
