/**
 * Modular exponentiation, a module of its own (dist/modexp.wasm). Numbers are limbs of 28 bits in 32, the least significant
 * first. 64 bits have room for the sum of 256 products of two limbs, so that carries are moved only after many of them.
 */

const LIMB_BITS: u32 = 28
const MASK: u64 = 0xfffffff
/** The rows of a multiplication, two products each, that a 64-bit column has room for before its carries must be moved. */
const ROWS_TO_CARRY: u32 = 120
/** Zeros beyond a number's limbs, which the last columns read. */
const PADDING: u32 = 4
const TABLE_SIZE: u32 = 16

let limbs: u32 = 0
/** Bytes of a number with its padding. */
let stride: u32 = 0
/** The arithmetic is Montgomery's with an odd modulus, else that of a power of two. */
let isOdd: bool = false
/** −1 / modulus modulo 2^28. */
let inverse: u64 = 0
/** Bits of the highest limb that a power of two leaves. */
let topMask: u64 = 0

let modulus: u32 = 0
let result: u32 = 0
let square: u32 = 0
let columns: u32 = 0
let table: u32 = 0
let bytes: u32 = 0

/** Number of a slot: what {@link setNumber} writes to. */
const SLOT_MODULUS: u32 = 0
const SLOT_RESULT: u32 = 1
const SLOT_SQUARE: u32 = 2

/**
 * Lays out the memory for numbers of `count` limbs, an even number, and returns where `room` bytes
 * can be put. Returns 0 when the memory cannot grow that far.
 */
export function prepare(count: u32, room: u32): u32 {
  limbs = count
  stride = (count + PADDING) << 2
  modulus = ((<u32>__heap_base) + 15) & ~15
  result = modulus + stride
  square = result + stride
  table = square + stride
  columns = (table + TABLE_SIZE * stride + 15) & ~15
  bytes = columns + ((count + PADDING) << 3)
  const end = u64(bytes) + u64(room)
  const have = u64(memory.size()) << 16
  if (end > have && memory.grow(i32((end - have + 0xffff) >> 16)) < 0) return 0
  memory.fill(modulus, 0, bytes - modulus)
  return bytes
}

/** Reads the `length` bytes of a big-endian integer, which has no more bits than the limbs, into a slot. */
export function setNumber(slot: u32, address: u32, length: u32): void {
  const to = slot == SLOT_MODULUS ? modulus : slot == SLOT_RESULT ? result : square
  let bits: u64 = 0
  let have: u32 = 0
  let limb: u32 = 0
  for (let i = length; i > 0; i--) {
    bits |= u64(load<u8>(address + i - 1)) << have
    have += 8
    if (have >= LIMB_BITS && limb < limbs) {
      store<u32>(to + (limb << 2), u32(bits & MASK))
      limb++
      bits >>= LIMB_BITS
      have -= LIMB_BITS
    }
  }
  for (; limb < limbs; limb++) {
    store<u32>(to + (limb << 2), u32(bits & MASK))
    bits >>= LIMB_BITS
  }
}

/** Writes the result as a big-endian integer of `length` bytes, which it fits. */
export function getResult(address: u32, length: u32): void {
  let bits: u64 = 0
  let have: u32 = 0
  let limb: u32 = 0
  for (let i = length; i > 0; i--) {
    if (have < 8 && limb < limbs) {
      bits |= u64(load<u32>(result + (limb << 2))) << have
      have += LIMB_BITS
      limb++
    }
    store<u8>(address + i - 1, u8(bits))
    bits >>= 8
    have = have > 8 ? have - 8 : 0
  }
}

/**
 * Makes the result itself to the power of an exponent modulo the odd modulus in its slot; R² modulo it is in the slot of the
 * square, with R = 2^(28 · limbs), at least four times the modulus. What is written may be the modulus instead of zero.
 */
export function powerModuloOdd(exponent: u32, present: u32, length: f64, negatedInverse: u32): void {
  isOdd = true
  inverse = u64(negatedInverse)
  montgomery(table, result, square)
  power(exponent, present, u64(length))
  memory.fill(square, 0, stride)
  store<u32>(square, 1)
  montgomery(result, result, square)
}

/**
 * Does the same as {@link powerModuloOdd}, modulo 2 to the number of bits that the limbs have with
 * `mask` in the highest.
 */
