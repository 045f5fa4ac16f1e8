// Fp6 = Fp2[v] with v³ = ξ, three pairs; Fp12 = Fp6[w] with w² = v, twice that: c0 + c1·w.
import { isZero } from './conversions'
import {
  add,
  addNonResidue,
  addReduced,
  conjugate,
  copy,
  multiply,
  negate,
  oneFp2,
  PAIR,
  prepare,
  scale,
  setZero,
  square,
  subtract,
  subtractTwo,
  sum3,
  timesNonResidue,
  tripleLess,
  triplePlus,
} from './field'
import { invert } from './inversion'
import { BYTES, sixth } from './parameters'
import { multiplyWide6, squareWideFp4 } from './wide'

const FP6: usize = 3 * PAIR
export const FP12: usize = 6 * PAIR

const B1: usize = PAIR
const B2: usize = 2 * PAIR

/** Right operands of Fp6: b0, b1, b2, and ξ·b1, ξ·b2. */
const b0 = memory.data(2 * i32(PAIR), 16)
const b1 = memory.data(2 * i32(PAIR), 16)
const b2 = memory.data(2 * i32(PAIR), 16)
const rotated1 = memory.data(2 * i32(PAIR), 16)
const rotated2 = memory.data(2 * i32(PAIR), 16)
const scratch = memory.data(i32(PAIR), 16)
const scratch0 = memory.data(i32(PAIR), 16)
const scratch1 = memory.data(i32(PAIR), 16)

/** z = x · y in Fp6, of reduced x and y. */
function multiply6(z: usize, x: usize, y: usize): void {
  if (!IS_BN254) {
    multiplyWide6(z, x, y)
    return
  }
  prepare(b0, y)
  prepare(b1, y + B1)
  prepare(b2, y + B2)
  timesNonResidue(scratch, y + B1)
  prepare(rotated1, scratch)
  timesNonResidue(scratch, y + B2)
  prepare(rotated2, scratch)
  sum3(scratch0, x, b0, x + B1, rotated2, x + B2, rotated1)
  sum3(scratch1, x, b1, x + B1, b0, x + B2, rotated2)
  sum3(z + B2, x, b2, x + B1, b1, x + B2, b0)
  copy(z, scratch0)
  copy(z + B1, scratch1)
}

function add6(z: usize, x: usize, y: usize): void {
  for (let i: usize = 0; i < FP6; i += PAIR) add(z + i, x + i, y + i)
}

function addReduced6(z: usize, x: usize, y: usize): void {
  for (let i: usize = 0; i < FP6; i += PAIR) addReduced(z + i, x + i, y + i)
}

function subtract6(z: usize, x: usize, y: usize): void {
  for (let i: usize = 0; i < FP6; i += PAIR) subtract(z + i, x + i, y + i)
}

/** z = x · v; z is not x. */
function timesV(z: usize, x: usize): void {
  timesNonResidue(z, x + B2)
  copy(z + B1, x)
  copy(z + B2, x + B1)
}

const product0 = memory.data(3 * i32(PAIR), 16)
const product1 = memory.data(3 * i32(PAIR), 16)
const left = memory.data(3 * i32(PAIR), 16)
const right = memory.data(3 * i32(PAIR), 16)

export function setOne12(z: usize): void {
  copy(z, oneFp2)
  for (let i: usize = PAIR; i < FP12; i += PAIR) setZero(z + i)
}

export function isOne12(x: usize): bool {
  subtract(scratch, x, oneFp2)
  if (!isZero(scratch)) return false
  for (let i: usize = PAIR; i < FP12; i += PAIR) if (!isZero(x + i)) return false
  return true
}

export function copy12(z: usize, x: usize): void {
  memory.copy(z, x, FP12)
}

/** z = x · y in Fp12. */
export function multiply12(z: usize, x: usize, y: usize): void {
  addReduced6(left, x, x + FP6)
  addReduced6(right, y, y + FP6)
  multiply6(product0, x, y)
  multiply6(product1, x + FP6, y + FP6)
  multiply6(left, left, right)
  add6(right, product0, product1)
  subtract6(z + FP6, left, right)
  timesV(right, product1)
  addReduced6(z, product0, right)
}

