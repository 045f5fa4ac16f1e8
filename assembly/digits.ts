import { setLimbs } from './wordAccess'

// Remainders of long numbers in digits of 29 bits, for divisors of more than 64 bits. WebAssembly has no 64 × 64 → 128 bit product,
// so that 64-bit digits cost most of their time in chains of halves and carries; with 29 bits a column of a product, less the
// multiples of the divisor, fits a signed 64-bit integer, and no carry moves before the end.
//
// Quotient digits are signed estimates, each wrong by a little over one at most: what is too much or too little stays in the
// remainder and is made good by the next digit, without a branch; the last one by `finishRemainder`.
//
// With B = 2^29, the divisor D shifted to fill n digits (D >= B^n / 2), T = D / B^(n-1) and x the exact quotient of a step:
//   inverse = 2^60 / T with a relative error in [-(2^-31 + 2^-33), 2^-32];
//   digit = floor(floor((T x + T) / 2^28) × inverse / 2^32), and x - digit is in (-1 - 0.32 |x| / B, 1 + 0.32 |x| / B);
//   so |x| < 1.5 B in every step once it is in the first: the numerator must be below B^columns / 2.
// A column holds at most 9 products of 2^58 and 9 times a digit of the divisor times one of 1.5 B: less than 2^62.6.

/** Columns of the numerator, lowest first: signed 64-bit integers at 8 × i, worth 2^29i each. */
export const columns = memory.data(160, 16)
/** Digits of the shifted divisor. */
export const divisorDigits = memory.data(80, 16)
/** Signed digits of the remainder before it is finished: nine. */
const remainderDigits = memory.data(80, 16)

const MASK: u64 = 0x1fffffff

/** Splits 261 bits, or 290 with `ten`, into digits; `w4` holds bits from 256 on. */
// @ts-ignore: decorator
@inline
export function splitDigits(w0: u64, w1: u64, w2: u64, w3: u64, w4: u64, out: usize, ten: bool): void {
  store<u64>(out, w0 & MASK)
  store<u64>(out, (w0 >>> 29) & MASK, 8)
  store<u64>(out, ((w0 >>> 58) | (w1 << 6)) & MASK, 16)
  store<u64>(out, (w1 >>> 23) & MASK, 24)
  store<u64>(out, ((w1 >>> 52) | (w2 << 12)) & MASK, 32)
  store<u64>(out, (w2 >>> 17) & MASK, 40)
  store<u64>(out, ((w2 >>> 46) | (w3 << 18)) & MASK, 48)
  store<u64>(out, (w3 >>> 11) & MASK, 56)
  store<u64>(out, ((w3 >>> 40) | (w4 << 24)) & MASK, 64)
  if (ten) store<u64>(out, w4 >>> 5, 72)
}

/** What estimates are multiplied by: 2^60 / T, from the 64 highest bits of the divisor. */
// @ts-ignore: decorator
@inline
export function inverseOf(highest: u64): i64 {
  return i64(u64.MAX_VALUE / (((highest >>> 32) << 1) | 1))
}

/**
 * Divides `count` (more than n) columns by the n digits of the divisor. Leaves n digits of the remainder. Names are aligned at the
 * top: x8 is the remainder's highest digit whatever n is.
 */
