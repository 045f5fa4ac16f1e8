// Powers of elements of the cyclotomic subgroup, to which the bits of BLS12-381's parameter x leave long runs of squarings.
import { isZero } from '../conversions'
import { powerOfParameter } from '../exponentiation'
import { copy, multiply, PAIR } from '../field'
import { invert } from '../inversion'
import {
  compressedSquare12,
  conjugate12,
  cyclotomicSquare12,
  decompress12,
  DIVISOR,
  FP12,
  multiply12,
} from '../tower'

/** |x| is 2^16 + 2^48 + 2^57 + 2^60 + 2^62 + 2^63: squarings from each of these powers to the next. The first three are compressed. */
const COMPRESSED: usize = 3
const squarings = memory.data<u8>([16, 32, 9, 3, 2, 1])

const squared = memory.data(i32(COMPRESSED) * i32(FP12), 16)
const inverses = memory.data(i32(COMPRESSED) * i32(PAIR), 16)
const inverse = memory.data(i32(PAIR), 16)

/** z = y to the power of x; z is not y. */
export function powerOfX(z: usize, y: usize): void {
  let from = y
  for (let i: usize = 0; i < COMPRESSED; i++) {
    const to = squared + i * FP12
    for (let k = load<u8>(squarings + i); k > 0; k--) {
      compressedSquare12(to, from)
      from = to
    }
    // the product of divisors up to here
    if (i == 0) copy(inverses, to + DIVISOR)
    else multiply(inverses + i * PAIR, inverses + (i - 1) * PAIR, to + DIVISOR)
  }
  const last = squared + (COMPRESSED - 1) * FP12
  if (isZero(inverses + (COMPRESSED - 1) * PAIR)) {
    // few elements are so, among them 1
    powerOfParameter(z, y)
    return
  }
  invert(inverse, inverses + (COMPRESSED - 1) * PAIR)
  for (let i = COMPRESSED - 1; i > 0; i--) {
    multiply(inverses + i * PAIR, inverses + (i - 1) * PAIR, inverse)
    multiply(inverse, inverse, squared + i * FP12 + DIVISOR)
  }
  copy(inverses, inverse)
  for (let i: usize = 0; i < COMPRESSED; i++) decompress12(squared + i * FP12, inverses + i * PAIR)
  multiply12(z, squared, squared + FP12)
  multiply12(z, z, last)
  for (let i = COMPRESSED; i < 6; i++) {
    for (let k = load<u8>(squarings + i); k > 0; k--) cyclotomicSquare12(last, last)
    multiply12(z, z, last)
  }
  conjugate12(z, z)
}