/** z = x² in Fp12: c0² + v·c1² = (c0 + c1)(c0 + v·c1) − c0·c1 − v·c0·c1, and twice c0·c1. */
export function square12(z: usize, x: usize): void {
  multiply6(product0, x, x + FP6)
  addReduced6(left, x, x + FP6)
  timesV(product1, x + FP6)
  addReduced6(right, x, product1)
  multiply6(left, left, right)
  timesV(right, product0)
  add6(right, right, product0)
  subtract6(z, left, right)
  addReduced6(z + FP6, product0, product0)
}

/** Returns where the coefficient of w^k is. */
// @ts-ignore: decorator
@inline
function coefficient(k: usize): usize {
  return (k & 1) * FP6 + (k >> 1) * PAIR
}

/**
 * Lines have three coefficients in Fp2: of 1, of w^LINE_POWER and of w³. The twist of BLS12-381 is of type M: its points are taken to the curve
 * by division by w² and w³; that of bn254 is of type D: by multiplication.
 */
const LINE_POWER: usize = IS_BN254 ? 1 : 2

/** Operands of a line, and ξ times those whose products may have w⁶. */
const l0 = memory.data(2 * i32(PAIR), 16)
const l1 = memory.data(2 * i32(PAIR), 16)
const l3 = memory.data(2 * i32(PAIR), 16)
const rotatedL1 = memory.data(2 * i32(PAIR), 16)
const rotatedL3 = memory.data(2 * i32(PAIR), 16)
const lineProduct = memory.data(6 * i32(PAIR), 16)

/** z = z · (y0 + y1·w^LINE_POWER + y3·w³). */
export function multiplyByLine(z: usize, y0: usize, y1: usize, y3: usize): void {
  prepare(l0, y0)
  prepare(l1, y1)
  prepare(l3, y3)
  timesNonResidue(scratch, y1)
  prepare(rotatedL1, scratch)
  timesNonResidue(scratch, y3)
  prepare(rotatedL3, scratch)
  for (let k: usize = 0; k < 6; k++) {
    const x = z + coefficient(k)
    const x1 = z + coefficient((k + 6 - LINE_POWER) % 6)
    const x3 = z + coefficient((k + 3) % 6)
    sum3(lineProduct + coefficient(k), x, l0, x1, k < LINE_POWER ? rotatedL1 : l1, x3, k < 3 ? rotatedL3 : l3)
  }
  copy12(z, lineProduct)
}

/** z = x to the power of p⁶: its inverse where x has the order of a result of pairings. */
export function conjugate12(z: usize, x: usize): void {
  for (let i: usize = 0; i < FP6; i += PAIR) copy(z + i, x + i)
  for (let i: usize = FP6; i < FP12; i += PAIR) negate(z + i, x + i)
}

const inverse = memory.data(3 * i32(PAIR), 16)

/** z = 1 / x in Fp6. */
function invert6(z: usize, x: usize): void {
  const a1 = x + B1
  const a2 = x + B2
  // cofactors a0² − ξ·a1·a2, ξ·a2² − a0·a1, a1² − a0·a2
  const t0 = product1
  const t1 = product1 + B1
  const t2 = product1 + B2
  multiply(scratch, a1, a2)
  timesNonResidue(scratch, scratch)
  square(t0, x)
  subtract(t0, t0, scratch)
  multiply(scratch, x, a1)
  square(t1, a2)
  timesNonResidue(t1, t1)
  subtract(t1, t1, scratch)
  multiply(scratch, x, a2)
  square(t2, a1)
  subtract(t2, t2, scratch)
  multiply(scratch, a2, t1)
  multiply(scratch0, a1, t2)
  addReduced(scratch, scratch, scratch0)
  timesNonResidue(scratch, scratch)
  multiply(scratch0, x, t0)
  addReduced(scratch, scratch, scratch0)
  invert(scratch1, scratch)
  multiply(z, t0, scratch1)
  multiply(z + B1, t1, scratch1)
  multiply(z + B2, t2, scratch1)
}

/** z = 1 / x in Fp12; z is not x. */
export function invert12(z: usize, x: usize): void {
  multiply6(product0, x + FP6, x + FP6)
  timesV(right, product0)
  multiply6(left, x, x)
  subtract6(left, left, right)
  invert6(inverse, left)
  multiply6(z, x, inverse)
  multiply6(z + FP6, x + FP6, inverse)
  for (let i: usize = FP6; i < FP12; i += PAIR) negate(z + i, z + i)
}

/** ξ to the power of k(p − 1)/6 for k from 1 to 5: what the Frobenius map multiplies the coefficient of w^k by. */
export const frobeniusFactors = memory.data(5 * i32(PAIR), 16)

