// Products in the field of BLS12-381 before their reduction: sums and differences of them are reduced once, which makes Karatsuba's
// method worth its additions. (What is added up for bn254, whose ξ is 9 + u, would not fit.)
//
// A wide pair has 28 limbs of 28 bits for each lane, alternating as those of a pair; products leave
// none larger. A sum of them is taken limb by limb modulo 2^32, and `offset` added: limbs have room
// for six products that are subtracted and nine that are added. Values are below 1,000 times the
// square of the modulus in all, so that the reduced result is below twice the modulus.
import {
  high,
  low,
  MASK,
  merged,
  modulus,
  narrow,
  PAIR,
  prepareSquare,
  shifted,
  storeColumns,
  swapped,
} from './field'
import { LIMB_BITS, NEGATED_INVERSE } from './parameters'

/** Bytes of a wide pair. */
const WIDE: usize = 2 * PAIR

/** z = x · y in each lane, wide; limbs of x and y have 60 bits together at most. */
function multiplyWide(z: usize, x: usize, y: usize): void {
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
  const mask = i64x2.splat(MASK)
  for (let i: usize = 0; i < PAIR; i += 8) {
    const a = v128.load64_splat(x + i)
    const lowest = low(t0, a, y, 0)
    v128.store64_lane(z + i, narrow(v128.and(lowest, mask)), 0)
    t0 = i64x2.add(i64x2.shr_u(lowest, LIMB_BITS), high(t1, a, y, 0))
    t1 = low(t2, a, y, 16)
    t2 = high(t3, a, y, 16)
    t3 = low(t4, a, y, 32)
    t4 = high(t5, a, y, 32)
    t5 = low(t6, a, y, 48)
    t6 = high(t7, a, y, 48)
    t7 = low(t8, a, y, 64)
    t8 = high(t9, a, y, 64)
    t9 = low(t10, a, y, 80)
    t10 = high(t11, a, y, 80)
    t11 = low(t12, a, y, 96)
    t12 = i64x2.extmul_high_i32x4_u(a, v128.load(y + 96))
  }
  let carry = storeColumns(z + PAIR, i64x2.splat(0), t0, t1)
  carry = storeColumns(z + PAIR + 16, carry, t2, t3)
  carry = storeColumns(z + PAIR + 32, carry, t4, t5)
  carry = storeColumns(z + PAIR + 48, carry, t6, t7)
  carry = storeColumns(z + PAIR + 64, carry, t8, t9)
  carry = storeColumns(z + PAIR + 80, carry, t10, t11)
  storeColumns(z + PAIR + 96, carry, t12, i64x2.splat(0))
}

/** z = w / R, reduced, by the rows of Montgomery's reduction (see `multiplyRows`). */
function reduceWide(z: usize, w: usize): void {
  let t0 = v128.load32x2_u(w)
  let t1 = v128.load32x2_u(w, 8)
  let t2 = v128.load32x2_u(w, 16)
  let t3 = v128.load32x2_u(w, 24)
  let t4 = v128.load32x2_u(w, 32)
  let t5 = v128.load32x2_u(w, 40)
  let t6 = v128.load32x2_u(w, 48)
  let t7 = v128.load32x2_u(w, 56)
  let t8 = v128.load32x2_u(w, 64)
  let t9 = v128.load32x2_u(w, 72)
  let t10 = v128.load32x2_u(w, 80)
  let t11 = v128.load32x2_u(w, 88)
  let t12 = v128.load32x2_u(w, 96)
  let t13 = v128.load32x2_u(w, 104)
  const mask = i64x2.splat(MASK)
  const inverse = i32x4.splat(NEGATED_INVERSE)
  for (let i: usize = 0; i < PAIR; i += 8) {
    let q = v128.and(t0, mask)
    let carry = i64x2.shr_u(t0, LIMB_BITS)
    let multiple = shifted
    if (i < PAIR - 16) {
      q = narrow(q)
    } else {
      q = narrow(v128.and(i64x2.extmul_low_i32x4_u(narrow(q), inverse), mask))
      carry = i64x2.shr_u(low(t0, q, modulus, 0), LIMB_BITS)
      multiple = modulus + 8
    }
    t0 = i64x2.add(carry, low(t1, q, multiple, 0))
    t1 = high(t2, q, multiple, 0)
    t2 = low(t3, q, multiple, 16)
    t3 = high(t4, q, multiple, 16)
    t4 = low(t5, q, multiple, 32)
    t5 = high(t6, q, multiple, 32)
    t6 = low(t7, q, multiple, 48)
    t7 = high(t8, q, multiple, 48)
    t8 = low(t9, q, multiple, 64)
    t9 = high(t10, q, multiple, 64)
    t10 = low(t11, q, multiple, 80)
    t11 = high(t12, q, multiple, 80)
    t12 = low(t13, q, multiple, 96)
    t13 = high(v128.load32x2_u(w + PAIR + i), q, multiple, 96)
  }
  let carry = storeColumns(z, i64x2.splat(0), t0, t1)
  carry = storeColumns(z + 16, carry, t2, t3)
  carry = storeColumns(z + 32, carry, t4, t5)
  carry = storeColumns(z + 48, carry, t6, t7)
  carry = storeColumns(z + 64, carry, t8, t9)
  carry = storeColumns(z + 80, carry, t10, t11)
  storeColumns(z + 96, carry, t12, t13)
}