// @ts-ignore: decorator
@inline
function divideDigits(n: u32, count: u32, inverse: i64): void {
  const divisor = divisorDigits + ((n - 1) << 3)
  const d8 = load<i64>(divisor)
  const d7 = n > 1 ? load<i64>(divisor - 8) : 0
  const d6 = n > 2 ? load<i64>(divisor - 16) : 0
  const d5 = n > 3 ? load<i64>(divisor - 24) : 0
  const d4 = n > 4 ? load<i64>(divisor - 32) : 0
  const d3 = n > 5 ? load<i64>(divisor - 40) : 0
  const d2 = n > 6 ? load<i64>(divisor - 48) : 0
  const d1 = n > 7 ? load<i64>(divisor - 56) : 0
  const d0 = n > 8 ? load<i64>(divisor - 64) : 0
  let at = (count - n - 1) << 3
  const highest = columns + at + (n << 3)
  let x8 = (load<i64>(highest) << 29) + load<i64>(highest - 8)
  let x7 = n > 1 ? load<i64>(highest - 16) : 0
  let x6 = n > 2 ? load<i64>(highest - 24) : 0
  let x5 = n > 3 ? load<i64>(highest - 32) : 0
  let x4 = n > 4 ? load<i64>(highest - 40) : 0
  let x3 = n > 5 ? load<i64>(highest - 48) : 0
  let x2 = n > 6 ? load<i64>(highest - 56) : 0
  let x1 = n > 7 ? load<i64>(highest - 64) : 0
  let x0 = n > 8 ? load<i64>(highest - 72) : 0
  for (;;) {
    const digit = (((x8 + ((x7 >> 29) + d8)) >> 28) * inverse) >> 32
    x8 -= digit * d8
    if (n > 1) x7 -= digit * d7
    if (n > 2) x6 -= digit * d6
    if (n > 3) x5 -= digit * d5
    if (n > 4) x4 -= digit * d4
    if (n > 5) x3 -= digit * d3
    if (n > 6) x2 -= digit * d2
    if (n > 7) x1 -= digit * d1
    if (n > 8) x0 -= digit * d0
    if (at == 0) break
    at -= 8
    const next = load<i64>(columns + at)
    x8 = (x8 << 29) + x7
    if (n > 1) x7 = n > 2 ? x6 : next
    if (n > 2) x6 = n > 3 ? x5 : next
    if (n > 3) x5 = n > 4 ? x4 : next
    if (n > 4) x4 = n > 5 ? x3 : next
    if (n > 5) x3 = n > 6 ? x2 : next
    if (n > 6) x2 = n > 7 ? x1 : next
    if (n > 7) x1 = n > 8 ? x0 : next
    if (n > 8) x0 = next
  }
  const remainder = remainderDigits + ((n - 1) << 3)
  store<i64>(remainder, x8)
  if (n > 1) store<i64>(remainder - 8, x7)
  if (n > 2) store<i64>(remainder - 16, x6)
  if (n > 3) store<i64>(remainder - 24, x5)
  if (n > 4) store<i64>(remainder - 32, x4)
  if (n > 5) store<i64>(remainder - 40, x3)
  if (n > 6) store<i64>(remainder - 48, x2)
  if (n > 7) store<i64>(remainder - 56, x1)
  if (n > 8) store<i64>(remainder - 64, x0)
  if (n <= 3) store<i64>(remainderDigits, 0, 24)
  if (n <= 4) store<i64>(remainderDigits, 0, 32)
  if (n <= 5) store<i64>(remainderDigits, 0, 40)
  if (n <= 6) store<i64>(remainderDigits, 0, 48)
  if (n <= 7) store<i64>(remainderDigits, 0, 56)
  if (n <= 8) store<i64>(remainderDigits, 0, 64)
}

function divideByThree(count: u32, inverse: i64): void {
  divideDigits(3, count, inverse)
}

function divideByFour(count: u32, inverse: i64): void {
  divideDigits(4, count, inverse)
}

function divideByFive(count: u32, inverse: i64): void {
  divideDigits(5, count, inverse)
}

function divideBySix(count: u32, inverse: i64): void {
  divideDigits(6, count, inverse)
}

function divideBySeven(count: u32, inverse: i64): void {
  divideDigits(7, count, inverse)
}

function divideByEight(count: u32, inverse: i64): void {
  divideDigits(8, count, inverse)
}

function divideByNine(count: u32, inverse: i64): void {
  divideDigits(9, count, inverse)
}

/** Divides the columns by a divisor of 3 to 9 digits; see `divideDigits`. */
export function divideColumns(n: u32, count: u32, inverse: i64): void {
  switch (n) {
    case 3:
      divideByThree(count, inverse)
      break
    case 4:
      divideByFour(count, inverse)
      break
    case 5:
      divideByFive(count, inverse)
      break
    case 6:
      divideBySix(count, inverse)
      break
    case 7:
      divideBySeven(count, inverse)
      break
    case 8:
      divideByEight(count, inverse)
      break
    default:
      divideByNine(count, inverse)
  }
}

