import { copyWord, mul, multiplyHigh, setLimbs } from './word'

/** The number of bytes of a word without its leading zero bytes, which determines the price of EXP. */
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

/** base^0 … base^15, 32 bytes each. */
const powers = memory.data(512, 16)
const result = memory.data(32, 16)

/** a × a modulo 2^256: the products of different limbs count twice. */
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
function shortPower(exponent: u32): void {
  const base = powers + 32
  copyWord(result, base)
  for (let bit = 30 - i32.clz(exponent); bit >= 0; bit--) {
    square(result, result)
    if ((exponent >>> bit) & 1) mul(result, base, result)
  }
}

/** EXP: base to the power of exponent, modulo 2^256. Long exponents go four bits at a time. */
export function exp(base: usize, exponent: usize, out: usize): void {
  const e0 = load<u64>(exponent)
  const e1 = load<u64>(exponent, 8)
  const e2 = load<u64>(exponent, 16)
  const e3 = load<u64>(exponent, 24)
  copyWord(powers + 32, base)
  if ((e1 | e2 | e3) == 0 && e0 < 0x10000) {
    if (e0 == 0) {
      setLimbs(out, 1, 0, 0, 0)
    } else {
      shortPower(u32(e0))
      copyWord(out, result)
    }
    return
  }
  for (let i: usize = 64; i < 512; i += 64) {
    square(powers + (i >>> 1), powers + i)
    mul(powers + i, powers + 32, powers + i + 32)
  }
  setLimbs(powers, 1, 0, 0, 0)
  let limb = e3
  let left = 3
  while (limb == 0) {
    left--
    limb = left == 2 ? e2 : left == 1 ? e1 : e0
  }
  let shift = 60 - (i64.clz(limb) & 60)
  copyWord(result, powers + (usize((limb >>> shift) & 15) << 5))
  for (;;) {
    if (shift == 0) {
      if (left == 0) break
      left--
      limb = left == 2 ? e2 : left == 1 ? e1 : e0
      shift = 64
    }
    shift -= 4
    square(result, result)
    square(result, result)
    square(result, result)
    square(result, result)
    const window = usize((limb >>> shift) & 15)
    if (window != 0) mul(result, powers + (window << 5), result)
  }
  copyWord(out, result)
}
