// Between big-endian integers of calls, 48 bytes each, and elements in Montgomery's form; and what depends on the value of an element.
import {
  conjugate,
  copy,
  copyLane,
  LIMB_BITS,
  LIMBS,
  modulusLimbs,
  multiply,
  multiplyLanes,
  oneLanes,
  PAIR,
  plainOne,
  setZero,
  squaredR,
} from './field'

/** Bytes of an element as an integer. */
export const BYTES: usize = 48

const plain = memory.data(112, 16)

/** Reads the integer at `bytes` into a lane of z; false when it is not below the modulus. The other lane keeps its element. */
export function readElement(z: usize, lane: usize, bytes: usize): bool {
  setZero(plain)
  let bits: u64 = 0
  let have: i32 = 0
  let at = plain + (lane << 2)
  for (let i: usize = BYTES; i > 0; i--) {
    bits |= u64(load<u8>(bytes + i - 1)) << have
    have += 8
    if (have >= LIMB_BITS) {
      store<u32>(at, u32(bits) & 0xfffffff)
      at += 8
      bits >>= LIMB_BITS
      have -= LIMB_BITS
    }
  }
  store<u32>(at, u32(bits))
  if (!isBelowModulus(plain + (lane << 2))) return false
  multiplyLanes(plain, plain, squaredR)
  copyLane(z, lane, plain, lane)
  return true
}

/** Compares limbs of 28 bits, which are 8 bytes apart. */
function isBelowModulus(limbs: usize): bool {
  for (let i: usize = LIMBS; i > 0; i--) {
    const limb = load<u32>(limbs + ((i - 1) << 3))
    const limit = load<u32>(modulusLimbs + ((i - 1) << 2))
    if (limb != limit) return limb < limit
  }
  return false
}

/** Makes `plain` the integers that x stands for, each below the modulus. */
function toPlain(x: usize): void {
  multiplyLanes(plain, x, plainOne)
  for (let lane: usize = 0; lane < 2; lane++) {
    const limbs = plain + (lane << 2)
    if (isBelowModulus(limbs)) continue
    // the product is at most the modulus
    for (let i: usize = 0; i < LIMBS; i++) store<u32>(limbs + (i << 3), 0)
  }
}

/** Writes the element in a lane of x to `bytes`. */
export function writeElement(bytes: usize, x: usize, lane: usize): void {
  toPlain(x)
  let bits: u64 = 0
  let have: i32 = 0
  let at = plain + (lane << 2)
  for (let i: usize = BYTES; i > 0; i--) {
    if (have < 8) {
      if (at < plain + PAIR) bits |= u64(load<u32>(at)) << have
      at += 8
      have += LIMB_BITS
    }
    store<u8>(bytes + i - 1, u8(bits))
    bits >>= 8
    have -= 8
  }
}

/** Which lanes of x are zero: bit 0 and bit 1. */
export function zeroLanes(x: usize): u32 {
  toPlain(x)
  let bits: u64 = 0
  for (let i: usize = 0; i < PAIR; i += 8) bits |= load<u64>(plain + i)
  return u32(u32(bits) == 0) | (u32(bits >> 32 == 0) << 1)
}

/** Which lanes of x stand for odd integers: bit 0 and bit 1. */
export function parityLanes(x: usize): u32 {
  toPlain(x)
  return (load<u32>(plain) & 1) | ((load<u32>(plain, 4) & 1) << 1)
}

/** Whether the element of Fp2 is zero. */
export function isZero(x: usize): bool {
  return zeroLanes(x) == 3
}

/** Whether the integer in a lane is more than half the modulus. */
export function isLarger(x: usize, lane: usize): bool {
  toPlain(x)
  for (let i: usize = 0; i < PAIR; i += 8) store<u64>(plain + i, load<u64>(plain + i) << 1)
  // moves the carries of the doubled limbs
  const limbs = plain + (lane << 2)
  let carry: u32 = 0
  for (let i: usize = 0; i < LIMBS; i++) {
    const limb = load<u32>(limbs + (i << 3)) + carry
    store<u32>(limbs + (i << 3), limb & 0xfffffff)
    carry = limb >> LIMB_BITS
  }
  return !isBelowModulus(limbs)
}

/** A quarter of the modulus and 1. */
const squareRoot = memory.data<u8>([
  0x06, 0x80, 0x44, 0x7a, 0x8e, 0x5f, 0xf9, 0xa6, 0x92, 0xc6, 0xe9, 0xed, 0x90, 0xd2, 0xeb, 0x35, 0xd9, 0x1d, 0xd2,
  0xe1, 0x3c, 0xe1, 0x44, 0xaf, 0xd9, 0xcc, 0x34, 0xa8, 0x3d, 0xac, 0x3d, 0x89, 0x07, 0xaa, 0xff, 0xff, 0xac, 0x54,
  0xff, 0xff, 0xee, 0x7f, 0xbf, 0xff, 0xff, 0xff, 0xea, 0xab,
])

const powers = memory.data(1792, 16)

/** z = x to the power of a big-endian integer of 48 bytes, in each lane. */
function powerLanes(z: usize, x: usize, exponent: usize): void {
  copy(powers, oneLanes)
  for (let i: usize = 1; i < 16; i++) multiplyLanes(powers + i * PAIR, powers + (i - 1) * PAIR, x)
  copy(z, oneLanes)
  for (let i: usize = 0; i < BYTES; i++) {
    const byte = usize(load<u8>(exponent + i))
    for (let k = 0; k < 4; k++) multiplyLanes(z, z, z)
    multiplyLanes(z, z, powers + (byte >> 4) * PAIR)
    for (let k = 0; k < 4; k++) multiplyLanes(z, z, z)
    multiplyLanes(z, z, powers + (byte & 15) * PAIR)
  }
}

