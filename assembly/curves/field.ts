// The field of a curve in pairs: two elements side by side, in the two lanes of SIMD instructions. A pair is an element c0 + c1·u of
// Fp2 (u² = −1), or two elements of Fp that have nothing to do with each other ("lanes").
//
// An element of BLS12-381 is 14 limbs of 28 bits, one of bn254 10 of 27, the least significant
// first, in Montgomery's form with R = 2^392, or 2^270. A pair alternates the limbs of both
// elements in words of 32 bits. Products of two limbs have at most 56 bits, so that a column of 64
// adds up many of them before its carry is moved. Results are reduced: below twice the modulus,
// with limbs of LIMB_BITS. Only `add` returns more ("loose": limbs of one bit more, and the sum's
// value), and multiplications and subtractions accept loose operands. A column has room for 56
// products of two loose limbs of 29 bits, or for 112 products with one reduced limb. The values of
// both operands of a product may together be 1,000 times the square of the modulus. (bn254 has
// shorter and fewer limbs, and R / modulus is larger than that too: what holds for BLS12-381 holds
// for it.)
import {
  complementLimbs,
  ESTIMATE,
  ESTIMATE_SHIFT,
  LIMB_BITS,
  LIMBS,
  minuendLimbs,
  modulusLimbs,
  NEGATED_INVERSE,
  NON_RESIDUE,
  squaredRLimbs,
} from './parameters'

/** Bytes of a pair. */
export const PAIR: usize = 8 * LIMBS

export const MASK: i64 = (1 << LIMB_BITS) - 1

/** Behind it is a limb of zero. */
export const modulus = memory.data(i32(PAIR) + 16, 16)
/** (modulus · NEGATED_INVERSE + 1) / 2^LIMB_BITS; see {@link multiplyRows}. */
export const shifted = memory.data(i32(PAIR), 16)
const complement = memory.data(i32(PAIR), 16)
const minuend = memory.data(i32(PAIR), 16)
export const squaredR = memory.data(i32(PAIR), 16)
const zero = memory.data(i32(PAIR), 16)
/** 1 as it is, not in Montgomery's form, in both lanes. */
export const plainOne = memory.data(i32(PAIR), 16)
/** Montgomery's 1 in both lanes, and in the first only, which is the 1 of Fp2. */
export const oneLanes = memory.data(i32(PAIR), 16)
export const oneFp2 = memory.data(i32(PAIR), 16)

fillLanes(modulus, modulusLimbs)
fillShifted()
fillLanes(complement, complementLimbs)
fillLanes(minuend, minuendLimbs)
fillLanes(squaredR, squaredRLimbs)
store<u64>(plainOne, 0x100000001)
multiplyLanes(oneLanes, plainOne, squaredR)
copyLane(oneFp2, 0, oneLanes, 0)

function fillLanes(pair: usize, limbs: usize): void {
  for (let i: usize = 0; i < LIMBS; i++) {
    const limb = load<u32>(limbs + (i << 2))
    store<u32>(pair + (i << 3), limb)
    store<u32>(pair + (i << 3), limb, 4)
  }
}

function fillShifted(): void {
  let carry: u64 = 1
  for (let i: usize = 0; i <= LIMBS; i++) {
    if (i < LIMBS) carry += u64(NEGATED_INVERSE) * u64(load<u32>(modulusLimbs + (i << 2)))
    const limb = u32(carry) & u32(MASK)
    carry >>= LIMB_BITS
    if (i == 0) continue
    store<u32>(shifted + ((i - 1) << 3), limb)
    store<u32>(shifted + ((i - 1) << 3), limb, 4)
  }
}

/** Copies the element in a lane of x, 0 or 1, to a lane of z. */
export function copyLane(z: usize, lane: usize, x: usize, from: usize): void {
  for (let i: usize = 0; i < PAIR; i += 8) store<u32>(z + i + (lane << 2), load<u32>(x + i + (from << 2)))
}

/** z = x with its lanes exchanged. */
export function swapLanes(z: usize, x: usize): void {
  for (let i: usize = 0; i < PAIR; i += 16) v128.store(z + i, swapped(v128.load(x + i)))
}

/** z = the first lane of x and the second of y. */
export function mergeLanes(z: usize, x: usize, y: usize): void {
  for (let i: usize = 0; i < PAIR; i += 16) v128.store(z + i, merged(v128.load(x + i), v128.load(y + i)))
}

