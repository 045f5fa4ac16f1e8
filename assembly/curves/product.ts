// The product of Miller functions that both modules' hosts ask for, 64 pairs at a time.
import { FACTOR } from './lines'
import { millerLoop } from './millerLoop'
import { FP12, multiply12, setOne12 } from './tower'

/** Room for 64. */
export const factors = memory.data(64 * i32(FACTOR), 16)
export const product = memory.data(i32(FP12), 16)
const part = memory.data(i32(FP12), 16)
let isEmpty = true

export function beginProduct(): void {
  setOne12(product)
  isEmpty = true
}

/** Multiplies by the Miller functions of the first `count` factors. */
export function multiplyByFactors(count: usize): void {
  if (count == 0) return
  millerLoop(part, factors, count)
  multiply12(product, product, part)
  isEmpty = false
}

/** Returns whether it has no factor: then it is one. */
export function isProductEmpty(): bool {
  return isEmpty
}
