// 256-bit words: moving them, converting them to and from big-endian bytes, and all arithmetic but division (division.ts,
// modular.ts) and exponentiation (exponent.ts). A word is four u64 limbs in memory, the least significant first. Every
// operation reads its operands before it writes, so `out` may be the address of any operand.
//
// Limbs are moved one by one: a v128 load directly after two u64 stores would wait until both have left the store buffer.

// @ts-ignore: decorator
@inline
export function setLimbs(word: usize, limb0: u64, limb1: u64, limb2: u64, limb3: u64): void {
  store<u64>(word, limb0)
  store<u64>(word, limb1, 8)
  store<u64>(word, limb2, 16)
  store<u64>(word, limb3, 24)
}

// @ts-ignore: decorator
@inline
export function copyWord(to: usize, from: usize): void {
  setLimbs(to, load<u64>(from), load<u64>(from, 8), load<u64>(from, 16), load<u64>(from, 24))
}

// @ts-ignore: decorator
@inline
export function swapWords(a: usize, b: usize): void {
  const limb0 = load<u64>(a)
  const limb1 = load<u64>(a, 8)
  const limb2 = load<u64>(a, 16)
  const limb3 = load<u64>(a, 24)
  copyWord(a, b)
  setLimbs(b, limb0, limb1, limb2, limb3)
}

/** Writes a number as a word. */
// @ts-ignore: decorator
@inline
export function setWord(word: usize, value: u64): void {
  setLimbs(word, value, 0, 0, 0)
}

// @ts-ignore: decorator
@inline
export function clearWord(word: usize): void {
  setWord(word, 0)
}

/** Reverses 32 bytes: big-endian bytes to a word, or a word to big-endian bytes. `to` may be `from`. */
// @ts-ignore: decorator
@inline
export function reverseWord(to: usize, from: usize): void {
  const low = v128.load(from)
  const high = v128.load(from, 16)
  v128.store(to, reversed(high))
  v128.store(to, reversed(low), 16)
}