// ---- carries

/** Both 64-bit words' low halves, twice: the form in which a multiplication takes them. */
// @ts-ignore: decorator
@inline
export function narrow(x: v128): v128 {
  return i8x16.shuffle(x, x, 0, 1, 2, 3, 8, 9, 10, 11, 0, 1, 2, 3, 8, 9, 10, 11)
}

// @ts-ignore: decorator
@inline
function narrowTwo(low: v128, high: v128): v128 {
  return i8x16.shuffle(low, high, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27)
}

/** Moves the carries of two columns and stores their limbs; returns the carry to the next. */
// @ts-ignore: decorator
@inline
export function storeColumns(z: usize, carry: v128, first: v128, second: v128): v128 {
  const mask = i64x2.splat(MASK)
  const a = i64x2.add(first, carry)
  const b = i64x2.add(second, i64x2.shr_u(a, LIMB_BITS))
  v128.store(z, narrowTwo(v128.and(a, mask), v128.and(b, mask)))
  return i64x2.shr_u(b, LIMB_BITS)
}

/** Sums that {@link storeReduced} reduces, of pairs x, y and w. */
const SUM: i32 = 0
const DIFFERENCE: i32 = 1
const DOUBLE_DIFFERENCE: i32 = 2
const TRIPLE_LESS: i32 = 3
const TRIPLE_PLUS: i32 = 4
const SCALED: i32 = 5
const TIMES_NON_RESIDUE: i32 = 6
const SUM_WITH_NON_RESIDUE: i32 = 7
const TIMES_U: i32 = 8
const SCALED_EACH: i32 = 9
const SUM_AND_DIFFERENCE: i32 = 10

/** Two limbs of both lanes of such a combination, below 2^32; its value is below 72 times the modulus. */
// @ts-ignore: decorator
@inline
function limbsOf(kind: i32, x: usize, y: usize, w: usize, factor: i32, offset: usize): v128 {
  if (kind == SUM) return i32x4.add(v128.load(x + offset), v128.load(y + offset))
  if (kind == DIFFERENCE) return differenceAt(x, y, offset)
  if (kind == DOUBLE_DIFFERENCE) return i32x4.sub(differenceAt(x, y, offset), v128.load(w + offset))
  if (kind == TRIPLE_LESS) {
    const v = v128.load(y + offset)
    return i32x4.add(tripleAt(x, offset), i32x4.sub(v128.load(minuend + offset), i32x4.add(v, v)))
  }
  if (kind == TRIPLE_PLUS) {
    const v = v128.load(y + offset)
    return i32x4.add(tripleAt(x, offset), i32x4.add(v, v))
  }
  if (kind == SCALED) return i32x4.mul(v128.load(x + offset), i32x4.splat(factor))
  if (kind == TIMES_NON_RESIDUE) return timesNonResidueAt(x, offset)
  if (kind == SUM_WITH_NON_RESIDUE) return i32x4.add(v128.load(x + offset), timesNonResidueAt(y, offset))
  if (kind == SCALED_EACH) return i32x4.mul(v128.load(x + offset), i32x4(factor & 15, factor >> 4, factor & 15, factor >> 4))
  if (kind == SUM_AND_DIFFERENCE) {
    const v = v128.load(x + offset)
    const second = i8x16.shuffle(v, v, 4, 5, 6, 7, 4, 5, 6, 7, 12, 13, 14, 15, 12, 13, 14, 15)
    const w = v128.load(y + offset)
    const first = i8x16.shuffle(w, w, 0, 1, 2, 3, 0, 1, 2, 3, 8, 9, 10, 11, 8, 9, 10, 11)
    const triple = i32x4.add(i32x4.add(first, first), first)
    return i32x4.add(second, merged(first, i32x4.sub(v128.load(minuend + offset), triple)))
  }
  // −c1 + c0·u of c0 + c1·u
  const other = swapped(v128.load(x + offset))
  return merged(i32x4.sub(v128.load(minuend + offset), other), other)
}

// @ts-ignore: decorator
@inline
function differenceAt(x: usize, y: usize, offset: usize): v128 {
  return i32x4.add(v128.load(x + offset), i32x4.sub(v128.load(minuend + offset), v128.load(y + offset)))
}

