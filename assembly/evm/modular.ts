// ADDMOD and MULMOD: the remainders of a sum of 257 bits and of a product of 512.
//
// A modulus of one limb is divided by as in division.ts. For longer ones the numbers are split into digits of 29 bits.
// WebAssembly has no product of 64 × 64 to 128 bits: with 64-bit digits most of the time would go to halves of products and their
// carries. With 29 bits, a column of the product, minus the multiples of the divisor, fits a signed 64-bit integer, and carries
// move only once, at the end.
//
// Digits of the quotient are signed estimates, each wrong by a little more than one at most. What an estimate takes too much or
// too little stays in the remainder and is corrected by the next digit, without a branch; `finishRemainder` corrects the last.
//
// Why this is exact: with B = 2^29, the divisor D shifted to fill n digits (D >= B^n / 2), T = D / B^(n-1) and x the exact
// quotient of a step,
//   inverse = 2^60 / T with a relative error in [-(2^-31 + 2^-33), 2^-32];
//   digit = floor(floor((T x + T) / 2^28) × inverse / 2^32), and x - digit is in (-1 - 0.32 |x| / B, 1 + 0.32 |x| / B);
//   so |x| < 1.5 B in every step if it is in the first one: the numerator must be below B^columns / 2.
// A column holds at most 9 products of 2^58 and 9 times a digit of the divisor times one of 1.5 B: less than 2^62.6.
import { divideByOne, rememberedReciprocal, unused } from './division'
import { eq, lt, multiplyHigh, setLimbs, shiftPairLeft } from './word'

/** Limbs of the sum for a modulus of one limb. */
const sum = memory.data(40, 16)
/** Nine digits of a factor, 32 bits each. */
const factorDigits = memory.data(40, 16)

/** By this the digits of the quotient are estimated: {@link inverseOf} the divisor. */
let inverse: i64 = 0

/** Computes ADDMOD: the sum has 257 bits. */
export function addmod(a: usize, b: usize, modulus: usize, out: usize): void {
  const b0 = load<u64>(b)
  const b1 = load<u64>(b, 8)
  const b2 = load<u64>(b, 16)
  const b3 = load<u64>(b, 24)
  const s0 = load<u64>(a) + b0
  const c0 = u64(s0 < b0)
  const x1 = load<u64>(a, 8) + b1
  const s1 = x1 + c0
  const c1 = u64(x1 < b1) | u64(s1 < c0)
  const x2 = load<u64>(a, 16) + b2
  const s2 = x2 + c1
  const c2 = u64(x2 < b2) | u64(s2 < c1)
  const x3 = load<u64>(a, 24) + b3
  const s3 = x3 + c2
  const c3 = u64(x3 < b3) | u64(s3 < c2)

  const n0 = load<u64>(modulus)
  const n1 = load<u64>(modulus, 8)
  const n2 = load<u64>(modulus, 16)
  const n3 = load<u64>(modulus, 24)
  if (load<u64>(a, 24) <= n3 && load<u64>(b, 24) <= n3 && lt(a, modulus) && lt(b, modulus)) {
    // Less the modulus once is enough.
    const d0 = s0 - n0
    const e0 = u64(s0 < n0)
    const y1 = s1 - n1
    const d1 = y1 - e0
    const e1 = u64(s1 < n1) | u64(y1 < e0)
    const y2 = s2 - n2
    const d2 = y2 - e1
    const e2 = u64(s2 < n2) | u64(y2 < e1)
    const y3 = s3 - n3
    const d3 = y3 - e2
    const e3 = u64(s3 < n3) | u64(y3 < e2)
    // All ones where the sum is below the modulus.
    const keep = 0 - u64(c3 < e3)
    setLimbs(
      out,
      d0 ^ ((d0 ^ s0) & keep),
      d1 ^ ((d1 ^ s1) & keep),
      d2 ^ ((d2 ^ s2) & keep),
      d3 ^ ((d3 ^ s3) & keep),
    )
  } else if ((n1 | n2 | n3) == 0) {
    let rest: u64 = 0
    if (n0 != 0) {
      setLimbs(sum, s0, s1, s2, s3)
      store<u64>(sum, c3, 32)
      rest = divideByOne(sum, c3 ? 5 : s3 ? 4 : s2 ? 3 : s1 ? 2 : 1, n0, unused)
    }
    setLimbs(out, rest, 0, 0, 0)
  } else {
    if (!eq(modulus, knownDivisor)) setDivisor(modulus)
    splitShifted(s0, s1, s2, s3, c3, divisorShift, columns)
    const length = (c3 ? 257 : bitLength(s0, s1, s2, s3)) + u32(divisorShift)
    divideColumns(divisorLength, max(digitsOf(length + 1), divisorLength + 1), inverse)
    finishRemainder(divisorShift, modulus, out)
  }
}

