import { reciprocal, reciprocalOfTwo } from './reciprocal'
import { multiplyHigh, shiftPairLeft, shiftPairRight } from './word'
import { setLimbs } from './wordAccess'

// Knuth's algorithm D on 64-bit limbs, the remainder in locals. A digit of the quotient comes from the reciprocal of the divisor's
// one or two upper limbs by algorithms 4 (2 by 1) and 5 (3 by 2) of the paper that reciprocal.ts names. The divisor is shifted so
// that its highest bit is set, and the numerator with it as it is read.

/** Divides `limbs` limbs by one that is not 0; writes `limbs` limbs of quotient and returns the remainder. */
export function divideByOne(from: usize, limbs: u32, divisor: u64, quotient: usize): u64 {
  const bits = i64.clz(divisor)
  const d = divisor << bits
  const v = reciprocal(d)
  let offset = usize(limbs - 1) << 3
  let limb = load<u64>(from + offset)
  let r = shiftPairLeft(0, limb, bits)
  for (;;) {
    const below = offset == 0 ? 0 : load<u64>(from + offset - 8)
    const u = shiftPairLeft(limb, below, bits)
    limb = below
    // Algorithm 4.
    const q0 = v * r
    const s0 = q0 + u
    let q = multiplyHigh(v, r) + r + u64(s0 < u) + 1
    r = u - q * d
    const over = 0 - u64(r > s0)
    q += over
    r += d & over
    if (r >= d) {
      q++
      r -= d
    }
    store<u64>(quotient + offset, q)
    if (offset == 0) break
    offset -= 8
  }
  return r >>> bits
}

/**
 * Divides `limbs` limbs by a divisor of n (2, 3 or 4) limbs, the highest not 0; n <= limbs. Writes limbs - n + 1 limbs of
 * quotient, and the remainder as a word. `quotient` may be `from`.
 */
