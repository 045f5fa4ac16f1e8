// Inverses, by the binary extended Euclidean algorithm on integers of 32-bit words in rounds of 30 steps: steps of a round look at the lowest
// 30 bits and the highest 32 of both numbers only, and are done to the numbers at its end (Pornin: Optimized binary GCD for modular
// inversion, algorithm 2 with k = 31). How long it takes depends on the numbers, which are public.
import { plain, zeroLanes } from './conversions'
import { conjugate, multiply, multiplyLanes, PAIR, setZero, squaredR } from './field'
import { BYTES, LIMB_BITS, LIMBS, modulusLimbs, NEGATED_INVERSE } from './parameters'

/** Steps of a round. */
const ROUND_STEPS: u32 = 30
const ROUND_MASK: u32 = (1 << ROUND_STEPS) - 1

/** Bytes of both numbers, and of their factors, which have a sign and are a few times larger than the modulus. */
const NUMBER: usize = BYTES
const COEFFICIENT: usize = NUMBER + 4

const modulusWords = memory.data(i32(COEFFICIENT), 16)
/** x · aFactor = a and x · bFactor = b modulo the modulus. Behind the last word are zeros, or what is read with it and dropped. */
const a = memory.data(i32(NUMBER), 16)
const b = memory.data(i32(NUMBER), 16)
const aFactor = memory.data(i32(COEFFICIENT) + 8, 16)
const bFactor = memory.data(i32(COEFFICIENT) + 8, 16)
toWords(modulusWords, modulusLimbs, 2)
/** −1 / modulus, modulo 2^32: Newton's step doubles the number of valid bits, which is 27 or more before. */
const negatedInverse: u32 = NEGATED_INVERSE * (2 + NEGATED_INVERSE * load<u32>(modulusWords))

/** z = the integer with limbs that are 2^`spacing` bytes apart. */
function toWords(z: usize, limbs: usize, spacing: usize): void {
  let bits: u64 = 0
  let have: u32 = 0
  let at = z
  for (let i: usize = 0; i < LIMBS; i++) {
    bits |= u64(load<u32>(limbs + (i << spacing))) << have
    have += LIMB_BITS
    if (have < 32 || at == z + NUMBER) continue
    store<u32>(at, u32(bits))
    at += 4
    bits >>= 32
    have -= 32
  }
  if (at < z + NUMBER) store<u32>(at, u32(bits))
}

/** A round's result: a·f0 + b·g0 and a·f1 + b·g1, both divided by 2^30, are the next a and b. |f0| + |g0| and |f1| + |g1| are at most 2^30. */
let f0: i64 = 0
let g0: i64 = 0
let f1: i64 = 0
let g1: i64 = 0

/** Does the steps of a round to numbers that stand for a and for the odd b. */
function steps(x: u64, y: u64): void {
  // both f and g in one word: f + g·2^32
  let first: i64 = 1
  let second: i64 = 1 << 32
  let left: u64 = ROUND_STEPS
  while (true) {
    const zeros = ctz(x | (1 << left))
    x >>= zeros
    second <<= zeros
    left -= zeros
    if (left == 0) break
    const isLess = x < y
    const difference = x - y
    const factors = first - second
    y = isLess ? x : y
    x = isLess ? 0 - difference : difference
    second = isLess ? first : second
    first = isLess ? 0 - factors : factors
  }
  f0 = i64(i32(first))
  g0 = (first - f0) >> 32
  f1 = i64(i32(second))
  g1 = (second - f1) >> 32
}

/** Negates the lowest `size` bytes of a or b: it may be negative, as comparisons of a round may be wrong. */
function negateWords(z: usize, size: usize): void {
  let carry: u64 = 1
  for (let i: usize = 0; i < size; i += 4) {
    carry += u64(load<u32>(z + i)) ^ 0xffffffff
    store<u32>(z + i, u32(carry))
    carry >>= 32
  }
}

/** Makes the next a and b of their lowest `size` bytes, above which there is nothing. */
function updateNumbers(size: usize): void {
  let sumA: i64 = 0
  let sumB: i64 = 0
  let lastA: u32 = 0
  let lastB: u32 = 0
  for (let i: usize = 0; i < size; i += 4) {
    const x = i64(load<u32>(a + i))
    const y = i64(load<u32>(b + i))
    // below 2^62, and the carry
    sumA += x * f0 + y * g0
    sumB += x * f1 + y * g1
    if (i > 0) {
      store<u32>(a + i - 4, (lastA >> ROUND_STEPS) | (u32(sumA) << (32 - ROUND_STEPS)))
      store<u32>(b + i - 4, (lastB >> ROUND_STEPS) | (u32(sumB) << (32 - ROUND_STEPS)))
    }
    lastA = u32(sumA)
    lastB = u32(sumB)
    sumA >>= 32
    sumB >>= 32
  }
  store<u32>(a + size - 4, (lastA >> ROUND_STEPS) | (u32(sumA) << (32 - ROUND_STEPS)))
  store<u32>(b + size - 4, (lastB >> ROUND_STEPS) | (u32(sumB) << (32 - ROUND_STEPS)))
  if (sumA < 0) {
    negateWords(a, size)
    f0 = -f0
    g0 = -g0
  }
  if (sumB < 0) {
    negateWords(b, size)
    f1 = -f1
    g1 = -g1
  }
}