/** Computes MULMOD: the product has 512 bits. */
export function mulmod(a: usize, b: usize, modulus: usize, out: usize): void {
  if (isShort(modulus)) {
    const divisor = load<u64>(modulus)
    setLimbs(out, divisor == 0 ? 0 : multiplyModuloOne(a, b, divisor), 0, 0, 0)
    return
  }
  const isFolding = beginDivision(modulus)
  const n = divisorLength
  const shift = divisorShift
  const length = lengthOf(a) + lengthOf(b)
  multiplyDigits(a, b, shift)
  let count = max(digitsOf(length + u32(shift) + 1), n + 1)
  if (isFolding && count > n + 2) {
    foldColumns(n, count)
    count = n + 2
  }
  divideColumns(n, count, inverse)
  finishRemainder(shift, modulus, out)
}

/** Returns whether a word has no more than one limb. */
// @ts-ignore: decorator
@inline
function isShort(a: usize): bool {
  return (load<u64>(a, 8) | load<u64>(a, 16) | load<u64>(a, 24)) == 0
}

/** Returns the number of bits of a word without its leading zeros. */
// @ts-ignore: decorator
@inline
function bitLength(w0: u64, w1: u64, w2: u64, w3: u64): u32 {
  if (w3) return 256 - u32(i64.clz(w3))
  if (w2) return 192 - u32(i64.clz(w2))
  if (w1) return 128 - u32(i64.clz(w1))
  return 64 - u32(i64.clz(w0))
}

/** Returns the number of bits of a word in memory. */
// @ts-ignore: decorator
@inline
function lengthOf(a: usize): u32 {
  return bitLength(load<u64>(a), load<u64>(a, 8), load<u64>(a, 16), load<u64>(a, 24))
}

// @ts-ignore: decorator
@inline
function splitShifted(w0: u64, w1: u64, w2: u64, w3: u64, w4: u64, bits: u64, out: usize): void {
  splitDigits(
    w0 << bits,
    shiftPairLeft(w1, w0, bits),
    shiftPairLeft(w2, w1, bits),
    shiftPairLeft(w3, w2, bits),
    shiftPairLeft(w4, w3, bits),
    out,
  )
}

// @ts-ignore: decorator
@inline
function digitsOf(bits: u32): u32 {
  return (bits + 28) / 29
}

/** The divisor that `divideColumns` is set to. At first 0, unlike any divisor of more than one limb. */
const knownDivisor = memory.data<u64>([0, 0, 0, 0])
let divisorLength: u32 = 0
let divisorShift: u64 = 0
/** How often in a row it has come again, up to `WORTH_POWERS`: then the table for `foldColumns` is its own. */
let uses: u32 = 0

/** Makes a word of more than one limb the divisor of `divideColumns`. Whether `foldColumns` can be used with it. */
// @ts-ignore: decorator
@inline
function beginDivision(divisor: usize): bool {
  if (!eq(divisor, knownDivisor)) {
    setDivisor(divisor)
    return false
  }
  if (uses === WORTH_POWERS) return true
  uses++
  if (uses < WORTH_POWERS) return false
  makePowers(divisor)
  return true
}

function setDivisor(divisor: usize): void {
  const w0 = load<u64>(divisor)
  const w1 = load<u64>(divisor, 8)
  const w2 = load<u64>(divisor, 16)
  const w3 = load<u64>(divisor, 24)
  const bits = bitLength(w0, w1, w2, w3)
  const top = w3 ? w3 : w2 ? w2 : w1
  const below = w3 ? w2 : w2 ? w1 : w0
  inverse = inverseOf(shiftPairLeft(top, below, i64.clz(top)))
  divisorLength = digitsOf(bits)
  divisorShift = u64(divisorLength * 29 - bits)
  splitShifted(w0, w1, w2, w3, 0, divisorShift, divisorDigits)
  setLimbs(knownDivisor, w0, w1, w2, w3)
  uses = 0
}