// @ts-ignore: decorator
@inline
function tripleAt(x: usize, offset: usize): v128 {
  const v = v128.load(x + offset)
  return i32x4.add(i32x4.add(v, v), v)
}

/** Limbs of x may be loose: nine of 2^28 at most and one of the minuend, below 5·2^28, are below 2^32. */
// @ts-ignore: decorator
@inline
function timesNonResidueAt(x: usize, offset: usize): v128 {
  const v = v128.load(x + offset)
  const other = swapped(v)
  const multiple = NON_RESIDUE == 1 ? v : i32x4.add(v, i32x4.shl(v, 3))
  return i32x4.add(multiple, merged(i32x4.sub(v128.load(minuend + offset), other), other))
}

/** Returns the two words of c1, c0 for each of c0, c1. */
// @ts-ignore: decorator
@inline
export function swapped(x: v128): v128 {
  return i8x16.shuffle(x, x, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11)
}

/** Words of the first operand for c0, of the second for c1. */
// @ts-ignore: decorator
@inline
export function merged(first: v128, second: v128): v128 {
  return i8x16.shuffle(first, second, 0, 1, 2, 3, 20, 21, 22, 23, 8, 9, 10, 11, 28, 29, 30, 31)
}

/**
 * Reduces a combination to z, which may be one of its pairs: subtracts the modulus as often as the highest limb says for certain. That is
 * at most 72 times, and too few by less than 1 (rounding) + 0.72 (ESTIMATE is a hundredth too small, 72 times) + 1/40 (words of 32 bits below
 * the highest carry 2^5 to it at most), which is below 2: so is what is left, in moduli.
 */
// @ts-ignore: decorator
@inline
function storeReduced(kind: i32, z: usize, x: usize, y: usize, w: usize, factor: i32): void {
  const top = limbsOf(kind, x, y, w, factor, PAIR - 16)
  const estimate = i32x4.shr_u(i32x4.mul(top, i32x4.splat(ESTIMATE)), ESTIMATE_SHIFT)
  const q = i8x16.shuffle(estimate, estimate, 8, 9, 10, 11, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15)
  let carry = reduceTwo(z, limbsOf(kind, x, y, w, factor, 0), q, i64x2.splat(0), 0)
  carry = reduceTwo(z + 16, limbsOf(kind, x, y, w, factor, 16), q, carry, 16)
  carry = reduceTwo(z + 32, limbsOf(kind, x, y, w, factor, 32), q, carry, 32)
  carry = reduceTwo(z + 48, limbsOf(kind, x, y, w, factor, 48), q, carry, 48)
  if (LIMBS > 10) {
    carry = reduceTwo(z + 64, limbsOf(kind, x, y, w, factor, 64), q, carry, 64)
    carry = reduceTwo(z + 80, limbsOf(kind, x, y, w, factor, 80), q, carry, 80)
  }
  reduceTwo(z + PAIR - 16, top, q, carry, PAIR - 16)
}

// @ts-ignore: decorator
@inline
function reduceTwo(z: usize, x: v128, q: v128, carry: v128, offset: usize): v128 {
  const m = v128.load(complement + offset)
  return storeColumns(
    z,
    carry,
    i64x2.add(i64x2.extend_low_i32x4_u(x), i64x2.extmul_low_i32x4_u(q, m)),
    i64x2.add(i64x2.extend_high_i32x4_u(x), i64x2.extmul_high_i32x4_u(q, m)),
  )
}

// ---- sums

/** z = x, a pair. */
export function copy(z: usize, x: usize): void {
  for (let i: usize = 0; i < PAIR; i += 16) v128.store(z + i, v128.load(x + i))
}

export function setZero(z: usize): void {
  for (let i: usize = 0; i < PAIR; i += 16) v128.store(z + i, i64x2.splat(0))
}

/** z = x + y, loose. */
export function add(z: usize, x: usize, y: usize): void {
  for (let i: usize = 0; i < PAIR; i += 16) v128.store(z + i, i32x4.add(v128.load(x + i), v128.load(y + i)))
}

/** z = x + y, reduced. */
export function addReduced(z: usize, x: usize, y: usize): void {
  storeReduced(SUM, z, x, y, 0, 0)
}