// @ts-ignore: decorator
@inline
export function reversed(half: v128): v128 {
  return v128.shuffle<i8>(half, half, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
}

/** Returns whether the word is below 2^64: its lowest limb then is its value. */
// @ts-ignore: decorator
@inline
export function fitsU64(word: usize): bool {
  return (load<u64>(word, 8) | load<u64>(word, 16) | load<u64>(word, 24)) === 0
}

/** Returns the word's value, or 2^64 - 1 when it is larger. */
// @ts-ignore: decorator
@inline
export function saturatedU64(word: usize): u64 {
  return fitsU64(word) ? load<u64>(word) : u64.MAX_VALUE
}

/** Writes the 20 bytes of an address from the lower part of a word. */
// @ts-ignore: decorator
@inline
export function addressOfWord(to: usize, word: usize): void {
  store<u32>(to, bswap<u32>(load<u32>(word, 16)))
  const low = v128.load(word)
  v128.store(to, reversed(low), 4)
}

/** Writes the lowest 160 bits of a word. */
// @ts-ignore: decorator
@inline
export function maskAddress(to: usize, word: usize): void {
  setLimbs(to, load<u64>(word), load<u64>(word, 8), load<u32>(word, 16), 0)
}

/** Writes an address of 20 bytes as a word. */
// @ts-ignore: decorator
@inline
export function wordOfAddress(to: usize, address: usize): void {
  v128.store(to, reversed(v128.load(address, 4)))
  store<u64>(to, <u64>bswap<u32>(load<u32>(address)), 16)
  store<u64>(to, 0, 24)
}

// Arithmetic.

/** Returns the upper half of a × b. */
// @ts-ignore: decorator
@inline
export function multiplyHigh(a: u64, b: u64): u64 {
  const aLow = a & 0xffffffff
  const aHigh = a >>> 32
  const bLow = b & 0xffffffff
  const bHigh = b >>> 32
  const middle = aHigh * bLow + ((aLow * bLow) >>> 32)
  const carried = aLow * bHigh + (middle & 0xffffffff)
  return aHigh * bHigh + (middle >>> 32) + (carried >>> 32)
}

// @ts-ignore: decorator
@inline
export function add(a: usize, b: usize, out: usize): void {
  const b0 = load<u64>(b)
  const b1 = load<u64>(b, 8)
  const b2 = load<u64>(b, 16)
  const b3 = load<u64>(b, 24)
  const r0 = load<u64>(a) + b0
  const c0 = u64(r0 < b0)
  const s1 = load<u64>(a, 8) + b1
  const r1 = s1 + c0
  const c1 = u64(s1 < b1) | u64(r1 < c0)
  const s2 = load<u64>(a, 16) + b2
  const r2 = s2 + c1
  const c2 = u64(s2 < b2) | u64(r2 < c1)
  setLimbs(out, r0, r1, r2, load<u64>(a, 24) + b3 + c2)
}

/** Adds a small number to a word in its place. */
// @ts-ignore: decorator
@inline
export function addSmall(word: usize, value: u64): void {
  const sum = load<u64>(word) + value
  store<u64>(word, sum)
  if (sum < value) carryInto(word)
}

/** Adds 2^64 to a word in its place. */
function carryInto(word: usize): void {
  for (let at = word + 8; at < word + 32; at += 8) {
    const limb = load<u64>(at) + 1
    store<u64>(at, limb)
    if (limb != 0) return
  }
}

// @ts-ignore: decorator
@inline
export function sub(a: usize, b: usize, out: usize): void {
  const a0 = load<u64>(a)
  const a1 = load<u64>(a, 8)
  const a2 = load<u64>(a, 16)
  const a3 = load<u64>(a, 24)
  const b0 = load<u64>(b)
  const b1 = load<u64>(b, 8)
  const b2 = load<u64>(b, 16)
  const c0 = u64(a0 < b0)
  const s1 = a1 - b1
  const c1 = u64(a1 < b1) | u64(s1 < c0)
  const s2 = a2 - b2
  const c2 = u64(a2 < b2) | u64(s2 < c1)
  setLimbs(out, a0 - b0, s1 - c0, s2 - c1, a3 - load<u64>(b, 24) - c2)
}

export function mul(a: usize, b: usize, out: usize): void {
  const a0 = load<u64>(a)
  const a1 = load<u64>(a, 8)
  const a2 = load<u64>(a, 16)
  const a3 = load<u64>(a, 24)
  const b0 = load<u64>(b)
  const b1 = load<u64>(b, 8)
  const b2 = load<u64>(b, 16)
  const b3 = load<u64>(b, 24)

  const r0 = a0 * b0
  // Limb 1: the upper half of a0 × b0 and the lower halves of a0 × b1 and a1 × b0.
  const p01 = a0 * b1
  const p10 = a1 * b0
  const s1 = multiplyHigh(a0, b0) + p01
  const r1 = s1 + p10
  const c1 = u64(s1 < p01) + u64(r1 < p10)
  // Limb 2, its carries into limb 3 counted in c2.
  const h01 = multiplyHigh(a0, b1)
  const h10 = multiplyHigh(a1, b0)
  const p02 = a0 * b2
  const p11 = a1 * b1
  const p20 = a2 * b0
  const s2 = h01 + c1
  const x2 = s2 + h10
  const y2 = p02 + p11
  const z2 = x2 + p20
  const r2 = y2 + z2
  const c2 = u64(s2 < c1) + u64(x2 < h10) + u64(y2 < p11) + u64(z2 < p20) + u64(r2 < z2)
  const r3 =
    c2 +
    multiplyHigh(a0, b2) +
    multiplyHigh(a1, b1) +
    multiplyHigh(a2, b0) +
    a0 * b3 +
    a1 * b2 +
    a2 * b1 +
    a3 * b0
  setLimbs(out, r0, r1, r2, r3)
}

// @ts-ignore: decorator
@inline
export function and(a: usize, b: usize, out: usize): void {
  setLimbs(
    out,
    load<u64>(a) & load<u64>(b),
    load<u64>(a, 8) & load<u64>(b, 8),
    load<u64>(a, 16) & load<u64>(b, 16),
    load<u64>(a, 24) & load<u64>(b, 24),
  )
}

// @ts-ignore: decorator
@inline
export function or(a: usize, b: usize, out: usize): void {
  setLimbs(
    out,
    load<u64>(a) | load<u64>(b),
    load<u64>(a, 8) | load<u64>(b, 8),
    load<u64>(a, 16) | load<u64>(b, 16),
    load<u64>(a, 24) | load<u64>(b, 24),
  )
}

// @ts-ignore: decorator
@inline
export function xor(a: usize, b: usize, out: usize): void {
  setLimbs(
    out,
    load<u64>(a) ^ load<u64>(b),
    load<u64>(a, 8) ^ load<u64>(b, 8),
    load<u64>(a, 16) ^ load<u64>(b, 16),
    load<u64>(a, 24) ^ load<u64>(b, 24),
  )
}

// @ts-ignore: decorator
@inline
export function not(a: usize, out: usize): void {
  setLimbs(out, ~load<u64>(a), ~load<u64>(a, 8), ~load<u64>(a, 16), ~load<u64>(a, 24))
}

/** Returns the borrow that a - b leaves after three limbs. */
// @ts-ignore: decorator
@inline
function borrowOfThree(a: usize, b: usize): u64 {
  const a1 = load<u64>(a, 8)
  const b1 = load<u64>(b, 8)
  const a2 = load<u64>(a, 16)
  const b2 = load<u64>(b, 16)
  const c0 = u64(load<u64>(a) < load<u64>(b))
  const c1 = u64(a1 < b1) | u64(a1 - b1 < c0)
  return u64(a2 < b2) | u64(a2 - b2 < c1)
}

// @ts-ignore: decorator
@inline
export function lt(a: usize, b: usize): bool {
  const a3 = load<u64>(a, 24)
  const b3 = load<u64>(b, 24)
  return <bool>(u64(a3 < b3) | u64(a3 - b3 < borrowOfThree(a, b)))
}

// @ts-ignore: decorator
@inline
export function gt(a: usize, b: usize): bool {
  return lt(b, a)
}

/** Returns whether a < b, signed (two's complement): the order of unsigned words whose sign bits are turned over. */
// @ts-ignore: decorator
@inline
export function slt(a: usize, b: usize): bool {
  const a3 = load<u64>(a, 24) ^ 0x8000000000000000
  const b3 = load<u64>(b, 24) ^ 0x8000000000000000
  return <bool>(u64(a3 < b3) | u64(a3 - b3 < borrowOfThree(a, b)))
}

// @ts-ignore: decorator
@inline
export function sgt(a: usize, b: usize): bool {
  return slt(b, a)
}

// @ts-ignore: decorator
@inline
export function eq(a: usize, b: usize): bool {
  return (
    ((load<u64>(a) ^ load<u64>(b)) |
      (load<u64>(a, 8) ^ load<u64>(b, 8)) |
      (load<u64>(a, 16) ^ load<u64>(b, 16)) |
      (load<u64>(a, 24) ^ load<u64>(b, 24))) ==
    0
  )
}

// @ts-ignore: decorator
@inline
export function isZero(a: usize): bool {
  return (load<u64>(a) | load<u64>(a, 8) | load<u64>(a, 16) | load<u64>(a, 24)) == 0
}

/** Returns whether a word is below `bound`. */
// @ts-ignore: decorator
@inline
function isBelow(a: usize, bound: u64): bool {
  return (load<u64>(a, 8) | load<u64>(a, 16) | load<u64>(a, 24)) == 0 && load<u64>(a) < bound
}

/** Computes BYTE: the byte of `value` at `index`, 0 being the most significant; 0 from index 32 on. */
// @ts-ignore: decorator
@inline
export function byte(index: usize, value: usize, out: usize): void {
  let result: u64 = 0
  if (isBelow(index, 32)) result = load<u8>(value + 31 - load<u32>(index))
  setLimbs(out, result, 0, 0, 0)
}

/** Returns the upper limb of (high, low) shifted left by 0 to 63 bits. */
// @ts-ignore: decorator
@inline
export function shiftPairLeft(high: u64, low: u64, bits: u64): u64 {
  return (high << bits) | ((low >>> 1) >>> (63 - bits))
}

/** Returns the lower limb of (high, low) shifted right by 0 to 63 bits. */
// @ts-ignore: decorator
@inline
export function shiftPairRight(high: u64, low: u64, bits: u64): u64 {
  return (low >>> bits) | ((high << 1) << (63 - bits))
}

/** Shifts left by less than 256 bits. */
export function shiftLeft(by: u32, value: usize, out: usize): void {
  const bits = u64(by & 63)
  const limbs = by >>> 6
  const v0 = load<u64>(value)
  const v1 = load<u64>(value, 8)
  const v2 = load<u64>(value, 16)
  if (limbs == 0) {
    const v3 = load<u64>(value, 24)
    setLimbs(out, v0 << bits, shiftPairLeft(v1, v0, bits), shiftPairLeft(v2, v1, bits), shiftPairLeft(v3, v2, bits))
  } else if (limbs == 1) {
    setLimbs(out, 0, v0 << bits, shiftPairLeft(v1, v0, bits), shiftPairLeft(v2, v1, bits))
  } else if (limbs == 2) {
    setLimbs(out, 0, 0, v0 << bits, shiftPairLeft(v1, v0, bits))
  } else {
    setLimbs(out, 0, 0, 0, v0 << bits)
  }
}

/** Computes SHL (EIP-145). */
export function shl(amount: usize, value: usize, out: usize): void {
  if (isBelow(amount, 256)) shiftLeft(load<u32>(amount), value, out)
  else setLimbs(out, 0, 0, 0, 0)
}

/** Shifts right by less than 256 bits; `fill` is the limb that comes in from the left, all zeros or all ones. */
export function shiftRight(by: u32, value: usize, out: usize, fill: u64): void {
  const bits = u64(by & 63)
  const limbs = by >>> 6
  const v1 = load<u64>(value, 8)
  const v2 = load<u64>(value, 16)
  const v3 = load<u64>(value, 24)
  const top = shiftPairRight(fill, v3, bits)
  if (limbs == 0) {
    const v0 = load<u64>(value)
    setLimbs(out, shiftPairRight(v1, v0, bits), shiftPairRight(v2, v1, bits), shiftPairRight(v3, v2, bits), top)
  } else if (limbs == 1) {
    setLimbs(out, shiftPairRight(v2, v1, bits), shiftPairRight(v3, v2, bits), top, fill)
  } else if (limbs == 2) {
    setLimbs(out, shiftPairRight(v3, v2, bits), top, fill, fill)
  } else {
    setLimbs(out, top, fill, fill, fill)
  }
}

/** Computes SHR (EIP-145). */
export function shr(amount: usize, value: usize, out: usize): void {
  if (isBelow(amount, 256)) shiftRight(load<u32>(amount), value, out, 0)
  else setLimbs(out, 0, 0, 0, 0)
}

/** Computes SAR (EIP-145). */
export function sar(amount: usize, value: usize, out: usize): void {
  const fill = u64(load<i64>(value, 24) >> 63)
  if (isBelow(amount, 256)) shiftRight(load<u32>(amount), value, out, fill)
  else setLimbs(out, fill, fill, fill, fill)
}

/** Computes CLZ (EIP-7939): the number of leading zero bits, 256 of 0. */
export function clz(a: usize, out: usize): void {
  let zeros = i64.clz(load<u64>(a, 24))
  if (zeros == 64) {
    zeros += i64.clz(load<u64>(a, 16))
    if (zeros == 128) {
      zeros += i64.clz(load<u64>(a, 8))
      if (zeros == 192) zeros += i64.clz(load<u64>(a))
    }
  }
  setLimbs(out, zeros, 0, 0, 0)
}

/** Computes SIGNEXTEND: `size` is the index of the byte, from the least significant, that holds the sign. */
export function signExtend(size: usize, value: usize, out: usize): void {
  if (!isBelow(size, 31)) {
    copyWord(out, value)
    return
  }
  const index = load<u32>(size)
  const unused = i64(56 - ((index & 7) << 3))
  const limb = index >>> 3
  const signed = (load<i64>(value + (limb << 3)) << unused) >> unused
  const fill = u64(signed >> 63)
  const v0 = load<u64>(value)
  const v1 = load<u64>(value, 8)
  const v2 = load<u64>(value, 16)
  if (limb == 0) setLimbs(out, signed, fill, fill, fill)
  else if (limb == 1) setLimbs(out, v0, signed, fill, fill)
  else if (limb == 2) setLimbs(out, v0, v1, signed, fill)
  else setLimbs(out, v0, v1, v2, signed)
}
