// What the final exponentiations of both pairings have in common.
import { X_PARAMETER } from './parameters'
import { conjugate12, copy12, cyclotomicSquare12, FP12, frobenius12, invert12, multiply12 } from './tower'

const inverse = memory.data(i32(FP12), 16)

/** z = x to the power of (p⁶ − 1)(p² + 1), which is in the cyclotomic subgroup; z is not x. */
export function intoCyclotomicSubgroup(z: usize, x: usize): void {
  invert12(inverse, x)
  conjugate12(z, x)
  multiply12(z, z, inverse)
  frobenius12(inverse, z)
  frobenius12(inverse, inverse)
  multiply12(z, inverse, z)
}

/** z = y to the power of −X_PARAMETER, of the cyclotomic subgroup; z is not y. */
export function powerOfParameter(z: usize, y: usize): void {
  copy12(z, y)
  for (let bit = 62 - i32(clz(X_PARAMETER)); bit >= 0; bit--) {
    cyclotomicSquare12(z, z)
    if ((X_PARAMETER >> bit) & 1) multiply12(z, z, y)
  }
  conjugate12(z, z)
}
