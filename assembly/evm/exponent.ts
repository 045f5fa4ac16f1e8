// EXP.
//
// Exponents of up to 32 bits go by squaring and multiplying. For longer ones an even base yields 0, and an odd base a needs no
// squaring for each bit of the exponent e: squared 16 times it is 1 + z, with z a multiple of 2^18. With e = 2^16 h + l,
//   a^e = a^l (1 + z)^h,  (1 + z)^h = 1 + h z + h (h-1) / 2! z^2 + … + h (h-1) … (h-13) / 14! z^14 modulo 2^256,
// because binomial coefficients are integers and z^15 is a multiple of 2^256. By Horner's rule each of the 14 terms is a step
//   sum = 1 + (h - (i-1)) (z / i) sum,  from i = 14 down to 1.
// Even parts of i divide z, which has more factors of two than they. A common factor, the odd part
// of 14!, avoids divisions by odd parts: at the end it is multiplied away by its inverse modulo 2^256.
import { add, copyWord, fitsU64, mul, multiplyHigh, setLimbs, setWord, shiftPairRight, shr, sub } from './word'

/** Returns the number of bytes of a word without its leading zero bytes, which determines the price of EXP. */
// @ts-ignore: decorator
@inline
export function byteLength(a: usize): u32 {
  let base: u32 = 24
  let limb = load<u64>(a, 24)
  if (limb == 0) {
    base = 16
    limb = load<u64>(a, 16)
    if (limb == 0) {
      base = 8
      limb = load<u64>(a, 8)
      if (limb == 0) {
        base = 0
        limb = load<u64>(a)
      }
    }
  }
  return base + ((71 - <u32>i64.clz(limb)) >>> 3)
}

/** The largest exponent of each way but the long one. */
const MAX_SHORT: u64 = 0xffff
const MAX_MEDIUM: u64 = 0xffffffff

const result = memory.data(32, 16)
const running = memory.data(32, 16)

/** Computes a × a modulo 2^256: the products of different limbs count twice. */
function square(a: usize, out: usize): void {
  const a0 = load<u64>(a)
  const a1 = load<u64>(a, 8)
  const a2 = load<u64>(a, 16)
  const p01 = a0 * a1
  const h01 = multiplyHigh(a0, a1)
  const p02 = a0 * a2
  const twice01 = p01 << 1
  const twice02 = p02 << 1
  const r1 = multiplyHigh(a0, a0) + twice01
  const c1 = u64(r1 < twice01)
  const p11 = a1 * a1
  const x2 = ((h01 << 1) | (p01 >>> 63)) + p11
  const y2 = x2 + twice02
  const r2 = y2 + c1
  const c2 = u64(x2 < p11) + u64(y2 < twice02) + u64(r2 < c1) + (h01 >>> 63)
  const h02 = (multiplyHigh(a0, a2) << 1) | (p02 >>> 63)
  setLimbs(out, a0 * a0, r1, r2, c2 + multiplyHigh(a1, a1) + h02 + ((a0 * load<u64>(a, 24) + a1 * a2) << 1))
}

/** Exponents up to 16 bits, bit by bit from the highest. Most exponents are short: numbers of decimals or of bytes. */
function shortPower(base: usize, exponent: u32): void {
  copyWord(running, base)
  copyWord(result, base)
  for (let bit = 30 - i32.clz(exponent); bit >= 0; bit--) {
    square(result, result)
    if ((exponent >>> bit) & 1) mul(result, running, result)
  }
}

/** The base, its square and its cube, each at its exponent's place. */
const powers = memory.data(128, 16)

/** Exponents from 2 to 32 bits, two bits at a time. */
function mediumPower(base: usize, exponent: u32): void {
  copyWord(powers + 32, base)
  square(base, powers + 64)
  mul(powers + 64, powers + 32, powers + 96)
  let shift = 30 - (i32.clz(exponent) & 30)
  copyWord(result, powers + ((exponent >>> shift) << 5))
  while (shift > 0) {
    shift -= 2
    square(result, result)
    square(result, result)
    const window = (exponent >>> shift) & 3
    if (window != 0) mul(result, powers + (window << 5), result)
  }
}