/** Returns the remainder by algorithm 4: (r, u) modulo d, r < d. */
// @ts-ignore: decorator
@inline
function remainderOfTwo(r: u64, u: u64, d: u64, v: u64): u64 {
  const q0 = v * r
  const s0 = q0 + u
  const rest = u - (multiplyHigh(v, r) + r + u64(s0 < u) + 1) * d
  const once = rest + (d & (0 - u64(rest > s0)))
  return once >= d ? once - d : once
}

/**
 * Returns a × b modulo one limb that is not 0: both words are reduced at once, which overlaps, and
 * then their product.
 */
function multiplyModuloOne(a: usize, b: usize, modulus: u64): u64 {
  const bits = i64.clz(modulus)
  const d = modulus << bits
  const v = rememberedReciprocal(d)
  let x = load<u64>(a, 24)
  let y = load<u64>(b, 24)
  let rx = shiftPairLeft(0, x, bits)
  let ry = shiftPairLeft(0, y, bits)
  for (let offset: usize = 16; ; offset -= 8) {
    const belowX = load<u64>(a + offset)
    const belowY = load<u64>(b + offset)
    rx = remainderOfTwo(rx, shiftPairLeft(x, belowX, bits), d, v)
    ry = remainderOfTwo(ry, shiftPairLeft(y, belowY, bits), d, v)
    x = belowX
    y = belowY
    if (offset == 0) break
  }
  rx = remainderOfTwo(rx, x << bits, d, v)
  ry = remainderOfTwo(ry, y << bits, d, v)
  // One of the two shifted back makes the product the shifted one.
  rx >>>= bits
  return remainderOfTwo(multiplyHigh(rx, ry), rx * ry, d, v) >>> bits
}

/** Columns of the numerator, lowest first: signed 64-bit integers at 8 × i, worth 2^29i each. */
const columns = memory.data(160, 16)
/** Digits of the shifted divisor. */
const divisorDigits = memory.data(80, 16)
/** Signed digits of the remainder before it is finished: nine. */
const remainderDigits = memory.data(80, 16)

const DIGIT_MASK: u64 = 0x1fffffff

/** Splits 290 bits into digits; `w4` holds bits from 256 on. */
// @ts-ignore: decorator
@inline
function splitDigits(w0: u64, w1: u64, w2: u64, w3: u64, w4: u64, out: usize): void {
  store<u64>(out, w0 & DIGIT_MASK)
  store<u64>(out, (w0 >>> 29) & DIGIT_MASK, 8)
  store<u64>(out, ((w0 >>> 58) | (w1 << 6)) & DIGIT_MASK, 16)
  store<u64>(out, (w1 >>> 23) & DIGIT_MASK, 24)
  store<u64>(out, ((w1 >>> 52) | (w2 << 12)) & DIGIT_MASK, 32)
  store<u64>(out, (w2 >>> 17) & DIGIT_MASK, 40)
  store<u64>(out, ((w2 >>> 46) | (w3 << 18)) & DIGIT_MASK, 48)
  store<u64>(out, (w3 >>> 11) & DIGIT_MASK, 56)
  store<u64>(out, ((w3 >>> 40) | (w4 << 24)) & DIGIT_MASK, 64)
  store<u64>(out, w4 >>> 5, 72)
}