/** z = x to the power of p. */
export function frobenius12(z: usize, x: usize): void {
  for (let k: usize = 0; k < 6; k++) {
    const at = coefficient(k)
    conjugate(z + at, x + at)
    if (k > 0) multiply(z + at, z + at, frobeniusFactors + (k - 1) * PAIR)
  }
}

const squares = memory.data(4 * i32(PAIR), 16)

/**
 * z = x² for x of the cyclotomic subgroup (Granger, Scott: Faster squaring in the cyclotomic subgroup of sixth degree extensions).
 * As a + b·w + c·w² with a, b and c in Fp4 = Fp2[w³] it is (3·a² − 2·ā) + (3·c²·w³ + 2·b̄)·w + (3·b² − 2·c̄)·w².
 */
export function cyclotomicSquare12(z: usize, x: usize): void {
  squareFp4(squares, x, x + FP6 + B1)
  tripleLess(z, squares, x)
  triplePlus(z + FP6 + B1, squares + B1, x + FP6 + B1)
  compressedSquare12(z, x)
}

/** Makes b and c of {@link cyclotomicSquare12} only, of those of x (Karabina: Squaring in cyclotomic subgroups). */
export function compressedSquare12(z: usize, x: usize): void {
  squareFp4(squares, x + FP6, x + B2)
  squareFp4(squares + B2, x + B1, x + FP6 + B2)
  timesNonResidue(squares + 3 * PAIR, squares + 3 * PAIR)
  tripleLess(z + B1, squares, x + B1)
  triplePlus(z + FP6 + B2, squares + B1, x + FP6 + B2)
  tripleLess(z + B2, squares + B2, x + B2)
  triplePlus(z + FP6, squares + 3 * PAIR, x + FP6)
}

/** Where the coefficient of w is, by four times which {@link decompress12} divides. */
export const DIVISOR: usize = FP6

/**
 * Makes a of b and c, (b₀, b₁) and (c₀, c₁), with the inverse of b₀, which is not 0:
 * a₁ = (ξ·c₁² + 3·c₀² − 2·b₁) / 4b₀ and a₀ = ξ·(2·a₁² + b₀·c₁ − 3·b₁·c₀) + 1 (Karabina, theorem 3.1).
 */
export function decompress12(z: usize, inverseOfB0: usize): void {
  const a1 = z + FP6 + B1
  const c0 = z + B1
  const b1OfZ = z + B2
  square(scratch, c0)
  tripleLess(scratch, scratch, b1OfZ)
  square(scratch0, z + FP6 + B2)
  addNonResidue(scratch, scratch, scratch0)
  multiply(a1, scratch, inverseOfB0)
  multiply(a1, a1, quarter)
  square(scratch, a1)
  addReduced(scratch, scratch, scratch)
  multiply(scratch0, z + FP6, z + FP6 + B2)
  addReduced(scratch, scratch, scratch0)
  multiply(scratch0, b1OfZ, c0)
  scale(scratch0, scratch0, 3)
  subtract(scratch, scratch, scratch0)
  addNonResidue(z, oneFp2, scratch)
}

const quarter = memory.data(i32(PAIR), 16)
scale(quarter, oneFp2, 4)
invert(quarter, quarter)

/** z = a² + ξ·b², and 2·a·b behind it. */
function squareFp4(z: usize, a: usize, b: usize): void {
  addReduced(z + B1, a, b)
  if (!IS_BN254) {
    squareWideFp4(z, a, b, z + B1)
    return
  }
  square(scratch, a)
  square(scratch0, b)
  square(z + B1, z + B1)
  subtractTwo(z + B1, z + B1, scratch, scratch0)
  addNonResidue(z, scratch, scratch0)
}

makeFrobeniusFactors()

function makeFrobeniusFactors(): void {
  const nonResidue = scratch0
  timesNonResidue(nonResidue, oneFp2)
  copy(frobeniusFactors, oneFp2)
  for (let i: usize = 0; i < BYTES * 8; i++) {
    square(frobeniusFactors, frobeniusFactors)
    const bit = (load<u8>(sixth + (i >> 3)) >> u8(7 - (i & 7))) & 1
    if (bit != 0) multiply(frobeniusFactors, frobeniusFactors, nonResidue)
  }
  for (let i: usize = PAIR; i < 5 * PAIR; i += PAIR) multiply(frobeniusFactors + i, frobeniusFactors + i - PAIR, frobeniusFactors)
}