/** z = x − y, reduced; y is below 31 times the modulus. */
export function subtract(z: usize, x: usize, y: usize): void {
  storeReduced(DIFFERENCE, z, x, y, 0, 0)
}

/** z = x − y − w, reduced; limbs are not loose. */
export function subtractTwo(z: usize, x: usize, y: usize, w: usize): void {
  storeReduced(DOUBLE_DIFFERENCE, z, x, y, w, 0)
}

/** z = 3x − 2y, reduced; limbs are not loose. */
export function tripleLess(z: usize, x: usize, y: usize): void {
  storeReduced(TRIPLE_LESS, z, x, y, 0, 0)
}

/** z = 3x + 2y, reduced; limbs are not loose. */
export function triplePlus(z: usize, x: usize, y: usize): void {
  storeReduced(TRIPLE_PLUS, z, x, y, 0, 0)
}

/** z = x · factor of at most 12, reduced; limbs of x are not loose where the factor is above 7. */
export function scale(z: usize, x: usize, factor: i32): void {
  storeReduced(SCALED, z, x, 0, 0, factor)
}

/** z = x · 12 in the first lane and x · 8 in the second, reduced; limbs of x are not loose. */
export function scaleEach(z: usize, x: usize): void {
  storeReduced(SCALED_EACH, z, x, 0, 0, 0x8c)
}

/** z = x₁ + y₀ in the first lane and x₁ − 3·y₀ in the second, reduced, of the second lane of x and the first of y; limbs are not loose. */
export function sumAndDifference(z: usize, x: usize, y: usize): void {
  storeReduced(SUM_AND_DIFFERENCE, z, x, y, 0, 0)
}

export function negate(z: usize, x: usize): void {
  subtract(z, zero, x)
}

/** z = x · ξ, reduced; ξ is the number that Fp12 is built with. */
export function timesNonResidue(z: usize, x: usize): void {
  storeReduced(TIMES_NON_RESIDUE, z, x, 0, 0, 0)
}

/** z = x + y · ξ, reduced; limbs are not loose. */
export function addNonResidue(z: usize, x: usize, y: usize): void {
  storeReduced(SUM_WITH_NON_RESIDUE, z, x, y, 0, 0)
}

/** z = c0 − c1·u of x = c0 + c1·u. */
export function conjugate(z: usize, x: usize): void {
  negate(conjugated, x)
  mergeLanes(z, x, conjugated)
}

const conjugated = memory.data(i32(PAIR), 16)

// ---- products

/** Adds a limb of the left operand times one of each right operand's two limbs at `offset` to a column: that of the lower one. */
// @ts-ignore: decorator
@inline
export function low(column: v128, x: v128, y: usize, offset: usize): v128 {
  return i64x2.add(column, i64x2.extmul_low_i32x4_u(x, v128.load(y + offset)))
}

// @ts-ignore: decorator
@inline
export function high(column: v128, x: v128, y: usize, offset: usize): v128 {
  return i64x2.add(column, i64x2.extmul_high_i32x4_u(x, v128.load(y + offset)))
}

/**
 * Adds to a column in one row: for each of `count` left operands its limb times a limb of the right
 * operand, and q times one of the modulus.
 */
// @ts-ignore: decorator
@inline
function columnLow(
  count: i32, column: v128, a: v128, ya: usize, b: v128, yb: usize, c: v128, yc: usize, d: v128, yd: usize, e: v128, ye: usize, f: v128, yf: usize,
  offset: usize,
): v128 {
  let sum = low(column, a, ya, offset)
  if (count > 1) sum = low(sum, b, yb, offset)
  if (count > 2) sum = low(low(sum, c, yc, offset), d, yd, offset)
  if (count > 4) sum = low(low(sum, e, ye, offset), f, yf, offset)
  return sum
}

// @ts-ignore: decorator
@inline
function columnHigh(
  count: i32, column: v128, a: v128, ya: usize, b: v128, yb: usize, c: v128, yc: usize, d: v128, yd: usize, e: v128, ye: usize, f: v128, yf: usize,
  offset: usize,
): v128 {
  let sum = high(column, a, ya, offset)
  if (count > 1) sum = high(sum, b, yb, offset)
  if (count > 2) sum = high(high(sum, c, yc, offset), d, yd, offset)
  if (count > 4) sum = high(high(sum, e, ye, offset), f, yf, offset)
  return sum
}

