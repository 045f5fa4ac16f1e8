// The field of BLS12-381 in pairs: two elements side by side, in the two lanes of SIMD instructions. A pair is an element c0 + c1·u of
// Fp2 (u² = −1), or two elements of Fp that have nothing to do with each other ("lanes").
//
// An element is 14 limbs of 28 bits, the least significant first, in Montgomery's form with R = 2^392; a pair alternates the limbs of
// both in words of 32 bits. Products of two limbs have 56 bits, so that a column of 64 adds up many of them before its carry is moved.
// Results are reduced: below twice the modulus, with limbs of 28 bits. Only `add` gives more ("loose": limbs of 29 bits, and the
// sum's value), which multiplications and subtractions take as they are. A column has room for 56 products of two loose limbs, or
// 112 of which one is reduced; the values of both operands of a product may together be 1,000 times the square of the modulus.

/** Bytes of a pair. */
export const PAIR: usize = 112

export const LIMBS: usize = 14
export const LIMB_BITS: i32 = 28
const MASK: i64 = 0xfffffff
/** −1 / modulus, modulo 2^28. */
const NEGATED_INVERSE: u32 = 0xffcfffd

export const modulusLimbs = memory.data<u32>(
  [
    0xfffaaab, 0xfefffff, 0x3ffffb9, 0xfffeb15, 0x6241eab, 0xa0f6b0f, 0xf6730d2, 0xf38512b, 0x4774b84, 0x4bacd76,
    0xba7b643, 0xe69a4b1, 0x1ea397f, 0x1a011,
  ],
  16,
)
/** R² modulo the modulus. */
const squaredRLimbs = memory.data<u32>(
  [
    0x10370ed, 0x6d1c345, 0xe243d62, 0xec45c53, 0x3b1d65a, 0x93317d, 0xb4f36a0, 0x5d74088, 0xc10ea72, 0x865d118,
    0x7320a75, 0xfd5cd50, 0xcc8a759, 0xc8d4,
  ],
  16,
)
/** 2^392 less the modulus: adding it times q, and dropping what is above 392 bits, subtracts q times the modulus. */
const complementLimbs = memory.data<u32>(
  [
    0x5555, 0x100000, 0xc000046, 0x14ea, 0x9dbe154, 0x5f094f0, 0x98cf2d, 0xc7aed4, 0xb88b47b, 0xb453289, 0x45849bc,
    0x1965b4e, 0xe15c680, 0xffe5fee,
  ],
  16,
)
/** 32 times the modulus in limbs that are so large that subtracting a loose number from them leaves none negative. */
const minuendLimbs = memory.data<u32>(
  [
    0x4ff55560, 0x4dfffffb, 0x4ffff73b, 0x4ffd62a3, 0x4483d57b, 0x41ed61e8, 0x4ce61a50, 0x470a257a, 0x4ee9709a,
    0x4759aec4, 0x44f6c865, 0x4d349633, 0x4d472ff8, 0x34021f,
  ],
  16,
)

const modulus = memory.data(112, 16)
const complement = memory.data(112, 16)
const minuend = memory.data(112, 16)
export const squaredR = memory.data(112, 16)
const zero = memory.data(112, 16)
/** 1 as it is, not in Montgomery's form, in both lanes. */
export const plainOne = memory.data(112, 16)
/** Montgomery's 1 in both lanes, and in the first only, which is the 1 of Fp2. */
export const oneLanes = memory.data(112, 16)
export const oneFp2 = memory.data(112, 16)

fillLanes(modulus, modulusLimbs)
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

/** Copies the element in a lane of x, 0 or 1, to a lane of z. */
export function copyLane(z: usize, lane: usize, x: usize, from: usize): void {
  for (let i: usize = 0; i < PAIR; i += 8) store<u32>(z + i + (lane << 2), load<u32>(x + i + (from << 2)))
}

// ---- carries

/** Both 64-bit words' low halves, twice: the form in which a multiplication takes them. */
// @ts-ignore: decorator
@inline
function narrow(x: v128): v128 {
  return i8x16.shuffle(x, x, 0, 1, 2, 3, 8, 9, 10, 11, 0, 1, 2, 3, 8, 9, 10, 11)
}

// @ts-ignore: decorator
@inline
function narrowTwo(low: v128, high: v128): v128 {
  return i8x16.shuffle(low, high, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27)
}