// @ts-ignore: decorator
@inline
function divideByMany(n: u32, from: usize, limbs: u32, divisor: usize, quotient: usize, remainder: usize): void {
  const top = load<u64>(divisor + ((n - 1) << 3))
  const bits = i64.clz(top)
  // The divisor's limbs from the highest down: d1, d0, e1, e0.
  let d1: u64 = 0
  let d0: u64 = 0
  let e1: u64 = 0
  let e0: u64 = 0
  if (n == 2) {
    const low = load<u64>(divisor)
    d1 = shiftPairLeft(top, low, bits)
    d0 = low << bits
  } else if (n == 3) {
    const middle = load<u64>(divisor, 8)
    const low = load<u64>(divisor)
    d1 = shiftPairLeft(top, middle, bits)
    d0 = shiftPairLeft(middle, low, bits)
    e1 = low << bits
  } else {
    const w2 = load<u64>(divisor, 16)
    const w1 = load<u64>(divisor, 8)
    const w0 = load<u64>(divisor)
    d1 = shiftPairLeft(top, w2, bits)
    d0 = shiftPairLeft(w2, w1, bits)
    e1 = shiftPairLeft(w1, w0, bits)
    e0 = w0 << bits
  }
  const v = reciprocalOfTwo(d1, d0)

  // The remainder's limbs from the highest down: r1, r0, t1, t0. It starts as the n highest limbs of the shifted numerator.
  let offset = usize(limbs - 1) << 3
  let limb = load<u64>(from + offset)
  let r1 = shiftPairLeft(0, limb, bits)
  let below = load<u64>(from + offset - 8)
  let r0 = shiftPairLeft(limb, below, bits)
  limb = below
  offset -= 8
  let t1: u64 = 0
  let t0: u64 = 0
  if (n > 2) {
    below = load<u64>(from + offset - 8)
    t1 = shiftPairLeft(limb, below, bits)
    limb = below
    offset -= 8
  }
  if (n > 3) {
    below = load<u64>(from + offset - 8)
    t0 = shiftPairLeft(limb, below, bits)
    limb = below
    offset -= 8
  }
  for (;;) {
    below = offset == 0 ? 0 : load<u64>(from + offset - 8)
    const next = shiftPairLeft(limb, below, bits)
    limb = below
    let q: u64 = 0
    let over: u64 = 0
    const u0 = n == 2 ? next : t1
    if (n > 2 && r1 == d1 && r0 == d0) {
      // The digit would be 2^64: one less leaves (d1, d0) + u0.
      q = u64.MAX_VALUE
      r0 = d0 + u0
      const carry = u64(r0 < u0)
      r1 = d1 + carry
      over = u64(r1 < carry)
    } else {
      // Algorithm 5.
      const q0 = v * r1
      const s0 = q0 + r0
      q = multiplyHigh(v, r1) + r1 + u64(s0 < r0)
      const p0 = d0 * q
      const p1 = multiplyHigh(d0, q)
      const x0 = u0 - p0
      const y0 = x0 - d0
      const y1 = r0 - q * d1 - p1 - u64(u0 < p0) - d1 - u64(x0 < d0)
      const mask = 0 - u64(y1 >= s0)
      q += mask + 1
      r0 = y0 + (d0 & mask)
      r1 = y1 + (d1 & mask) + u64(r0 < y0)
      if (r1 >= d1 && (r1 > d1 || r0 >= d0)) {
        q++
        r1 = r1 - d1 - u64(r0 < d0)
        r0 -= d0
      }
    }
    if (n == 3) {
      const p0 = q * e1
      const p1 = multiplyHigh(q, e1) + u64(next < p0)
      const borrow = u64(r0 < p1)
      t1 = next - p0
      r0 -= p1
      const under = u64(r1 < borrow)
      r1 -= borrow
      if (under > over) {
        q--
        t1 += e1
        const c1 = u64(t1 < e1)
        const s = r0 + c1
        const c2 = u64(s < c1)
        r0 = s + d0
        r1 += d1 + (c2 | u64(r0 < d0))
      }
    } else if (n == 4) {
      const p0 = q * e0
      const h0 = multiplyHigh(q, e0) + u64(next < p0)
      const p1 = q * e1
      const s1 = p1 + h0
      const p2 = multiplyHigh(q, e1) + u64(s1 < h0) + u64(t0 < s1)
      const borrow = u64(r0 < p2)
      t1 = t0 - s1
      t0 = next - p0
      r0 -= p2
      const under = u64(r1 < borrow)
      r1 -= borrow
      if (under > over) {
        q--
        t0 += e0
        const c0 = u64(t0 < e0)
        const s = t1 + c0
        const k1 = u64(s < c0)
        t1 = s + e1
        const c1 = k1 | u64(t1 < e1)
        const z = r0 + c1
        const k2 = u64(z < c1)
        r0 = z + d0
        r1 += d1 + (k2 | u64(r0 < d0))
      }
    }
    store<u64>(quotient + offset, q)
    if (offset == 0) break
    offset -= 8
  }
  if (n == 2) {
    setLimbs(remainder, shiftPairRight(r1, r0, bits), r1 >>> bits, 0, 0)
  } else if (n == 3) {
    setLimbs(remainder, shiftPairRight(r0, t1, bits), shiftPairRight(r1, r0, bits), r1 >>> bits, 0)
  } else {
    setLimbs(
      remainder,
      shiftPairRight(t1, t0, bits),
      shiftPairRight(r0, t1, bits),
      shiftPairRight(r1, r0, bits),
      r1 >>> bits,
    )
  }
}

export function divideByTwo(from: usize, limbs: u32, divisor: usize, quotient: usize, remainder: usize): void {
  divideByMany(2, from, limbs, divisor, quotient, remainder)
}

export function divideByThree(from: usize, limbs: u32, divisor: usize, quotient: usize, remainder: usize): void {
  divideByMany(3, from, limbs, divisor, quotient, remainder)
}

export function divideByFour(from: usize, limbs: u32, divisor: usize, quotient: usize, remainder: usize): void {
  divideByMany(4, from, limbs, divisor, quotient, remainder)
}
