import { multiplyDigits } from './digitProduct'
import { divideColumns, divisorDigits, finishRemainder, inverseOf, splitDigits } from './digits'
import { divideByFour, divideByOne, divideByThree, divideByTwo } from './limbDivision'
import { multiplyModuloOne } from './moduloLimb'
import { lt, shiftPairLeft } from './word'
import { copyWord, setLimbs } from './wordAccess'

// The divisions of the EVM. Quotients and remainders of up to 257 bits go by 64-bit limbs, MULMOD by digits of 29 bits.

/** Room for what a caller does not ask for: a quotient, or a remainder. */
const unused = memory.data(64, 16)
const dividend = memory.data(32, 16)
const magnitude = memory.data(32, 16)
const sum = memory.data(40, 16)
const factorDigits = memory.data(80, 16)
const otherDigits = memory.data(80, 16)

/** The number of limbs of a word without its leading zeros. */
// @ts-ignore: decorator
@inline
function limbCount(a: usize): u32 {
  return load<u64>(a, 24) ? 4 : load<u64>(a, 16) ? 3 : load<u64>(a, 8) ? 2 : 1
}

/** DIV. */
export function div(a: usize, b: usize, out: usize): void {
  const n = limbCount(b)
  const m = limbCount(a)
  if (n == 1) {
    const divisor = load<u64>(b)
    if (divisor == 0) {
      setLimbs(out, 0, 0, 0, 0)
    } else if (m == 1) {
      setLimbs(out, load<u64>(a) / divisor, 0, 0, 0)
    } else {
      divideByOne(a, m, divisor, out)
      if (m < 3) store<u64>(out, 0, 16)
      if (m < 4) store<u64>(out, 0, 24)
    }
    return
  }
  if (m < n || lt(a, b)) {
    setLimbs(out, 0, 0, 0, 0)
  } else if (n == 2) {
    divideByTwo(a, m, b, out, unused)
    if (m < 3) store<u64>(out, 0, 8)
    if (m < 4) store<u64>(out, 0, 16)
    store<u64>(out, 0, 24)
  } else if (n == 3) {
    divideByThree(a, m, b, out, unused)
    if (m < 4) store<u64>(out, 0, 8)
    store<u64>(out, 0, 16)
    store<u64>(out, 0, 24)
  } else {
    divideByFour(a, m, b, out, unused)
    store<u64>(out, 0, 8)
    store<u64>(out, 0, 16)
    store<u64>(out, 0, 24)
  }
}

/** The remainder of `m` limbs by a word of which `n` limbs count and that is not 0. The highest of the m limbs may be 0. */
// @ts-ignore: decorator
@inline
function remainderOf(from: usize, m: u32, divisor: usize, n: u32, out: usize): void {
  if (n == 1) setLimbs(out, divideByOne(from, m, load<u64>(divisor), unused), 0, 0, 0)
  else if (n == 2) divideByTwo(from, m, divisor, unused, out)
  else if (n == 3) divideByThree(from, m, divisor, unused, out)
  else divideByFour(from, m, divisor, unused, out)
}

/** MOD. */
export function mod(a: usize, b: usize, out: usize): void {
  const n = limbCount(b)
  const m = limbCount(a)
  if (n == 1 && m == 1) {
    const divisor = load<u64>(b)
    setLimbs(out, divisor == 0 ? 0 : load<u64>(a) % divisor, 0, 0, 0)
  } else if (n == 1 && load<u64>(b) == 0) {
    setLimbs(out, 0, 0, 0, 0)
  } else if (lt(a, b)) {
    copyWord(out, a)
  } else {
    remainderOf(a, m, b, n, out)
  }
}

/** Writes a word, or its negative where `mask` is all ones. */
// @ts-ignore: decorator
@inline
function copyNegated(from: usize, mask: u64, out: usize): void {
  const r0 = load<u64>(from) ^ mask
  const r1 = load<u64>(from, 8) ^ mask
  const r2 = load<u64>(from, 16) ^ mask
  const r3 = load<u64>(from, 24) ^ mask
  const one = mask & 1
  const s0 = r0 + one
  const c0 = u64(s0 < one)
  const s1 = r1 + c0
  const c1 = u64(s1 < c0)
  const s2 = r2 + c1
  setLimbs(out, s0, s1, s2, r3 + u64(s2 < c1))
}

