// The final exponentiation of the pairing of bn254.
import { intoCyclotomicSubgroup, powerOfParameter } from '../exponentiation'
import { conjugate12, cyclotomicSquare12, FP12, frobenius12, multiply12 } from '../tower'

const f = memory.data(i32(FP12), 16)
const f0 = memory.data(i32(FP12), 16)
const f1 = memory.data(i32(FP12), 16)
const f2 = memory.data(i32(FP12), 16)
const f3 = memory.data(i32(FP12), 16)

/**
 * z to the power of 2x(6x² + 3x + 1)(p¹² − 1)/r, which is one if and only if that without the first factors, which r does not divide, is:
 * (p⁶ − 1)(p² + 1), then the rest (Fuentes-Castañeda, Knapp, Rodríguez-Henríquez: Faster hashing to G2, section 4.2):
 * (1 + 6x + 12x² + 12x³) + (4x + 6x² + 12x³)p + (6x + 6x² + 12x³)p² + (−1 + 4x + 6x² + 12x³)p³.
 */
export function finalExponentiation(z: usize): void {
  intoCyclotomicSubgroup(f, z)
  // f0 = f^−2x, f1 = f^−6x, f2 = f^6x², f3 = f^−12x³
  powerOfParameter(f0, f)
  cyclotomicSquare12(f0, f0)
  cyclotomicSquare12(f1, f0)
  multiply12(f1, f1, f0)
  powerOfParameter(f2, f1)
  cyclotomicSquare12(f3, f2)
  powerOfParameter(z, f3)
  // f3 = f^(6x + 6x² + 12x³), f0 = that without 2x
  conjugate12(f3, z)
  multiply12(f3, f3, f2)
  conjugate12(f1, f1)
  multiply12(f3, f3, f1)
  multiply12(f0, f0, f3)
  // by p², p and 1, and by p³
  multiply12(f2, f2, f3)
  multiply12(z, f2, f)
  frobenius12(f1, f0)
  multiply12(z, z, f1)
  frobenius12(f1, f3)
  frobenius12(f1, f1)
  multiply12(z, z, f1)
  conjugate12(f, f)
  multiply12(f0, f0, f)
  frobenius12(f0, f0)
  frobenius12(f0, f0)
  frobenius12(f0, f0)
  multiply12(z, z, f0)
}