/**
 * Montgomery's multiplication of `count` pairs of operands at once, with one reduction for their sum: z = Σ x · y / R. A row takes one limb
 * of each left operand x, adds its products to the columns, makes the lowest column zero modulo 2^LIMB_BITS by adding a multiple of the
 * modulus, and drops it. In all rows but the last two that is q · NEGATED_INVERSE · modulus = q · (shifted · 2^LIMB_BITS − 1), where q
 * is the lowest column's limb as it is; two rows of q · modulus are enough to make the result less than
 * (1 + 2^−LIMB_BITS) times the modulus more than the product divided by R. In lanes the limbs of x are those of both lanes; in Fp2 the rows of x0 and x1 (two to an operand)
 * are c0 times y and c1 times y·u.
 */
// @ts-ignore: decorator
@inline
function multiplyRows(count: i32, isFp2: bool, z: usize, x0: usize, y0: usize, x1: usize, y1: usize, x2: usize, y2: usize): void {
  let t0 = i64x2.splat(0)
  let t1 = i64x2.splat(0)
  let t2 = i64x2.splat(0)
  let t3 = i64x2.splat(0)
  let t4 = i64x2.splat(0)
  let t5 = i64x2.splat(0)
  let t6 = i64x2.splat(0)
  let t7 = i64x2.splat(0)
  let t8 = i64x2.splat(0)
  let t9 = i64x2.splat(0)
  let t10 = i64x2.splat(0)
  let t11 = i64x2.splat(0)
  let t12 = i64x2.splat(0)
  let t13 = i64x2.splat(0)
  const mask = i64x2.splat(MASK)
  const inverse = i32x4.splat(NEGATED_INVERSE)
  const ya = y0
  const yb = isFp2 ? y0 + PAIR : y1
  const yc = y1
  const yd = y1 + PAIR
  const ye = y2
  const yf = y2 + PAIR
  for (let i: usize = 0; i < PAIR; i += 8) {
    const a = isFp2 ? v128.load32_splat(x0 + i) : v128.load64_splat(x0 + i)
    const b = isFp2 ? v128.load32_splat(x0 + i, 4) : count > 1 ? v128.load64_splat(x1 + i) : a
    const c = count > 2 ? v128.load32_splat(x1 + i) : a
    const d = count > 2 ? v128.load32_splat(x1 + i, 4) : a
    const e = count > 4 ? v128.load32_splat(x2 + i) : a
    const f = count > 4 ? v128.load32_splat(x2 + i, 4) : a
    const lowest = columnLow(count, t0, a, ya, b, yb, c, yc, d, yd, e, ye, f, yf, 0)
    let q = v128.and(lowest, mask)
    let carry = i64x2.shr_u(lowest, LIMB_BITS)
    let multiple = shifted
    if (i < PAIR - 16) {
      q = narrow(q)
    } else {
      q = narrow(v128.and(i64x2.extmul_low_i32x4_u(narrow(q), inverse), mask))
      carry = i64x2.shr_u(low(lowest, q, modulus, 0), LIMB_BITS)
      multiple = modulus + 8
    }
    t0 = i64x2.add(carry, low(columnHigh(count, t1, a, ya, b, yb, c, yc, d, yd, e, ye, f, yf, 0), q, multiple, 0))
    t1 = high(columnLow(count, t2, a, ya, b, yb, c, yc, d, yd, e, ye, f, yf, 16), q, multiple, 0)
    t2 = low(columnHigh(count, t3, a, ya, b, yb, c, yc, d, yd, e, ye, f, yf, 16), q, multiple, 16)
    t3 = high(columnLow(count, t4, a, ya, b, yb, c, yc, d, yd, e, ye, f, yf, 32), q, multiple, 16)
    t4 = low(columnHigh(count, t5, a, ya, b, yb, c, yc, d, yd, e, ye, f, yf, 32), q, multiple, 32)
    t5 = high(columnLow(count, t6, a, ya, b, yb, c, yc, d, yd, e, ye, f, yf, 48), q, multiple, 32)
    t6 = low(columnHigh(count, t7, a, ya, b, yb, c, yc, d, yd, e, ye, f, yf, 48), q, multiple, 48)
    t7 = high(columnLow(count, t8, a, ya, b, yb, c, yc, d, yd, e, ye, f, yf, 64), q, multiple, 48)
    t8 = low(columnHigh(count, t9, a, ya, b, yb, c, yc, d, yd, e, ye, f, yf, 64), q, multiple, 64)
    if (LIMBS > 10) {
      t9 = high(columnLow(count, t10, a, ya, b, yb, c, yc, d, yd, e, ye, f, yf, 80), q, multiple, 64)
      t10 = low(columnHigh(count, t11, a, ya, b, yb, c, yc, d, yd, e, ye, f, yf, 80), q, multiple, 80)
      t11 = high(columnLow(count, t12, a, ya, b, yb, c, yc, d, yd, e, ye, f, yf, 96), q, multiple, 80)
      t12 = low(columnHigh(count, t13, a, ya, b, yb, c, yc, d, yd, e, ye, f, yf, 96), q, multiple, 96)
      t13 = i64x2.extmul_high_i32x4_u(q, v128.load(multiple + 96))
    } else {
      t9 = i64x2.extmul_high_i32x4_u(q, v128.load(multiple + 64))
    }
  }
  let carry = storeColumns(z, i64x2.splat(0), t0, t1)
  carry = storeColumns(z + 16, carry, t2, t3)
  carry = storeColumns(z + 32, carry, t4, t5)
  carry = storeColumns(z + 48, carry, t6, t7)
  carry = storeColumns(z + 64, carry, t8, t9)
  if (LIMBS > 10) {
    carry = storeColumns(z + 80, carry, t10, t11)
    storeColumns(z + 96, carry, t12, t13)
  }
}

