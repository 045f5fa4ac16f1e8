import { reciprocal } from './reciprocal'
import { multiplyHigh, shiftPairLeft } from './word'

/** Algorithm 4 for the remainder alone: (r, u) modulo d, r < d. */
// @ts-ignore: decorator
@inline
function remainderOfTwo(r: u64, u: u64, d: u64, v: u64): u64 {
  const q0 = v * r
  const s0 = q0 + u
  const rest = u - (multiplyHigh(v, r) + r + u64(s0 < u) + 1) * d
  const once = rest + (d & (0 - u64(rest > s0)))
  return once >= d ? once - d : once
}

/** a × b modulo one limb that is not 0: both words are reduced at once, which overlaps, and then their product. */
export function multiplyModuloOne(a: usize, b: usize, modulus: u64): u64 {
  const bits = i64.clz(modulus)
  const d = modulus << bits
  const v = reciprocal(d)
  let x = load<u64>(a, 24)
  let y = load<u64>(b, 24)
  let rx = shiftPairLeft(0, x, bits)
  let ry = shiftPairLeft(0, y, bits)
  for (let offset: usize = 16; ; offset -= 8) {
    const belowX = load<u64>(a + offset)
    const belowY = load<u64>(b + offset)
    rx = remainderOfTwo(rx, shiftPairLeft(x, belowX, bits), d, v)
    ry = remainderOfTwo(ry, shiftPairLeft(y, belowY, bits), d, v)
    x = belowX
    y = belowY
    if (offset == 0) break
  }
  rx = remainderOfTwo(rx, x << bits, d, v)
  ry = remainderOfTwo(ry, y << bits, d, v)
  // One of the two shifted back makes the product the shifted one.
  rx >>>= bits
  return remainderOfTwo(multiplyHigh(rx, ry), rx * ry, d, v) >>> bits
}