/** Returns the factor of the modulus that makes the lowest 30 bits of the sum zero, from −2^29 to below 2^29. */
// @ts-ignore: decorator
@inline
function quotient(sum: i64): i64 {
  const q = i64((u32(sum) * negatedInverse) & ROUND_MASK)
  return q >= 1 << (ROUND_STEPS - 1) ? q - (1 << ROUND_STEPS) : q
}

/** Makes the next factors; each round adds half the modulus to what their absolute values may be. */
function updateFactors(): void {
  let x = i64(load<u32>(aFactor))
  let y = i64(load<u32>(bFactor))
  const qA = quotient(x * f0 + y * g0)
  const qB = quotient(x * f1 + y * g1)
  let sumA: i64 = 0
  let sumB: i64 = 0
  let lastA: u32 = 0
  let lastB: u32 = 0
  for (let i: usize = 0; i < COEFFICIENT; i += 4) {
    // the highest word has the sign
    x = i < NUMBER ? i64(load<u32>(aFactor + i)) : i64(load<i32>(aFactor + i))
    y = i < NUMBER ? i64(load<u32>(bFactor + i)) : i64(load<i32>(bFactor + i))
    const m = i64(load<u32>(modulusWords + i))
    // below 2^62 + 2^61, and the carry
    sumA += x * f0 + y * g0 + m * qA
    sumB += x * f1 + y * g1 + m * qB
    if (i > 0) {
      store<u32>(aFactor + i - 4, (lastA >> ROUND_STEPS) | (u32(sumA) << (32 - ROUND_STEPS)))
      store<u32>(bFactor + i - 4, (lastB >> ROUND_STEPS) | (u32(sumB) << (32 - ROUND_STEPS)))
    }
    lastA = u32(sumA)
    lastB = u32(sumB)
    sumA >>= 32
    sumB >>= 32
  }
  store<u32>(aFactor + COEFFICIENT - 4, (lastA >> ROUND_STEPS) | (u32(sumA) << (32 - ROUND_STEPS)))
  store<u32>(bFactor + COEFFICIENT - 4, (lastB >> ROUND_STEPS) | (u32(sumB) << (32 - ROUND_STEPS)))
}

/** z = 1 / x in the first lane, 0 for 0, and 0 in the second. */
export function invertFirst(z: usize, x: usize): void {
  if ((zeroLanes(x) & 1) != 0) {
    setZero(z)
    return
  }
  toWords(a, plain, 3)
  memory.copy(b, modulusWords, NUMBER)
  memory.fill(aFactor, 0, COEFFICIENT)
  memory.fill(bFactor, 0, COEFFICIENT)
  store<u32>(aFactor, 1)
  let size = NUMBER
  while (true) {
    while (size > 8 && (load<u32>(a + size - 4) | load<u32>(b + size - 4)) == 0) size -= 4
    let highA = load<u64>(a + size - 8)
    let highB = load<u64>(b + size - 8)
    // b is 1 where a is 0
    if (size == 8 && highA == 0) break
    const free = clz(highA | highB)
    if (size > 8 || free < 2) {
      // where one of the highest words is not 0, `free` is below 32
      highA = (((highA << free) >> 32) << ROUND_STEPS) | u64(load<u32>(a) & ROUND_MASK)
      highB = (((highB << free) >> 32) << ROUND_STEPS) | u64(load<u32>(b) & ROUND_MASK)
    }
    steps(highA, highB)
    updateNumbers(size)
    updateFactors()
  }
  // each round makes both numbers 30 bits shorter together: 26 rounds at most, and the factor is above −16 times the modulus
  let carry: u64 = 0
  for (let i: usize = 0; i < COEFFICIENT; i += 4) {
    carry += u64(load<u32>(bFactor + i)) + (u64(load<u32>(modulusWords + i)) << 4)
    store<u32>(bFactor + i, u32(carry))
    carry >>= 32
  }
  setZero(plain)
  for (let i: usize = 0; i < LIMBS; i++) {
    const position = i * LIMB_BITS
    const limb = u32(load<u64>(bFactor + (position >> 3)) >> (position & 7)) & ((1 << LIMB_BITS) - 1)
    store<u32>(plain + (i << 3), limb)
  }
  multiplyLanes(z, plain, squaredR)
}

const norm = memory.data(i32(PAIR), 16)
const conjugated = memory.data(i32(PAIR), 16)

/** z = 1 / x in Fp2; 0 for 0. */
export function invert(z: usize, x: usize): void {
  conjugate(conjugated, x)
  multiply(norm, x, conjugated)
  invertFirst(norm, norm)
  multiply(z, conjugated, norm)
}