/**
 * Makes the remainder's digits the word they stand for, shifted back by `bits`. They are between -1.5 and 1.5 times the divisor,
 * which is added or subtracted where the word needs it.
 */
export function finishRemainder(bits: u64, divisor: usize, out: usize): void {
  let carry = load<i64>(remainderDigits)
  const l0 = u64(carry) & MASK
  carry = (carry >> 29) + load<i64>(remainderDigits, 8)
  const l1 = u64(carry) & MASK
  carry = (carry >> 29) + load<i64>(remainderDigits, 16)
  const l2 = u64(carry) & MASK
  carry = (carry >> 29) + load<i64>(remainderDigits, 24)
  const l3 = u64(carry) & MASK
  carry = (carry >> 29) + load<i64>(remainderDigits, 32)
  const l4 = u64(carry) & MASK
  carry = (carry >> 29) + load<i64>(remainderDigits, 40)
  const l5 = u64(carry) & MASK
  carry = (carry >> 29) + load<i64>(remainderDigits, 48)
  const l6 = u64(carry) & MASK
  carry = (carry >> 29) + load<i64>(remainderDigits, 56)
  const l7 = u64(carry) & MASK
  carry = (carry >> 29) + load<i64>(remainderDigits, 64)
  const l8 = u64(carry) & MASK
  const w0 = l0 | (l1 << 29) | (l2 << 58)
  const w1 = (l2 >>> 6) | (l3 << 23) | (l4 << 52)
  const w2 = (l4 >>> 12) | (l5 << 17) | (l6 << 46)
  const w3 = (l6 >>> 18) | (l7 << 11) | (l8 << 40)
  const w4 = u64(carry >> 24)
  const up = 63 - bits
  const n0 = load<u64>(divisor)
  const n1 = load<u64>(divisor, 8)
  const n2 = load<u64>(divisor, 16)
  const n3 = load<u64>(divisor, 24)
  // Negative as often as not: the divisor is added, or zero.
  const sign = u64(carry >> 63)
  let r0 = ((w0 >>> bits) | ((w1 << 1) << up)) + (n0 & sign)
  let c0 = u64(r0 < (n0 & sign))
  let r1 = ((w1 >>> bits) | ((w2 << 1) << up)) + (n1 & sign)
  let c1 = u64(r1 < (n1 & sign))
  r1 += c0
  c1 |= u64(r1 < c0)
  let r2 = ((w2 >>> bits) | ((w3 << 1) << up)) + (n2 & sign)
  let c2 = u64(r2 < (n2 & sign))
  r2 += c1
  c2 |= u64(r2 < c1)
  let r3 = ((w3 >>> bits) | ((w4 << 1) << up)) + (n3 & sign)
  let c3 = u64(r3 < (n3 & sign))
  r3 += c2
  c3 |= u64(r3 < c2)
  const high = u64(i64(w4) >> bits) + c3
  const below = r3 < n3 || (r3 == n3 && (r2 < n2 || (r2 == n2 && (r1 < n1 || (r1 == n1 && r0 < n0)))))
  if (high == 0 && below) {
    setLimbs(out, r0, r1, r2, r3)
  } else if (i64(high) >= 0) {
    const s0 = r0 - n0
    const b0 = u64(r0 < n0)
    const t1 = r1 - n1
    const s1 = t1 - b0
    const b1 = u64(r1 < n1) | u64(t1 < b0)
    const t2 = r2 - n2
    const s2 = t2 - b1
    const b2 = u64(r2 < n2) | u64(t2 < b1)
    setLimbs(out, s0, s1, s2, r3 - n3 - b2)
  } else {
    r0 += n0
    c0 = u64(r0 < n0)
    r1 += c0
    c1 = u64(r1 < c0)
    r1 += n1
    c1 |= u64(r1 < n1)
    r2 += c1
    c2 = u64(r2 < c1)
    r2 += n2
    c2 |= u64(r2 < n2)
    setLimbs(out, r0, r1, r2, r3 + n3 + c2)
  }
}