/** z = a root of x in each lane, if it has one. z is not x. */
export function squareRootLanes(z: usize, x: usize): void {
  powerLanes(z, x, squareRoot)
}

// ---- inverses, by the binary extended Euclidean algorithm on integers of six 64-bit words

const WORDS: usize = 48
const modulusWords = memory.data(48, 16)
const u = memory.data(48, 16)
const v = memory.data(48, 16)
const uFactor = memory.data(48, 16)
const vFactor = memory.data(48, 16)
toWords(modulusWords, modulusLimbs, 2)

/** z = the integer with limbs of 28 bits that are 2^`spacing` bytes apart. */
function toWords(z: usize, limbs: usize, spacing: usize): void {
  for (let i: usize = 0; i < WORDS; i += 8) store<u64>(z + i, 0)
  for (let i: usize = 0; i < LIMBS; i++) {
    const limb = u64(load<u32>(limbs + (i << spacing)))
    const position = i * LIMB_BITS
    const word = z + ((position >> 6) << 3)
    const shift = u64(position & 63)
    store<u64>(word, load<u64>(word) | (limb << shift))
    if (shift > 36 && word + 8 < z + WORDS) store<u64>(word + 8, limb >> (64 - shift))
  }
}

// @ts-ignore: decorator
@inline
function isOne(x: usize): bool {
  let rest = load<u64>(x) ^ 1
  for (let i: usize = 8; i < WORDS; i += 8) rest |= load<u64>(x + i)
  return rest == 0
}

function isAtLeast(x: usize, y: usize): bool {
  for (let i: usize = WORDS; i > 0; i -= 8) {
    const a = load<u64>(x + i - 8)
    const b = load<u64>(y + i - 8)
    if (a != b) return a > b
  }
  return true
}

/** x += y; both are below the modulus, whose sum with itself fits. */
function addWords(x: usize, y: usize): void {
  let carry: u64 = 0
  for (let i: usize = 0; i < WORDS; i += 8) {
    const a = load<u64>(x + i) + carry
    const sum = a + load<u64>(y + i)
    carry = u64(a < carry) + u64(sum < a)
    store<u64>(x + i, sum)
  }
}

/** x −= y, which is not more. */
function subtractWords(x: usize, y: usize): void {
  let borrow: u64 = 0
  for (let i: usize = 0; i < WORDS; i += 8) {
    const a = load<u64>(x + i)
    const b = load<u64>(y + i)
    store<u64>(x + i, a - b - borrow)
    borrow = u64(a < b) | (u64(a == b) & borrow)
  }
}

function halveWords(x: usize): void {
  for (let i: usize = 0; i < WORDS - 8; i += 8) store<u64>(x + i, (load<u64>(x + i) >> 1) | (load<u64>(x + i, 8) << 63))
  store<u64>(x + WORDS - 8, load<u64>(x + WORDS - 8) >> 1)
}

/** Halves x until it is odd, and its factor modulo the modulus with it. */
function makeOdd(x: usize, factor: usize): void {
  while ((load<u64>(x) & 1) == 0) {
    halveWords(x)
    if ((load<u64>(factor) & 1) != 0) addWords(factor, modulusWords)
    halveWords(factor)
  }
}

/** x −= y, and the factors likewise, modulo the modulus. */
function subtractBoth(x: usize, y: usize, factor: usize, other: usize): void {
  subtractWords(x, y)
  if (!isAtLeast(factor, other)) addWords(factor, modulusWords)
  subtractWords(factor, other)
}

/** z = 1 / x in the first lane, 0 for 0, and 0 in the second. */
export function invertFirst(z: usize, x: usize): void {
  if ((zeroLanes(x) & 1) != 0) {
    setZero(z)
    return
  }
  // x · uFactor = u and x · vFactor = v
  toWords(u, plain, 3)
  memory.copy(v, modulusWords, WORDS)
  memory.fill(uFactor, 0, WORDS)
  store<u64>(uFactor, 1)
  memory.fill(vFactor, 0, WORDS)
  makeOdd(u, uFactor)
  while (!isOne(u)) {
    if (isAtLeast(u, v)) {
      subtractBoth(u, v, uFactor, vFactor)
      makeOdd(u, uFactor)
    } else {
      subtractBoth(v, u, vFactor, uFactor)
      makeOdd(v, vFactor)
    }
  }
  setZero(plain)
  for (let i: usize = 0; i < LIMBS; i++) {
    const position = i * LIMB_BITS
    const word = uFactor + ((position >> 6) << 3)
    const shift = u64(position & 63)
    let limb = load<u64>(word) >> shift
    if (shift > 36 && word + 8 < uFactor + WORDS) limb |= load<u64>(word + 8) << (64 - shift)
    store<u32>(plain + (i << 3), u32(limb) & 0xfffffff)
  }
  multiplyLanes(z, plain, squaredR)
}

const norm = memory.data(112, 16)
const conjugated = memory.data(112, 16)

/** z = 1 / x in Fp2; 0 for 0. */
export function invert(z: usize, x: usize): void {
  conjugate(conjugated, x)
  multiply(norm, x, conjugated)
  invertFirst(norm, norm)
  multiply(z, conjugated, norm)
}