/** Moves the carries of two columns and stores their limbs; gives the carry to the next. */
// @ts-ignore: decorator
@inline
function storeColumns(z: usize, carry: v128, first: v128, second: v128): v128 {
  const mask = i64x2.splat(MASK)
  const a = i64x2.add(first, carry)
  const b = i64x2.add(second, i64x2.shr_u(a, LIMB_BITS))
  v128.store(z, narrowTwo(v128.and(a, mask), v128.and(b, mask)))
  return i64x2.shr_u(b, LIMB_BITS)
}

/**
 * Reduces a pair in seven vectors to z: subtracts the modulus as often as the highest limbs say for certain, which leaves less than twice
 * the modulus of up to 64 times.
 */
// @ts-ignore: decorator
@inline
function storeReduced(z: usize, x0: v128, x1: v128, x2: v128, x3: v128, x4: v128, x5: v128, x6: v128): void {
  // 39 / 2^22 is a little less than 2^364 / modulus
  const estimate = i32x4.shr_u(i32x4.mul(x6, i32x4.splat(39)), 22)
  const q = i8x16.shuffle(estimate, estimate, 8, 9, 10, 11, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15)
  let carry = reduceTwo(z, x0, q, i64x2.splat(0), 0)
  carry = reduceTwo(z + 16, x1, q, carry, 16)
  carry = reduceTwo(z + 32, x2, q, carry, 32)
  carry = reduceTwo(z + 48, x3, q, carry, 48)
  carry = reduceTwo(z + 64, x4, q, carry, 64)
  carry = reduceTwo(z + 80, x5, q, carry, 80)
  reduceTwo(z + 96, x6, q, carry, 96)
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

// @ts-ignore: decorator
@inline
function sumAt(x: usize, y: usize, offset: usize): v128 {
  return i32x4.add(v128.load(x + offset), v128.load(y + offset))
}

/** z = x + y, reduced. */
export function addReduced(z: usize, x: usize, y: usize): void {
  storeReduced(
    z,
    sumAt(x, y, 0),
    sumAt(x, y, 16),
    sumAt(x, y, 32),
    sumAt(x, y, 48),
    sumAt(x, y, 64),
    sumAt(x, y, 80),
    sumAt(x, y, 96),
  )
}

// @ts-ignore: decorator
@inline
function differenceAt(x: usize, y: usize, offset: usize): v128 {
  return i32x4.add(v128.load(x + offset), i32x4.sub(v128.load(minuend + offset), v128.load(y + offset)))
}

/** z = x − y, reduced; y is below 31 times the modulus. */
export function subtract(z: usize, x: usize, y: usize): void {
  storeReduced(
    z,
    differenceAt(x, y, 0),
    differenceAt(x, y, 16),
    differenceAt(x, y, 32),
    differenceAt(x, y, 48),
    differenceAt(x, y, 64),
    differenceAt(x, y, 80),
    differenceAt(x, y, 96),
  )
}

// @ts-ignore: decorator
@inline
function doubleDifferenceAt(x: usize, y: usize, w: usize, offset: usize): v128 {
  return i32x4.sub(differenceAt(x, y, offset), v128.load(w + offset))
}

/** z = x − y − w, reduced; limbs have 28 bits. */
export function subtractTwo(z: usize, x: usize, y: usize, w: usize): void {
  storeReduced(
    z,
    doubleDifferenceAt(x, y, w, 0),
    doubleDifferenceAt(x, y, w, 16),
    doubleDifferenceAt(x, y, w, 32),
    doubleDifferenceAt(x, y, w, 48),
    doubleDifferenceAt(x, y, w, 64),
    doubleDifferenceAt(x, y, w, 80),
    doubleDifferenceAt(x, y, w, 96),
  )
}

// @ts-ignore: decorator
@inline
function tripleAt(x: usize, offset: usize): v128 {
  const v = v128.load(x + offset)
  return i32x4.add(i32x4.add(v, v), v)
}

// @ts-ignore: decorator
@inline
function tripleLessAt(x: usize, y: usize, offset: usize): v128 {
  return i32x4.add(tripleAt(x, offset), doubleDifferenceAt(zero, y, y, offset))
}

/** z = 3x − 2y, reduced; limbs have 28 bits. */
export function tripleLess(z: usize, x: usize, y: usize): void {
  storeReduced(
    z,
    tripleLessAt(x, y, 0),
    tripleLessAt(x, y, 16),
    tripleLessAt(x, y, 32),
    tripleLessAt(x, y, 48),
    tripleLessAt(x, y, 64),
    tripleLessAt(x, y, 80),
    tripleLessAt(x, y, 96),
  )
}

// @ts-ignore: decorator
@inline
function triplePlusAt(x: usize, y: usize, offset: usize): v128 {
  const v = v128.load(y + offset)
  return i32x4.add(tripleAt(x, offset), i32x4.add(v, v))
}

/** z = 3x + 2y, reduced; limbs have 28 bits. */
export function triplePlus(z: usize, x: usize, y: usize): void {
  storeReduced(
    z,
    triplePlusAt(x, y, 0),
    triplePlusAt(x, y, 16),
    triplePlusAt(x, y, 32),
    triplePlusAt(x, y, 48),
    triplePlusAt(x, y, 64),
    triplePlusAt(x, y, 80),
    triplePlusAt(x, y, 96),
  )
}

// @ts-ignore: decorator
@inline
function scaledAt(x: usize, factor: i32, offset: usize): v128 {
  return i32x4.mul(v128.load(x + offset), i32x4.splat(factor))
}

/** z = x · factor of at most 12, reduced; x has limbs of 28 bits. */
export function scale(z: usize, x: usize, factor: i32): void {
  storeReduced(
    z,
    scaledAt(x, factor, 0),
    scaledAt(x, factor, 16),
    scaledAt(x, factor, 32),
    scaledAt(x, factor, 48),
    scaledAt(x, factor, 64),
    scaledAt(x, factor, 80),
    scaledAt(x, factor, 96),
  )
}

export function negate(z: usize, x: usize): void {
  subtract(z, zero, x)
}

/** The two words of c1, c0 for each of c0, c1. */
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

// @ts-ignore: decorator
@inline
function timesNonResidueAt(x: usize, offset: usize): v128 {
  const v = v128.load(x + offset)
  const other = swapped(v)
  return merged(i32x4.add(v, i32x4.sub(v128.load(minuend + offset), other)), i32x4.add(v, other))
}

/** z = x · (1 + u), reduced: the number ξ that Fp12 is built with. */
export function timesNonResidue(z: usize, x: usize): void {
  storeReduced(
    z,
    timesNonResidueAt(x, 0),
    timesNonResidueAt(x, 16),
    timesNonResidueAt(x, 32),
    timesNonResidueAt(x, 48),
    timesNonResidueAt(x, 64),
    timesNonResidueAt(x, 80),
    timesNonResidueAt(x, 96),
  )
}

// @ts-ignore: decorator
@inline
function sumWithNonResidueAt(x: usize, y: usize, offset: usize): v128 {
  return i32x4.add(v128.load(x + offset), timesNonResidueAt(y, offset))
}

/** z = x + y · (1 + u), reduced; limbs have 28 bits. */
export function addNonResidue(z: usize, x: usize, y: usize): void {
  storeReduced(
    z,
    sumWithNonResidueAt(x, y, 0),
    sumWithNonResidueAt(x, y, 16),
    sumWithNonResidueAt(x, y, 32),
    sumWithNonResidueAt(x, y, 48),
    sumWithNonResidueAt(x, y, 64),
    sumWithNonResidueAt(x, y, 80),
    sumWithNonResidueAt(x, y, 96),
  )
}

/** z = c0 − c1·u of x = c0 + c1·u. */
export function conjugate(z: usize, x: usize): void {
  negate(conjugated, x)
  for (let i: usize = 0; i < PAIR; i += 16) v128.store(z + i, merged(v128.load(x + i), v128.load(conjugated + i)))
}

const conjugated = memory.data(112, 16)

// ---- products

/** Adds a limb of the left operand times one of each right operand's two limbs at `offset` to a column: that of the lower one. */
// @ts-ignore: decorator
@inline
function low(column: v128, x: v128, y: usize, offset: usize): v128 {
  return i64x2.add(column, i64x2.extmul_low_i32x4_u(x, v128.load(y + offset)))
}

// @ts-ignore: decorator
@inline
function high(column: v128, x: v128, y: usize, offset: usize): v128 {
  return i64x2.add(column, i64x2.extmul_high_i32x4_u(x, v128.load(y + offset)))
}

/** What a column gets in one row: for each of `count` left operands its limb times a limb of the right operand, and q times one of the modulus. */
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
 * of each left operand x, adds its products to the columns, makes the lowest column zero modulo 2^28 by adding a multiple q of the
 * modulus, and drops it. In lanes the limbs of x are those of both lanes; in Fp2 the rows of x0 and x1 (two to an operand)
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
    const q = narrow(v128.and(i64x2.extmul_low_i32x4_u(narrow(lowest), inverse), mask))
    const carry = i64x2.shr_u(low(lowest, q, modulus, 0), LIMB_BITS)
    t0 = i64x2.add(carry, high(columnHigh(count, t1, a, ya, b, yb, c, yc, d, yd, e, ye, f, yf, 0), q, modulus, 0))
    t1 = low(columnLow(count, t2, a, ya, b, yb, c, yc, d, yd, e, ye, f, yf, 16), q, modulus, 16)
    t2 = high(columnHigh(count, t3, a, ya, b, yb, c, yc, d, yd, e, ye, f, yf, 16), q, modulus, 16)
    t3 = low(columnLow(count, t4, a, ya, b, yb, c, yc, d, yd, e, ye, f, yf, 32), q, modulus, 32)
    t4 = high(columnHigh(count, t5, a, ya, b, yb, c, yc, d, yd, e, ye, f, yf, 32), q, modulus, 32)
    t5 = low(columnLow(count, t6, a, ya, b, yb, c, yc, d, yd, e, ye, f, yf, 48), q, modulus, 48)
    t6 = high(columnHigh(count, t7, a, ya, b, yb, c, yc, d, yd, e, ye, f, yf, 48), q, modulus, 48)
    t7 = low(columnLow(count, t8, a, ya, b, yb, c, yc, d, yd, e, ye, f, yf, 64), q, modulus, 64)
    t8 = high(columnHigh(count, t9, a, ya, b, yb, c, yc, d, yd, e, ye, f, yf, 64), q, modulus, 64)
    t9 = low(columnLow(count, t10, a, ya, b, yb, c, yc, d, yd, e, ye, f, yf, 80), q, modulus, 80)
    t10 = high(columnHigh(count, t11, a, ya, b, yb, c, yc, d, yd, e, ye, f, yf, 80), q, modulus, 80)
    t11 = low(columnLow(count, t12, a, ya, b, yb, c, yc, d, yd, e, ye, f, yf, 96), q, modulus, 96)
    t12 = high(columnHigh(count, t13, a, ya, b, yb, c, yc, d, yd, e, ye, f, yf, 96), q, modulus, 96)
    t13 = i64x2.splat(0)
  }
  let carry = storeColumns(z, i64x2.splat(0), t0, t1)
  carry = storeColumns(z + 16, carry, t2, t3)
  carry = storeColumns(z + 32, carry, t4, t5)
  carry = storeColumns(z + 48, carry, t6, t7)
  carry = storeColumns(z + 64, carry, t8, t9)
  carry = storeColumns(z + 80, carry, t10, t11)
  storeColumns(z + 96, carry, t12, t13)
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
  storeReduced(
    operand + PAIR,
    timesUAt(y, 0),
    timesUAt(y, 16),
    timesUAt(y, 32),
    timesUAt(y, 48),
    timesUAt(y, 64),
    timesUAt(y, 80),
    timesUAt(y, 96),
  )
}

