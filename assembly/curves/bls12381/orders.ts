// Which points of the curves of BLS12-381 have the order of its groups, by endomorphisms.
import { isZero, zeroLanes } from '../conversions'
import { add, copyLane, multiply, multiplyLanes, PAIR, subtract } from '../field'
import { applyPsi, Fp2, Lanes, multiplyByParameter } from '../points'
import { multiplySingleByParameter } from './single'
import { frobeniusFactors } from '../tower'

const Y: usize = PAIR
const Z: usize = 2 * PAIR

const t0 = memory.data(i32(PAIR), 16)
const t1 = memory.data(i32(PAIR), 16)

/** A cube root of 1 in both lanes: (βx, y) is −x²·(x, y) on points of the right order. */
export const beta = memory.data(i32(PAIR), 16)
// ξ to the (p − 1)/3 is β²·u, and β⁴ is β
copyLane(beta, 0, frobeniusFactors + PAIR, 1)
copyLane(beta, 1, frobeniusFactors + PAIR, 1)
multiplyLanes(beta, beta, beta)

/** |x| times the points that {@link lanesOfOrder} was last asked about. */
export const multiple = memory.data(3 * i32(PAIR), 16)
const multipleOfMultiple = memory.data(3 * i32(PAIR), 16)

/**
 * Returns which of the lanes have a point of the right order: bit 0 and bit 1. Points are affine (Z
 * = 1) and on the curve.
 * @param isSingle the second lane is not asked about
 */
export function lanesOfOrder(p: usize, isSingle: bool): u32 {
  if (isSingle) {
    multiplySingleByParameter(multiple, p)
    multiplySingleByParameter(multipleOfMultiple, multiple)
  } else {
    multiplyByParameter<Lanes>(multiple, p)
    multiplyByParameter<Lanes>(multipleOfMultiple, multiple)
  }
  // −x²·p = (βx, y)
  multiplyLanes(t0, p, beta)
  multiplyLanes(t0, t0, multipleOfMultiple + Z)
  subtract(t0, t0, multipleOfMultiple)
  multiplyLanes(t1, p + Y, multipleOfMultiple + Z)
  add(t1, t1, multipleOfMultiple + Y)
  return zeroLanes(t0) & zeroLanes(t1)
}

const image = memory.data(3 * i32(PAIR), 16)

/** Returns whether a point of the twist, affine and not infinity, has the right order: ψ(p) = x·p. */
export function isTwistOfOrder(p: usize): bool {
  multiplyByParameter<Fp2>(multiple, p)
  applyPsi(image, p)
  multiply(t0, image, multiple + Z)
  subtract(t0, t0, multiple)
  multiply(t1, image + Y, multiple + Z)
  add(t1, t1, multiple + Y)
  return isZero(t0) && isZero(t1)
}