export function powerModuloTwo(exponent: u32, present: u32, length: f64, mask: u32): void {
  isOdd = false
  topMask = u64(mask)
  memory.copy(table, result, stride)
  power(exponent, present, u64(length))
}

// @ts-ignore: decorator
@inline
function multiply(z: u32, x: u32, y: u32): void {
  if (isOdd) montgomery(z, x, y)
  else multiplyLow(z, x, y)
}

// @ts-ignore: decorator
@inline
function bitAt(exponent: u32, present: u32, position: u64): u32 {
  const index = position >> 3
  if (index >= u64(present)) return 0
  return (u32(load<u8>(exponent + u32(index))) >> (7 - (u32(position) & 7))) & 1
}

/**
 * Computes as the result the first entry of the table to the power of an exponent of `length`
 * bytes. Its first byte is not zero, and all bytes after the first `present` are zero. Uses sliding
 * windows that end in a one.
 */
function power(exponent: u32, present: u32, length: u64): void {
  const bits = length << 3
  let position = u64(clz<u32>(u32(load<u8>(exponent))) - 24)
  const size = bits - position
  const window: u64 = size < 8 ? 1 : size < 36 ? 2 : size < 100 ? 3 : size < 300 ? 4 : 5
  if (window > 1) {
    multiply(square, table, table)
    const entries: u32 = 1 << u32(window - 1)
    for (let i: u32 = 1; i < entries; i++) multiply(table + i * stride, table + (i - 1) * stride, square)
  }
  let isStarted = false
  while (position < bits) {
    if (bitAt(exponent, present, position) == 0) {
      multiply(result, result, result)
      position++
      continue
    }
    let end = position + window
    if (end > bits) end = bits
    while (bitAt(exponent, present, end - 1) == 0) end--
    let value: u32 = 0
    for (let i = position; i < end; i++) {
      value = (value << 1) | bitAt(exponent, present, i)
      if (isStarted) multiply(result, result, result)
    }
    const entry = table + (value >> 1) * stride
    if (isStarted) multiply(result, result, entry)
    else memory.copy(result, entry, stride)
    isStarted = true
    position = end
  }
}