/** The number of the exponent's low bits that are gone through one by one, and of the terms that are left of the series then. */
const LOW_BITS: u32 = 16
const TERMS: u32 = 14

/** For each step i from 1 to 14 the odd part of 14! by the odd part of (i-1)!. */
const coefficients = memory.data<u64>([
  42567525, 42567525, 42567525, 14189175, 14189175, 2837835, 945945, 135135, 135135, 15015, 3003, 273, 91, 7,
])
/** The inverse of the odd part of 14! modulo 2^256. */
const inverse = memory.data<u64>([0xf747c9cba417526d, 0xa73e4e8f2ebe1245, 0x8445d75d6f89004b, 0x9a36d1f27417b74c])
/** The steps from this one on are multiplied by z^8 or more, so that 128 bits of them are enough. */
const FIRST_SHORT_STEP: u32 = 9

const z = memory.data(32, 16)
const h = memory.data(32, 16)
const sum = memory.data(32, 16)
const factor = memory.data(32, 16)
const amount = memory.data(32, 16)

/** Takes the steps of Horner's rule that 128 bits are enough for. */
function beginSum(): void {
  const z0 = load<u64>(z)
  const z1 = load<u64>(z, 8)
  const h0 = load<u64>(h)
  const h1 = load<u64>(h, 8)
  let s0: u64 = 1
  let s1: u64 = 0
  for (let step = TERMS; step >= FIRST_SHORT_STEP; step--) {
    const twos = u64(i32.ctz(step))
    const x0 = shiftPairRight(z1, z0, twos)
    const x1 = z1 >>> twos
    const before = u64(step - 1)
    const y0 = h0 - before
    const y1 = h1 - u64(h0 < before)
    const p0 = x0 * y0
    const p1 = multiplyHigh(x0, y0) + x0 * y1 + x1 * y0
    s1 = multiplyHigh(s0, p0) + s0 * p1 + s1 * p0
    s0 = s0 * p0 + load<u64>(coefficients + (usize(before) << 3))
    s1 += u64(s0 < load<u64>(coefficients + (usize(before) << 3)))
  }
  setLimbs(sum, s0, s1, 0, 0)
}

/** Computes the odd base to the power of an exponent of more than 16 bits. */
function longPower(base: usize, exponent: usize): void {
  copyWord(running, base)
  setWord(result, 1)
  const low = load<u32>(exponent)
  for (let bit: u32 = 0; bit < LOW_BITS; bit++) {
    if ((low >>> bit) & 1) mul(result, running, result)
    square(running, running)
  }
  setWord(amount, 1)
  sub(running, amount, z)
  setWord(amount, LOW_BITS)
  shr(amount, exponent, h)
  beginSum()
  for (let step = FIRST_SHORT_STEP - 1; step > 0; step--) {
    setWord(amount, step - 1)
    sub(h, amount, factor)
    mul(factor, sum, sum)
    setWord(amount, i32.ctz(step))
    shr(amount, z, factor)
    mul(factor, sum, sum)
    setWord(amount, load<u64>(coefficients + ((step - 1) << 3)))
    add(sum, amount, sum)
  }
  mul(sum, inverse, sum)
  mul(result, sum, result)
}

/** Computes EXP: base to the power of exponent, modulo 2^256. */
export function exp(base: usize, exponent: usize, out: usize): void {
  const lowest = load<u64>(exponent)
  if (fitsU64(exponent) && lowest <= MAX_MEDIUM) {
    if (lowest == 0) setWord(result, 1)
    else if (lowest <= MAX_SHORT) shortPower(base, u32(lowest))
    else mediumPower(base, u32(lowest))
  } else if (load<u64>(base) & 1) {
    longPower(base, exponent)
  } else {
    setWord(result, 0)
  }
  copyWord(out, result)
}
