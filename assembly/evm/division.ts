// DIV, MOD, SDIV and SMOD. ADDMOD and MULMOD are in modular.ts.
//
// Quotients come from Knuth's algorithm D on 64-bit limbs, with the remainder in locals. A digit of the quotient comes from the
// reciprocal of the divisor's one or two highest limbs: N. Möller, T. Granlund, "Improved division by invariant integers" (IEEE
// Transactions on Computers 60, 2011), algorithm 4 (two limbs by one) and algorithm 5 (three by two). The divisor is shifted so
// that its highest bit is set, and the numerator is shifted with it as it is read.
import { copyWord, lt, multiplyHigh, setLimbs, shiftPairLeft, shiftPairRight } from './word'

/** Room for what a caller does not ask for: a quotient, or a remainder. */
export const unused = memory.data(64, 16)
const dividend = memory.data(32, 16)
const magnitude = memory.data(32, 16)

/** Returns the number of limbs of a word without its leading zeros. */
// @ts-ignore: decorator
@inline
function limbCount(a: usize): u32 {
  return load<u64>(a, 24) ? 4 : load<u64>(a, 16) ? 3 : load<u64>(a, 8) ? 2 : 1
}

/** Computes DIV. */
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

/** Computes MOD. */
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
  } else if (n == 1) {
    setLimbs(out, divideByOne(a, m, load<u64>(b), unused), 0, 0, 0)
  } else if (n == 2) {
    divideByTwo(a, m, b, unused, out)
  } else if (n == 3) {
    divideByThree(a, m, b, unused, out)
  } else {
    divideByFour(a, m, b, unused, out)
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

/** Computes SDIV: towards zero; the least word by -1 is itself. */
export function sdiv(a: usize, b: usize, out: usize): void {
  const aSign = u64(load<i64>(a, 24) >> 63)
  const bSign = u64(load<i64>(b, 24) >> 63)
  copyNegated(a, aSign, dividend)
  copyNegated(b, bSign, magnitude)
  div(dividend, magnitude, out)
  copyNegated(out, aSign ^ bSign, out)
}

/** Computes SMOD: the sign is the dividend's. */
export function smod(a: usize, b: usize, out: usize): void {
  const aSign = u64(load<i64>(a, 24) >> 63)
  copyNegated(a, aSign, dividend)
  copyNegated(b, u64(load<i64>(b, 24) >> 63), magnitude)
  mod(dividend, magnitude, out)
  copyNegated(out, aSign, out)
}

// Knuth's algorithm D.

/** Divides `limbs` limbs by one that is not 0; writes `limbs` limbs of quotient and returns the remainder. */
export function divideByOne(from: usize, limbs: u32, divisor: u64, quotient: usize): u64 {
  const bits = i64.clz(divisor)
  const d = divisor << bits
  const v = rememberedReciprocal(d)
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
  const v = rememberedReciprocalOfTwo(d1, d0)

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

function divideByTwo(from: usize, limbs: u32, divisor: usize, quotient: usize, remainder: usize): void {
  divideByMany(2, from, limbs, divisor, quotient, remainder)
}

function divideByThree(from: usize, limbs: u32, divisor: usize, quotient: usize, remainder: usize): void {
  divideByMany(3, from, limbs, divisor, quotient, remainder)
}

function divideByFour(from: usize, limbs: u32, divisor: usize, quotient: usize, remainder: usize): void {
  divideByMany(4, from, limbs, divisor, quotient, remainder)
}

// Reciprocals of divisors whose highest bit is set: sections III.A and III.B of the paper.

/** floor((2^19 - 3 × 2^8) / d) for the nine highest bits d of a divisor, 256 to 511. */
const firstGuesses = memory.data<u16>([
  2045, 2037, 2029, 2021, 2013, 2005, 1998, 1990, 1983, 1975, 1968, 1960, 1953, 1946, 1938, 1931,
  1924, 1917, 1910, 1903, 1896, 1889, 1883, 1876, 1869, 1863, 1856, 1849, 1843, 1836, 1830, 1824,
  1817, 1811, 1805, 1799, 1792, 1786, 1780, 1774, 1768, 1762, 1756, 1750, 1745, 1739, 1733, 1727,
  1722, 1716, 1710, 1705, 1699, 1694, 1688, 1683, 1677, 1672, 1667, 1661, 1656, 1651, 1646, 1641,
  1636, 1630, 1625, 1620, 1615, 1610, 1605, 1600, 1596, 1591, 1586, 1581, 1576, 1572, 1567, 1562,
  1558, 1553, 1548, 1544, 1539, 1535, 1530, 1526, 1521, 1517, 1513, 1508, 1504, 1500, 1495, 1491,
  1487, 1483, 1478, 1474, 1470, 1466, 1462, 1458, 1454, 1450, 1446, 1442, 1438, 1434, 1430, 1426,
  1422, 1418, 1414, 1411, 1407, 1403, 1399, 1396, 1392, 1388, 1384, 1381, 1377, 1374, 1370, 1366,
  1363, 1359, 1356, 1352, 1349, 1345, 1342, 1338, 1335, 1332, 1328, 1325, 1322, 1318, 1315, 1312,
  1308, 1305, 1302, 1299, 1295, 1292, 1289, 1286, 1283, 1280, 1276, 1273, 1270, 1267, 1264, 1261,
  1258, 1255, 1252, 1249, 1246, 1243, 1240, 1237, 1234, 1231, 1228, 1226, 1223, 1220, 1217, 1214,
  1211, 1209, 1206, 1203, 1200, 1197, 1195, 1192, 1189, 1187, 1184, 1181, 1179, 1176, 1173, 1171,
  1168, 1165, 1163, 1160, 1158, 1155, 1153, 1150, 1148, 1145, 1143, 1140, 1138, 1135, 1133, 1130,
  1128, 1125, 1123, 1121, 1118, 1116, 1113, 1111, 1109, 1106, 1104, 1102, 1099, 1097, 1095, 1092,
  1090, 1088, 1086, 1083, 1081, 1079, 1077, 1074, 1072, 1070, 1068, 1066, 1064, 1061, 1059, 1057,
  1055, 1053, 1051, 1049, 1047, 1044, 1042, 1040, 1038, 1036, 1034, 1032, 1030, 1028, 1026, 1024,
])

/** Returns floor((2^128 - 1) / d) - 2^64 of a d with its highest bit set: Newton's steps from eleven bits on. */
// @ts-ignore: decorator
@inline
function reciprocal(d: u64): u64 {
  const odd = d & 1
  const d40 = (d >>> 24) + 1
  const d63 = (d >>> 1) + odd
  const v0 = u64(load<u16>(firstGuesses + (usize(d >>> 55) << 1) - 512))
  const v1 = (v0 << 11) - ((v0 * v0 * d40) >>> 40) - 1
  const v2 = (v1 << 13) + ((v1 * (0x1000000000000000 - v1 * d40)) >>> 47)
  const e = ((v2 >>> 1) & (0 - odd)) - v2 * d63
  const v3 = (v2 << 31) + (multiplyHigh(v2, e) >>> 1)
  const low = v3 * d
  return v3 - (multiplyHigh(v3, d) + u64(low + d < low) + d)
}

/** Returns the reciprocal of two limbs, floor((2^192 - 1) / (d1, d0)) - 2^64 (algorithm 6). */
// @ts-ignore: decorator
@inline
function reciprocalOfTwo(d1: u64, d0: u64): u64 {
  let v = reciprocal(d1)
  let p = d1 * v + d0
  if (p < d0) {
    v--
    if (p >= d1) {
      v--
      p -= d1
    }
    p -= d1
  }
  const t1 = multiplyHigh(v, d0)
  const t0 = v * d0
  p += t1
  if (p < t1) {
    v--
    if (p > d1 || (p == d1 && t0 >= d0)) v--
  }
  return v
}

// Contracts divide by the same few numbers again and again (units of tokens, fixed points, field primes): reciprocals are remembered, the
// newest on each of 16 places. No divisor has the limb 0, which empty places have.

const PLACES_SHIFT: u64 = 60
/** Divisor and reciprocal. */
const ofOne = memory.data(256, 16)
/** The divisor's limbs from the highest down, and the reciprocal. */
const ofTwo = memory.data(512, 16)

// @ts-ignore: decorator
@inline
function placeOf(d: u64): usize {
  return usize((d * 0x9e3779b97f4a7c15) >>> PLACES_SHIFT)
}

/** Returns {@link reciprocal}, computed or remembered. */
// @ts-ignore: decorator
@inline
export function rememberedReciprocal(d: u64): u64 {
  const place = ofOne + (placeOf(d) << 4)
  if (load<u64>(place) != d) {
    store<u64>(place, d)
    store<u64>(place, reciprocal(d), 8)
  }
  return load<u64>(place, 8)
}

/** Returns {@link reciprocalOfTwo}, computed or remembered. */
// @ts-ignore: decorator
@inline
function rememberedReciprocalOfTwo(d1: u64, d0: u64): u64 {
  const place = ofTwo + (placeOf(d1 + 3 * d0) << 5)
  if (load<u64>(place) != d1 || load<u64>(place, 8) != d0) {
    store<u64>(place, d1)
    store<u64>(place, d0, 8)
    store<u64>(place, reciprocalOfTwo(d1, d0), 16)
  }
  return load<u64>(place, 16)
}
