// Between big-endian integers of calls, BYTES each, and elements in Montgomery's form; and what depends on the value of an element.
import { copy, copyLane, multiplyLanes, oneLanes, PAIR, plainOne, setZero, squaredR } from './field'
import { BYTES, LIMB_BITS, LIMBS, modulusLimbs } from './parameters'

const MASK: u32 = (1 << LIMB_BITS) - 1

/** Integers, in the lanes of a pair: of the element that was last made one. */
export const plain = memory.data(i32(PAIR), 16)

/** Takes the integer at `bytes` apart into limbs that are 8 bytes apart; false when it is not below the modulus. */
function unpack(limbs: usize, bytes: usize): bool {
  let bits: u64 = 0
  let have: i32 = 0
  let at = limbs
  for (let i = BYTES; i > 0; i -= 4) {
    bits |= u64(bswap<u32>(load<u32>(bytes + i - 4))) << have
    have += 32
    while (have >= LIMB_BITS) {
      store<u32>(at, u32(bits) & MASK)
      at += 8
      bits >>= LIMB_BITS
      have -= LIMB_BITS
    }
  }
  store<u32>(at, u32(bits))
  return isBelowModulus(limbs)
}

/** Writes the integer of limbs that are 8 bytes apart to `bytes`. */
function pack(bytes: usize, limbs: usize): void {
  let bits: u64 = 0
  let have: i32 = 0
  let at = limbs
  for (let i = BYTES; i > 0; i -= 4) {
    while (have < 32 && at < limbs + PAIR) {
      bits |= u64(load<u32>(at)) << have
      at += 8
      have += LIMB_BITS
    }
    store<u32>(bytes + i - 4, bswap<u32>(u32(bits)))
    bits >>= 32
    have -= 32
  }
}

/** Reads the integer at `bytes` into a lane of z; false when it is not below the modulus. The other lane keeps its element. */
export function readElement(z: usize, lane: usize, bytes: usize): bool {
  setZero(plain)
  if (!unpack(plain + (lane << 2), bytes)) return false
  multiplyLanes(plain, plain, squaredR)
  copyLane(z, lane, plain, lane)
  return true
}

/** Reads two integers into the lanes of z. Which of them are below the modulus, bit 0 and bit 1; a lane of one that is not is of no use. */
export function readLanes(z: usize, first: usize, second: usize): u32 {
  const below = u32(unpack(plain, first)) | (u32(unpack(plain + 4, second)) << 1)
  multiplyLanes(z, plain, squaredR)
  return below
}

/** Compares limbs that are 8 bytes apart. */
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
    // the product is less than twice the modulus
    let borrow: u32 = 0
    for (let i: usize = 0; i < LIMBS; i++) {
      const limb = load<u32>(limbs + (i << 3)) - load<u32>(modulusLimbs + (i << 2)) - borrow
      store<u32>(limbs + (i << 3), limb & MASK)
      borrow = limb >> 31
    }
  }
}

/** Writes the element in a lane of x to `bytes`. */
export function writeElement(bytes: usize, x: usize, lane: usize): void {
  toPlain(x)
  pack(bytes, plain + (lane << 2))
}

/** Writes the elements of both lanes. */
export function writeLanes(first: usize, second: usize, x: usize): void {
  toPlain(x)
  pack(first, plain)
  pack(second, plain + 4)
}

/** Returns which lanes of x are zero: bit 0 and bit 1. */
export function zeroLanes(x: usize): u32 {
  toPlain(x)
  let bits: u64 = 0
  for (let i: usize = 0; i < PAIR; i += 8) bits |= load<u64>(plain + i)
  return u32(u32(bits) == 0) | (u32(bits >> 32 == 0) << 1)
}

/** Returns which lanes of x stand for odd integers: bit 0 and bit 1. */
export function parityLanes(x: usize): u32 {
  toPlain(x)
  return (load<u32>(plain) & 1) | ((load<u32>(plain, 4) & 1) << 1)
}

/** Returns whether the element of Fp2 is zero. */
export function isZero(x: usize): bool {
  return zeroLanes(x) == 3
}

/** Returns whether the integer in a lane is more than half the modulus. */
export function isLarger(x: usize, lane: usize): bool {
  toPlain(x)
  for (let i: usize = 0; i < PAIR; i += 8) store<u64>(plain + i, load<u64>(plain + i) << 1)
  // moves the carries of the doubled limbs
  const limbs = plain + (lane << 2)
  let carry: u32 = 0
  for (let i: usize = 0; i < LIMBS; i++) {
    const limb = load<u32>(limbs + (i << 3)) + carry
    store<u32>(limbs + (i << 3), limb & MASK)
    carry = limb >> LIMB_BITS
  }
  return !isBelowModulus(limbs)
}

/** Bits of the windows of exponents. */
const WINDOW: i32 = 5

/** The odd powers of x up to 2^WINDOW, and x². */
const powers = memory.data(16 * i32(PAIR), 16)
const squared = memory.data(i32(PAIR), 16)

// @ts-ignore: decorator
@inline
function bitOf(exponent: usize, bit: i32): u32 {
  return u32(load<u8>(exponent + BYTES - 1 - (bit >> 3)) >> u8(bit & 7)) & 1
}

/** z = x to the power of a big-endian integer of BYTES, in each lane, by windows that begin and end with a bit that is set. */
export function powerLanes(z: usize, x: usize, exponent: usize): void {
  copy(powers, x)
  multiplyLanes(squared, x, x)
  for (let i: usize = PAIR; i < 16 * PAIR; i += PAIR) multiplyLanes(powers + i, powers + i - PAIR, squared)
  copy(z, oneLanes)
  let isOne = true
  let bit = 8 * i32(BYTES) - 1
  while (bit >= 0) {
    if (bitOf(exponent, bit) == 0) {
      if (!isOne) multiplyLanes(z, z, z)
      bit--
      continue
    }
    let end = max(bit - WINDOW + 1, 0)
    while (bitOf(exponent, end) == 0) end++
    let window: usize = 0
    for (; bit >= end; bit--) {
      if (!isOne) multiplyLanes(z, z, z)
      window = (window << 1) | bitOf(exponent, bit)
    }
    const power = powers + (window >> 1) * PAIR
    if (isOne) copy(z, power)
    else multiplyLanes(z, z, power)
    isOne = false
  }
}

/** Returns whether the next `length` bytes, a multiple of 8, are zero. */
export function areZeros(bytes: usize, length: usize): bool {
  for (let i: usize = 0; i < length; i += 8) if (load<u64>(bytes + i) != 0) return false
  return true
}