/** −c1 + c0·u of c0 + c1·u. */
// @ts-ignore: decorator
@inline
function timesUAt(y: usize, offset: usize): v128 {
  const other = swapped(v128.load(y + offset))
  return merged(i32x4.sub(v128.load(minuend + offset), other), other)
}

const operand = memory.data(224, 16)

/** z = x · y in Fp2. */
export function multiply(z: usize, x: usize, y: usize): void {
  prepare(operand, y)
  multiplyRows(2, true, z, x, operand, 0, 0, 0, 0)
}

/** z = x0 · y0 + x1 · y1 in Fp2, with prepared y0 and y1. */
export function sum2(z: usize, x0: usize, y0: usize, x1: usize, y1: usize): void {
  multiplyRows(4, true, z, x0, y0, x1, y1, 0, 0)
}

/** z = x0 · y0 + x1 · y1 + x2 · y2 in Fp2, with prepared y0, y1 and y2; of one of x and y at least limbs of 28 bits. */
export function sum3(z: usize, x0: usize, y0: usize, x1: usize, y1: usize, x2: usize, y2: usize): void {
  multiplyRows(6, true, z, x0, y0, x1, y1, x2, y2)
}

const squareLeft = memory.data(112, 16)
const squareRight = memory.data(112, 16)

/** z = x² in Fp2, of limbs of 28 bits: (c0 + c1)(c0 − c1) + 2·c0·c1·u. */
export function square(z: usize, x: usize): void {
  for (let i: usize = 0; i < PAIR; i += 16) {
    const v = v128.load(x + i)
    const other = swapped(v)
    v128.store(squareLeft + i, i32x4.add(merged(v, other), other))
    v128.store(squareRight + i, merged(i32x4.add(v, i32x4.sub(v128.load(minuend + i), other)), v))
  }
  multiplyLanes(z, squareLeft, squareRight)
}