/** 512 times the square of the modulus in limbs from 6·2^28 − 6 to 7·2^28, but the highest: subtracting six products leaves none negative. */
const offset = memory.data(i32(WIDE), 16)
makeOffset()

function makeOffset(): void {
  multiplyWide(offset, modulus, modulus)
  let carry: u64 = 0
  for (let i: usize = 0; i < WIDE; i += 8) {
    carry += u64(load<u32>(offset + i)) << 9
    const isHighest = i == WIDE - 8
    const borrowed: u32 = i == 0 ? 0 : 6
    const limb = isHighest ? u32(carry) - borrowed : (u32(carry) & u32(MASK)) + (6 << LIMB_BITS) - borrowed
    store<u32>(offset + i, limb)
    store<u32>(offset + i, limb, 4)
    carry >>= LIMB_BITS
  }
}

// ---- of elements of Fp2, whose lanes are c0 and c1; limbs modulo 2^32

/** Returns the words of c1. */
// @ts-ignore: decorator
@inline
function secondLane(): v128 {
  return i32x4(0, -1, 0, -1)
}

/** c0·d0 − c1·d1 and s − c0·d0 − c1·d1 of (c0·d0, c1·d1) and of s = (c0 + c1)(d0 + d1) in the second lane. */
// @ts-ignore: decorator
@inline
function joined(products: v128, s: v128): v128 {
  const second = secondLane()
  const signed = i32x4.sub(v128.xor(products, second), second)
  return i32x4.add(i32x4.sub(signed, swapped(products)), v128.and(s, second))
}

/** (1 + u)·v. */
// @ts-ignore: decorator
@inline
function timesNonResidueWide(v: v128): v128 {
  const first = v128.not(secondLane())
  return i32x4.add(v, i32x4.sub(v128.xor(swapped(v), first), first))
}

/** Both sums of an element's c0 and c1. */
// @ts-ignore: decorator
@inline
function laneSums(v: v128): v128 {
  return i32x4.add(v, swapped(v))
}

/** Makes the operand of {@link multiplyWide6}, nine pairs: x0, x1, x2, x0 + x1, x0 + x2, x1 + x2, and c0 + c1 of all six, two to a pair. */
function prepare6(operand: usize, x: usize): void {
  for (let i: usize = 0; i < PAIR; i += 16) {
    const x0 = v128.load(x + i)
    const x1 = v128.load(x + PAIR + i)
    const x2 = v128.load(x + 2 * PAIR + i)
    const s0 = laneSums(x0)
    const s1 = laneSums(x1)
    const s2 = laneSums(x2)
    v128.store(operand + i, x0)
    v128.store(operand + PAIR + i, x1)
    v128.store(operand + 2 * PAIR + i, x2)
    v128.store(operand + 3 * PAIR + i, i32x4.add(x0, x1))
    v128.store(operand + 4 * PAIR + i, i32x4.add(x0, x2))
    v128.store(operand + 5 * PAIR + i, i32x4.add(x1, x2))
    v128.store(operand + 6 * PAIR + i, merged(s0, s1))
    v128.store(operand + 7 * PAIR + i, merged(s2, i32x4.add(s0, s1)))
    v128.store(operand + 8 * PAIR + i, merged(i32x4.add(s0, s2), i32x4.add(s1, s2)))
  }
}