/** SDIV: towards zero; the least word by -1 is itself. */
export function sdiv(a: usize, b: usize, out: usize): void {
  const aSign = u64(load<i64>(a, 24) >> 63)
  const bSign = u64(load<i64>(b, 24) >> 63)
  copyNegated(a, aSign, dividend)
  copyNegated(b, bSign, magnitude)
  div(dividend, magnitude, out)
  copyNegated(out, aSign ^ bSign, out)
}

/** SMOD: the sign is the dividend's. */
export function smod(a: usize, b: usize, out: usize): void {
  const aSign = u64(load<i64>(a, 24) >> 63)
  copyNegated(a, aSign, dividend)
  copyNegated(b, u64(load<i64>(b, 24) >> 63), magnitude)
  mod(dividend, magnitude, out)
  copyNegated(out, aSign, out)
}

/** ADDMOD: the sum has 257 bits. */
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
  } else if ((n0 | n1 | n2 | n3) == 0) {
    setLimbs(out, 0, 0, 0, 0)
  } else {
    setLimbs(sum, s0, s1, s2, s3)
    store<u64>(sum, c3, 32)
    const m: u32 = c3 ? 5 : s3 ? 4 : s2 ? 3 : s1 ? 2 : 1
    const n = limbCount(modulus)
    if (m < n) copyWord(out, sum)
    else remainderOf(sum, m, modulus, n, out)
  }
}

/** Whether a word has no more than one limb. */
// @ts-ignore: decorator
@inline
function isShort(a: usize): bool {
  return (load<u64>(a, 8) | load<u64>(a, 16) | load<u64>(a, 24)) == 0
}

/** What the digits of `setDivisor` are estimated by. */
let inverse: i64 = 0

/** The number of bits of a word without its leading zeros. */
// @ts-ignore: decorator
@inline
function bitLength(w0: u64, w1: u64, w2: u64, w3: u64): u32 {
  if (w3) return 256 - u32(i64.clz(w3))
  if (w2) return 192 - u32(i64.clz(w2))
  if (w1) return 128 - u32(i64.clz(w1))
  return 64 - u32(i64.clz(w0))
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
    true,
  )
}

// @ts-ignore: decorator
@inline
function digitsOf(bits: u32): u32 {
  return (bits + 28) / 29
}

/** Makes a word of more than one limb the divisor of `divideColumns`. Returns its length in bits. */
function setDivisor(divisor: usize): u32 {
  const w0 = load<u64>(divisor)
  const w1 = load<u64>(divisor, 8)
  const w2 = load<u64>(divisor, 16)
  const w3 = load<u64>(divisor, 24)
  const bits = bitLength(w0, w1, w2, w3)
  const top = w3 ? w3 : w2 ? w2 : w1
  const below = w3 ? w2 : w2 ? w1 : w0
  inverse = inverseOf(shiftPairLeft(top, below, i64.clz(top)))
  const shift = u64(digitsOf(bits) * 29 - bits)
  splitShifted(w0, w1, w2, w3, 0, shift, divisorDigits)
  return bits
}

/** MULMOD: the product has 512 bits. */
export function mulmod(a: usize, b: usize, modulus: usize, out: usize): void {
  if (isShort(modulus)) {
    const divisor = load<u64>(modulus)
    setLimbs(out, divisor == 0 ? 0 : multiplyModuloOne(a, b, divisor), 0, 0, 0)
    return
  }
  const bits = setDivisor(modulus)
  const n = digitsOf(bits)
  const shift = n * 29 - bits
  const a0 = load<u64>(a)
  const a1 = load<u64>(a, 8)
  const a2 = load<u64>(a, 16)
  const a3 = load<u64>(a, 24)
  const b0 = load<u64>(b)
  const b1 = load<u64>(b, 8)
  const b2 = load<u64>(b, 16)
  const b3 = load<u64>(b, 24)
  const length = bitLength(a0, a1, a2, a3) + bitLength(b0, b1, b2, b3)
  splitShifted(a0, a1, a2, a3, 0, shift, factorDigits)
  splitDigits(b0, b1, b2, b3, 0, otherDigits, false)
  multiplyDigits(factorDigits, otherDigits)
  divideColumns(n, max(digitsOf(length + shift + 1), n + 1), inverse)
  finishRemainder(shift, modulus, out)
}