/** Returns the factor of estimates: 2^60 / T, from the 64 highest bits of the divisor. */
// @ts-ignore: decorator
@inline
function inverseOf(highest: u64): i64 {
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
function divideColumns(n: u32, count: u32, inverse: i64): void {
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
function finishRemainder(bits: u64, divisor: usize, out: usize): void {
  let carry = load<i64>(remainderDigits)
  const l0 = u64(carry) & DIGIT_MASK
  carry = (carry >> 29) + load<i64>(remainderDigits, 8)
  const l1 = u64(carry) & DIGIT_MASK
  carry = (carry >> 29) + load<i64>(remainderDigits, 16)
  const l2 = u64(carry) & DIGIT_MASK
  carry = (carry >> 29) + load<i64>(remainderDigits, 24)
  const l3 = u64(carry) & DIGIT_MASK
  carry = (carry >> 29) + load<i64>(remainderDigits, 32)
  const l4 = u64(carry) & DIGIT_MASK
  carry = (carry >> 29) + load<i64>(remainderDigits, 40)
  const l5 = u64(carry) & DIGIT_MASK
  carry = (carry >> 29) + load<i64>(remainderDigits, 48)
  const l6 = u64(carry) & DIGIT_MASK
  carry = (carry >> 29) + load<i64>(remainderDigits, 56)
  const l7 = u64(carry) & DIGIT_MASK
  carry = (carry >> 29) + load<i64>(remainderDigits, 64)
  const l8 = u64(carry) & DIGIT_MASK
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

/** Returns two digits in the halves of a limb. */
// @ts-ignore: decorator
@inline
function pairOfDigits(digits: u64): i64 {
  return i64((digits & DIGIT_MASK) | (((digits >>> 29) & DIGIT_MASK) << 32))
}

/**
 * Writes the columns of the product of a, shifted by `bits`, and b. Two digits of a by one of b are one instruction: even digits of b
 * give pairs of columns from an even one on, odd ones from an odd one on.
 */
function multiplyDigits(a: usize, b: usize, bits: u64): void {
  const u0 = load<u64>(a)
  const u1 = load<u64>(a, 8)
  const u2 = load<u64>(a, 16)
  const u3 = load<u64>(a, 24)
  const v0 = u0 << bits
  const v1 = shiftPairLeft(u1, u0, bits)
  const v2 = shiftPairLeft(u2, u1, bits)
  const v3 = shiftPairLeft(u3, u2, bits)
  const v4 = shiftPairLeft(0, u3, bits)
  // Digits of a: 0 to 3, 4 to 7, 8 and 9.
  const a0 = i64x2(pairOfDigits(v0), pairOfDigits((v0 >>> 58) | (v1 << 6)))
  const a4 = i64x2(pairOfDigits((v1 >>> 52) | (v2 << 12)), pairOfDigits((v2 >>> 46) | (v3 << 18)))
  const a8 = i64x2(pairOfDigits((v3 >>> 40) | (v4 << 24)), 0)
  const w0 = load<u64>(b)
  const w1 = load<u64>(b, 8)
  const w2 = load<u64>(b, 16)
  const w3 = load<u64>(b, 24)
  store<i64>(factorDigits, pairOfDigits(w0))
  store<i64>(factorDigits, pairOfDigits((w0 >>> 58) | (w1 << 6)), 8)
  store<i64>(factorDigits, pairOfDigits((w1 >>> 52) | (w2 << 12)), 16)
  store<i64>(factorDigits, pairOfDigits((w2 >>> 46) | (w3 << 18)), 24)
  store<i64>(factorDigits, i64(w3 >>> 40), 32)
  const b0 = v128.load32_splat(factorDigits, 0)
  const b1 = v128.load32_splat(factorDigits, 4)
  const b2 = v128.load32_splat(factorDigits, 8)
  const b3 = v128.load32_splat(factorDigits, 12)
  const b4 = v128.load32_splat(factorDigits, 16)
  const b5 = v128.load32_splat(factorDigits, 20)
  const b6 = v128.load32_splat(factorDigits, 24)
  const b7 = v128.load32_splat(factorDigits, 28)
  const b8 = v128.load32_splat(factorDigits, 32)
  let even: v128
  let odd: v128
  let before: v128 = i64x2.splat(0)
  even = i64x2.extmul_low_i32x4_u(a0, b0)
  odd = i64x2.extmul_low_i32x4_u(a0, b1)
  v128.store(columns, i64x2.add(even, v128.shuffle<u64>(before, odd, 1, 2)))
  before = odd
  even = i64x2.extmul_high_i32x4_u(a0, b0)
  even = i64x2.add(even, i64x2.extmul_low_i32x4_u(a0, b2))
  odd = i64x2.extmul_high_i32x4_u(a0, b1)
  odd = i64x2.add(odd, i64x2.extmul_low_i32x4_u(a0, b3))
  v128.store(columns, i64x2.add(even, v128.shuffle<u64>(before, odd, 1, 2)), 16)
  before = odd
  even = i64x2.extmul_low_i32x4_u(a4, b0)
  even = i64x2.add(even, i64x2.extmul_high_i32x4_u(a0, b2))
  even = i64x2.add(even, i64x2.extmul_low_i32x4_u(a0, b4))
  odd = i64x2.extmul_low_i32x4_u(a4, b1)
  odd = i64x2.add(odd, i64x2.extmul_high_i32x4_u(a0, b3))
  odd = i64x2.add(odd, i64x2.extmul_low_i32x4_u(a0, b5))
  v128.store(columns, i64x2.add(even, v128.shuffle<u64>(before, odd, 1, 2)), 32)
  before = odd
  even = i64x2.extmul_high_i32x4_u(a4, b0)
  even = i64x2.add(even, i64x2.extmul_low_i32x4_u(a4, b2))
  even = i64x2.add(even, i64x2.extmul_high_i32x4_u(a0, b4))
  even = i64x2.add(even, i64x2.extmul_low_i32x4_u(a0, b6))
  odd = i64x2.extmul_high_i32x4_u(a4, b1)
  odd = i64x2.add(odd, i64x2.extmul_low_i32x4_u(a4, b3))
  odd = i64x2.add(odd, i64x2.extmul_high_i32x4_u(a0, b5))
  odd = i64x2.add(odd, i64x2.extmul_low_i32x4_u(a0, b7))
  v128.store(columns, i64x2.add(even, v128.shuffle<u64>(before, odd, 1, 2)), 48)
  before = odd
  even = i64x2.extmul_low_i32x4_u(a8, b0)
  even = i64x2.add(even, i64x2.extmul_high_i32x4_u(a4, b2))
  even = i64x2.add(even, i64x2.extmul_low_i32x4_u(a4, b4))
  even = i64x2.add(even, i64x2.extmul_high_i32x4_u(a0, b6))
  even = i64x2.add(even, i64x2.extmul_low_i32x4_u(a0, b8))
  odd = i64x2.extmul_low_i32x4_u(a8, b1)
  odd = i64x2.add(odd, i64x2.extmul_high_i32x4_u(a4, b3))
  odd = i64x2.add(odd, i64x2.extmul_low_i32x4_u(a4, b5))
  odd = i64x2.add(odd, i64x2.extmul_high_i32x4_u(a0, b7))
  v128.store(columns, i64x2.add(even, v128.shuffle<u64>(before, odd, 1, 2)), 64)
  before = odd
  even = i64x2.extmul_low_i32x4_u(a8, b2)
  even = i64x2.add(even, i64x2.extmul_high_i32x4_u(a4, b4))
  even = i64x2.add(even, i64x2.extmul_low_i32x4_u(a4, b6))
  even = i64x2.add(even, i64x2.extmul_high_i32x4_u(a0, b8))
  odd = i64x2.extmul_low_i32x4_u(a8, b3)
  odd = i64x2.add(odd, i64x2.extmul_high_i32x4_u(a4, b5))
  odd = i64x2.add(odd, i64x2.extmul_low_i32x4_u(a4, b7))
  v128.store(columns, i64x2.add(even, v128.shuffle<u64>(before, odd, 1, 2)), 80)
  before = odd
  even = i64x2.extmul_low_i32x4_u(a8, b4)
  even = i64x2.add(even, i64x2.extmul_high_i32x4_u(a4, b6))
  even = i64x2.add(even, i64x2.extmul_low_i32x4_u(a4, b8))
  odd = i64x2.extmul_low_i32x4_u(a8, b5)
  odd = i64x2.add(odd, i64x2.extmul_high_i32x4_u(a4, b7))
  v128.store(columns, i64x2.add(even, v128.shuffle<u64>(before, odd, 1, 2)), 96)
  before = odd
  even = i64x2.extmul_low_i32x4_u(a8, b6)
  even = i64x2.add(even, i64x2.extmul_high_i32x4_u(a4, b8))
  odd = i64x2.extmul_low_i32x4_u(a8, b7)
  v128.store(columns, i64x2.add(even, v128.shuffle<u64>(before, odd, 1, 2)), 112)
  before = odd
  even = i64x2.extmul_low_i32x4_u(a8, b8)
  odd = i64x2.splat(0)
  v128.store(columns, i64x2.add(even, v128.shuffle<u64>(before, odd, 1, 2)), 128)
  before = odd
  odd = i64x2.splat(0)
  v128.store(columns, v128.shuffle<u64>(before, odd, 1, 2), 144)
}

// Folding. A divisor that comes again and again, as the prime of a field does, gets a table of the remainders of B^i, by which the
// product's digits from the divisor's length on are multiplied: all but two digits of the quotient are not needed then.
//
// Why this is exact: with n digits of the divisor there are at most 19 - n higher digits of the product. Folded, a column holds at most
// n products of digits and 19 - n more, less than 2^62.3, and the whole is below 20 B^(n+1), which divideDigits takes in n + 2 columns.

/** How often a divisor has to come in a row. The table costs as much as two or three divisions. */
const WORTH_POWERS: u32 = 16
/** The most digits that a shifted product has. */
const MOST_DIGITS: u32 = 19
/** For n, n + 1, …: the digits of B^i modulo the shifted divisor, ten of 32 bits and room for two. */
const POWER_SIZE: usize = 48
const powers = memory.data(768, 16)
/** All ones for each of the n lower columns of ten. */
const isLow = memory.data(80, 16)
/** Digits of the product from n on. */
const highDigits = memory.data(76, 16)
const remainder = memory.data(32, 16)

/** Makes the table for the divisor that is set. */
function makePowers(divisor: usize): void {
  const n = divisorLength
  memory.fill(isLow, 0, 80)
  memory.fill(isLow, 0xff, <usize>n << 3)
  memory.fill(powers, 0, 768)
  memory.fill(columns, 0, 160)
  store<i64>(columns + (n << 3), 1)
  for (let power = powers, end = powers + (MOST_DIGITS - n) * POWER_SIZE; power < end; power += POWER_SIZE) {
    divideColumns(n, n + 2, inverse)
    finishRemainder(divisorShift, divisor, remainder)
    splitShifted(
      load<u64>(remainder),
      load<u64>(remainder, 8),
      load<u64>(remainder, 16),
      load<u64>(remainder, 24),
      0,
      divisorShift,
      columns + 8,
    )
    // One column higher it is the next power's numerator.
    store<i64>(columns, 0)
    for (let i: usize = 0; i < <usize>n; i++) store<u32>(power + (i << 2), load<u32>(columns + (i << 3), 8))
  }
}

/** Replaces the columns from n to `count` by what they leave in the columns below. */
function foldColumns(n: u32, count: u32): void {
  let carry: i64 = 0
  const rows = count - n
  const high = columns + (n << 3)
  for (let i: usize = 0; i < <usize>rows; i++) {
    carry += load<i64>(high + (i << 3))
    store<u32>(highDigits + (i << 2), u32(carry) & u32(DIGIT_MASK))
    carry >>= 29
  }
  let x0 = v128.and(v128.load(columns), v128.load(isLow))
  let x2 = v128.and(v128.load(columns, 16), v128.load(isLow, 16))
  let x4 = v128.and(v128.load(columns, 32), v128.load(isLow, 32))
  let x6 = v128.and(v128.load(columns, 48), v128.load(isLow, 48))
  let x8 = v128.and(v128.load(columns, 64), v128.load(isLow, 64))
  let power = powers
  for (let i: usize = 0; i < <usize>rows; i++) {
    const digit = v128.load32_splat(highDigits + (i << 2))
    const low = v128.load(power)
    const middle = v128.load(power, 16)
    x0 = i64x2.add(x0, i64x2.extmul_low_i32x4_u(low, digit))
    x2 = i64x2.add(x2, i64x2.extmul_high_i32x4_u(low, digit))
    x4 = i64x2.add(x4, i64x2.extmul_low_i32x4_u(middle, digit))
    x6 = i64x2.add(x6, i64x2.extmul_high_i32x4_u(middle, digit))
    x8 = i64x2.add(x8, i64x2.extmul_low_i32x4_u(v128.load64_zero(power, 32), digit))
    power += POWER_SIZE
  }
  v128.store(columns, x0)
  v128.store(columns, x2, 16)
  v128.store(columns, x4, 32)
  v128.store(columns, x6, 48)
  v128.store(columns, x8, 64)
  store<i64>(columns, 0, 80)
}