/** z = x · y / R modulo the modulus, below twice the modulus when x and y are; z may be one of them. */
function montgomery(z: u32, x: u32, y: u32): void {
  const c = columns
  const m = modulus
  const n = limbs
  // memory.fill is a call out of WebAssembly, too slow for small numbers
  for (let at = c, end = c + ((n + PADDING) << 3); at < end; at += 16) v128.store(at, i64x2.splat(0))
  const m0 = u64(load<u32>(m))
  const m1 = u64(load<u32>(m, 4))
  const y0 = u64(load<u32>(y))
  const y1 = u64(load<u32>(y, 4))
  let rowsLeft = ROWS_TO_CARRY
  let i: u32 = 0
  // four rows at once while possible, then two
  for (; i + 4 <= n; i += 4) {
    const at = x + (i << 2)
    const a0 = u64(load<u32>(at))
    const a1 = u64(load<u32>(at, 4))
    const a2 = u64(load<u32>(at, 8))
    const a3 = u64(load<u32>(at, 12))
    const y2 = u64(load<u32>(y, 8))
    const y3 = u64(load<u32>(y, 12))
    const m2 = u64(load<u32>(m, 8))
    const m3 = u64(load<u32>(m, 12))
    let t = load<u64>(c) + a0 * y0
    const q0 = (t * inverse) & MASK
    t = ((t + q0 * m0) >> LIMB_BITS) + load<u64>(c, 8) + a0 * y1 + a1 * y0 + q0 * m1
    const q1 = (t * inverse) & MASK
    t = ((t + q1 * m0) >> LIMB_BITS) + load<u64>(c, 16) + a0 * y2 + a1 * y1 + a2 * y0 + q0 * m2 + q1 * m1
    const q2 = (t * inverse) & MASK
    t =
      ((t + q2 * m0) >> LIMB_BITS) +
      load<u64>(c, 24) +
      (a0 * y3 + a1 * y2 + a2 * y1 + a3 * y0) +
      (q0 * m3 + q1 * m2 + q2 * m1)
    const q3 = (t * inverse) & MASK
    let carry = (t + q3 * m0) >> LIMB_BITS
    let yPrevious3 = y1
    let yPrevious2 = y2
    let yPrevious1 = y3
    let mPrevious3 = m1
    let mPrevious2 = m2
    let mPrevious1 = m3
    const end = (n + 4) << 2
    for (let j: u32 = 16; j < end; j += 4) {
      const yj = u64(load<u32>(y + j))
      const mj = u64(load<u32>(m + j))
      const column = c + (j << 1)
      const sum =
        load<u64>(column) +
        carry +
        (a0 * yj + a1 * yPrevious1 + a2 * yPrevious2 + a3 * yPrevious3) +
        (q0 * mj + q1 * mPrevious1 + q2 * mPrevious2 + q3 * mPrevious3)
      store<u64>(column - 32, sum)
      carry = 0
      yPrevious3 = yPrevious2
      yPrevious2 = yPrevious1
      yPrevious1 = yj
      mPrevious3 = mPrevious2
      mPrevious2 = mPrevious1
      mPrevious1 = mj
    }
    rowsLeft -= 4
    if (rowsLeft < 4) {
      carryColumns(c, n)
      rowsLeft = ROWS_TO_CARRY
    }
  }
  for (; i < n; i += 2) {
    const at = x + (i << 2)
    const a0 = u64(load<u32>(at))
    const a1 = u64(load<u32>(at, 4))
    let t = load<u64>(c) + a0 * y0
    const q0 = (t * inverse) & MASK
    t = ((t + q0 * m0) >> LIMB_BITS) + load<u64>(c, 8) + a0 * y1 + a1 * y0 + q0 * m1
    const q1 = (t * inverse) & MASK
    let carry = (t + q1 * m0) >> LIMB_BITS
    let yPrevious = y1
    let mPrevious = m1
    const end = (n + 2) << 2
    for (let j: u32 = 8; j < end; j += 4) {
      const yj = u64(load<u32>(y + j))
      const mj = u64(load<u32>(m + j))
      const column = c + (j << 1)
      store<u64>(column - 16, load<u64>(column) + carry + a0 * yj + a1 * yPrevious + q0 * mj + q1 * mPrevious)
      carry = 0
      yPrevious = yj
      mPrevious = mj
    }
  }
  let carry: u64 = 0
  for (let j: u32 = 0; j < n; j++) {
    carry += load<u64>(c + (j << 3))
    store<u32>(z + (j << 2), u32(carry & MASK))
    carry >>= LIMB_BITS
  }
}

/** Moves what is above 28 bits in each column to the next. */
function carryColumns(c: u32, n: u32): void {
  let carry: u64 = 0
  for (let j: u32 = 0; j < n; j++) {
    const sum = load<u64>(c + (j << 3)) + carry
    store<u64>(c + (j << 3), sum & MASK)
    carry = sum >> LIMB_BITS
  }
  // the columns beyond are empty between rows, and the highest holds what is left
  store<u64>(c + ((n - 1) << 3), load<u64>(c + ((n - 1) << 3)) + (carry << LIMB_BITS))
}

/** z = x · y modulo 2 to the bits of the limbs under the mask of the highest; z may be one of them. */
function multiplyLow(z: u32, x: u32, y: u32): void {
  const c = columns
  const n = limbs
  let carry: u64 = 0
  for (let k: u32 = 0; k < n; k++) {
    let sum = carry
    let high: u64 = 0
    let rowsLeft: u32 = ROWS_TO_CARRY
    let a = x
    let b = y + (k << 2)
    const end = x + (k << 2)
    while (a <= end) {
      sum += u64(load<u32>(a)) * u64(load<u32>(b))
      a += 4
      b -= 4
      if (--rowsLeft == 0) {
        high += sum >> LIMB_BITS
        sum &= MASK
        rowsLeft = ROWS_TO_CARRY
      }
    }
    store<u64>(c + (k << 3), sum & MASK)
    carry = high + (sum >> LIMB_BITS)
  }
  store<u64>(c + ((n - 1) << 3), load<u64>(c + ((n - 1) << 3)) & topMask)
  for (let k: u32 = 0; k < n; k++) store<u32>(z + (k << 2), u32(load<u64>(c + (k << 3))))
}