/** z = x · y in each lane. */
export function multiplyLanes(z: usize, x: usize, y: usize): void {
  multiplyRows(1, false, z, x, y, 0, 0, 0, 0)
}

/** z = x0 · y0 + x1 · y1 in each lane. */
export function sumLanes2(z: usize, x0: usize, y0: usize, x1: usize, y1: usize): void {
  multiplyRows(2, false, z, x0, y0, x1, y1, 0, 0)
}

/** Makes the right operand of multiplications in Fp2, two pairs: y and y · u. */
export function prepare(operand: usize, y: usize): void {
  for (let i: usize = 0; i < PAIR; i += 16) {
    const v = v128.load(y + i)
    v128.store(operand + i, v)
  }
  storeReduced(TIMES_U, operand + PAIR, y, 0, 0, 0)
}

const operand = memory.data(2 * i32(PAIR), 16)

/** z = x · y in Fp2. */
export function multiply(z: usize, x: usize, y: usize): void {
  prepare(operand, y)
  multiplyRows(2, true, z, x, operand, 0, 0, 0, 0)
}

/** z = x0 · y0 + x1 · y1 in Fp2, with prepared y0 and y1. */
export function sum2(z: usize, x0: usize, y0: usize, x1: usize, y1: usize): void {
  multiplyRows(4, true, z, x0, y0, x1, y1, 0, 0)
}

/** z = x0 · y0 + x1 · y1 + x2 · y2 in Fp2, with prepared y0, y1 and y2; limbs of one of x and y at least are not loose. */
export function sum3(z: usize, x0: usize, y0: usize, x1: usize, y1: usize, x2: usize, y2: usize): void {
  multiplyRows(6, true, z, x0, y0, x1, y1, x2, y2)
}

const squareLeft = memory.data(i32(PAIR), 16)
const squareRight = memory.data(i32(PAIR), 16)

/** Makes the operands of products in lanes that give x² in Fp2, of limbs that are not loose: (c0 + c1)(c0 − c1) + 2·c0·c1·u. */
// @ts-ignore: decorator
@inline
export function prepareSquare(squareLeft: usize, squareRight: usize, x: usize): void {
  for (let i: usize = 0; i < PAIR; i += 16) {
    const v = v128.load(x + i)
    const other = swapped(v)
    v128.store(squareLeft + i, i32x4.add(merged(v, other), other))
    v128.store(squareRight + i, merged(i32x4.add(v, i32x4.sub(v128.load(minuend + i), other)), v))
  }
}

/** z = x² in Fp2, of limbs that are not loose. */
export function square(z: usize, x: usize): void {
  prepareSquare(squareLeft, squareRight, x)
  multiplyLanes(z, squareLeft, squareRight)
}