const operandX = memory.data(9 * i32(PAIR), 16)
const operandY = memory.data(9 * i32(PAIR), 16)
const products = memory.data(9 * i32(WIDE), 16)
const sums = memory.data(3 * i32(WIDE), 16)

/** z = x · y in Fp6, of reduced x and y, by Karatsuba's method twice: 18 products in Fp, 6 reductions. */
export function multiplyWide6(z: usize, x: usize, y: usize): void {
  prepare6(operandX, x)
  prepare6(operandY, y)
  for (let i: usize = 0; i < 9; i++) multiplyWide(products + i * WIDE, operandX + i * PAIR, operandY + i * PAIR)
  for (let i: usize = 0; i < WIDE; i += 16) {
    const from = products + i
    const s01 = v128.load(from + 6 * WIDE)
    const s23 = v128.load(from + 7 * WIDE)
    const s45 = v128.load(from + 8 * WIDE)
    const p0 = joined(v128.load(from), swapped(s01))
    const p1 = joined(v128.load(from + WIDE), s01)
    const p2 = joined(v128.load(from + 2 * WIDE), swapped(s23))
    const p01 = joined(v128.load(from + 3 * WIDE), s23)
    const p02 = joined(v128.load(from + 4 * WIDE), swapped(s45))
    const p12 = joined(v128.load(from + 5 * WIDE), s45)
    // at most six products are added and six subtracted in each of them
    const more = v128.load(offset + i)
    const z0 = i32x4.add(p0, timesNonResidueWide(i32x4.sub(p12, i32x4.add(p1, p2))))
    const z1 = i32x4.add(i32x4.sub(p01, i32x4.add(p0, p1)), timesNonResidueWide(p2))
    const z2 = i32x4.add(i32x4.sub(p02, i32x4.add(p0, p2)), p1)
    v128.store(sums + i, i32x4.add(z0, more))
    v128.store(sums + WIDE + i, i32x4.add(z1, more))
    v128.store(sums + 2 * WIDE + i, i32x4.add(z2, more))
  }
  for (let i: usize = 0; i < 3; i++) reduceWide(z + i * PAIR, sums + i * WIDE)
}

const squareLeft = memory.data(i32(PAIR), 16)
const squareRight = memory.data(i32(PAIR), 16)

/** z = x² in Fp2, wide, of reduced x; below 136 times the square of the modulus. */
function squareWide(z: usize, x: usize): void {
  prepareSquare(squareLeft, squareRight, x)
  multiplyWide(z, squareLeft, squareRight)
}

/** z = a² + ξ·b² and 2·a·b behind it, of reduced a, b and `sum` = a + b. */
export function squareWideFp4(z: usize, a: usize, b: usize, sum: usize): void {
  squareWide(products, a)
  squareWide(products + WIDE, b)
  squareWide(products + 2 * WIDE, sum)
  for (let i: usize = 0; i < WIDE; i += 16) {
    const aa = v128.load(products + i)
    const bb = v128.load(products + WIDE + i)
    const more = v128.load(offset + i)
    const double = i32x4.sub(v128.load(products + 2 * WIDE + i), i32x4.add(aa, bb))
    v128.store(sums + i, i32x4.add(i32x4.add(aa, timesNonResidueWide(bb)), more))
    v128.store(sums + WIDE + i, i32x4.add(double, more))
  }
  reduceWide(z, sums)
  reduceWide(z + PAIR, sums + WIDE)
}
