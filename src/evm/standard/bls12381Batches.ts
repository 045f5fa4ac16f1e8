import { loadBuiltModule } from '../../primitives/builtModule.ts'
import { bytesToBigInt } from '../../primitives/bytes.ts'
import type { WasmMemory } from '../../primitives/webAssembly.ts'

/** The exports of assembly/curves/bls12381/index.ts; a status is 0, or the place of a fault in {@link FAULTS} and 1. */
interface Exports {
  readonly memory: WasmMemory
  inputAddress(): number
  scalarsAddress(): number
  outputAddress(): number
  beginSumG1(): void
  addTermsG1(count: number): number
  writeSumG1(): void
  beginSumG2(): void
  addTermsG2(count: number): number
  writeSumG2(): void
  beginProduct(): void
  addPairs(count: number): number
  isProductOne(): number
  writeMapToG1(): number
  writeMapToG2(): number
  setUpProofs(): number
  isProven(): number
}

/** The fault of the first bad point in an input. */
export type PointFault = 'top' | 'element' | 'curve' | 'g1' | 'g2'

const FAULTS: readonly PointFault[] = ['top', 'element', 'curve', 'g1', 'g2']

const wasm = loadBuiltModule<Exports>('bls12381')
const memory = new Uint8Array(wasm.memory.buffer)
const inputAddress = wasm.inputAddress()
const scalarsAddress = wasm.scalarsAddress()
const outputAddress = wasm.outputAddress()

/** Bytes of points and scalars in EIP-2537's encoding. */
const G1_LENGTH = 128
const G2_LENGTH = 256
const SCALAR_LENGTH = 32

/** Items that the module takes at once. */
const MAX_G1_TERMS = 512
const MAX_G2_TERMS = 128
const MAX_PAIRS = 64

/** The order of the groups, x⁴ − x² + 1, and |x|. */
export const BLS_ORDER = 0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001n
const X = 0xd201000000010000n
const X_SQUARED = X * X

/**
 * Returns the sum of points of G1 times scalars (EIP-2537's encoding, not empty) in 128 bytes, or
 * what is wrong with a point.
 */
export function multiplesOfG1(input: Uint8Array): Uint8Array | PointFault {
  wasm.beginSumG1()
  const fault = inBatches(input, G1_LENGTH + SCALAR_LENGTH, MAX_G1_TERMS, wasm.addTermsG1, putPartsOfG1)
  if (fault !== undefined) return fault
  wasm.writeSumG1()
  return memory.slice(outputAddress, outputAddress + G1_LENGTH)
}

/** Returns the same as {@link multiplesOfG1} in G2, 256 bytes. */
export function multiplesOfG2(input: Uint8Array): Uint8Array | PointFault {
  wasm.beginSumG2()
  const fault = inBatches(input, G2_LENGTH + SCALAR_LENGTH, MAX_G2_TERMS, wasm.addTermsG2, putDigits)
  if (fault !== undefined) return fault
  wasm.writeSumG2()
  return memory.slice(outputAddress, outputAddress + G2_LENGTH)
}

/**
 * Returns whether the product of the pairings of an input (EIP-2537's encoding) is one, or what is
 * wrong with a point.
 */
export function isProductOfPairingsOne(input: Uint8Array): boolean | PointFault {
  wasm.beginProduct()
  return inBatches(input, G1_LENGTH + G2_LENGTH, MAX_PAIRS, wasm.addPairs) ?? wasm.isProductOne() !== 0
}

/**
 * Returns the point of G1 that an element of Fp in 64 bytes is mapped to (EIP-2537), or what is
 * wrong with the element.
 */
export function mapToG1(input: Uint8Array): Uint8Array | PointFault {
  memory.set(input, inputAddress)
  const status = wasm.writeMapToG1()
  return status === 0 ? memory.slice(outputAddress, outputAddress + G1_LENGTH) : FAULTS[status - 1]!
}

/** Returns the same as {@link mapToG1} for an element of Fp2 in 128 bytes, in G2. */
export function mapToG2(input: Uint8Array): Uint8Array | PointFault {
  memory.set(input, inputAddress)
  const status = wasm.writeMapToG2()
  return status === 0 ? memory.slice(outputAddress, outputAddress + G2_LENGTH) : FAULTS[status - 1]!
}

/**
 * Hands the items of an input to the module, as many at once as it takes.
 * @param putScalar writes the parts of an item's last 32 bytes, an integer that is taken modulo the order
 */
function inBatches(
  input: Uint8Array,
  itemLength: number,
  most: number,
  add: (count: number) => number,
  putScalar?: (scalar: bigint, address: number, count: number) => void,
): PointFault | undefined {
  for (let start = 0; start < input.length; start += most * itemLength) {
    const batch = input.subarray(start, start + most * itemLength)
    const count = batch.length / itemLength
    memory.set(batch, inputAddress)
    for (let i = 0; putScalar !== undefined && i < count; i++) {
      const end = (i + 1) * itemLength
      putScalar(
        bytesToBigInt(batch.subarray(end - SCALAR_LENGTH, end)) % BLS_ORDER,
        scalarsAddress + i * SCALAR_LENGTH,
        count,
      )
    }
    const status = add(count)
    if (status !== 0) return FAULTS[status - 1]!
  }
  return undefined
}

/** Writes the digits of a scalar below the order to the base of |x|. */
function putDigits(scalar: bigint, address: number): void {
  let rest = scalar
  for (let i = 0; i < 4; i++) {
    const next = rest / X
    putWords(rest - next * X, address + 8 * i, 1)
    rest = next
  }
}

/** Terms of G1 whose scalars are in digits. */
const FEW = 2

/** Writes the parts of a scalar s0 + s1·x² below the order, of one of `count` terms of G1; digits where they are few. */
function putPartsOfG1(scalar: bigint, address: number, count: number): void {
  if (count <= FEW) {
    putDigits(scalar, address)
    return
  }
  const high = scalar / X_SQUARED
  putWords(scalar - high * X_SQUARED, address, 2)
  putWords(high, address + 16, 2)
}

const view = new DataView(memory.buffer)

/** Writes an integer in words of 64 bits, the least significant first. */
function putWords(value: bigint, address: number, count: number): void {
  for (let i = 0; i < count; i++) view.setBigUint64(address + 8 * i, BigInt.asUintN(64, value >> BigInt(64 * i)), true)
}

/**
 * Takes the constants of KZG proofs in EIP-2537's encoding: the generators of G1 and of G2, both negated, and [τ]₂.
 * @throws Error when one of them is not a point of its group
 */
export function setUpProofs(constants: Uint8Array): void {
  memory.set(constants, inputAddress)
  if (wasm.setUpProofs() !== 0) throw new Error('a constant of KZG proofs is not a point of its group')
}

/**
 * Returns whether a KZG proof holds (consensus-specs, verify_kzg_proof); false also where a point
 * is not one of the subgroup.
 * @param points the commitment and the proof, compressed to 48 bytes each
 * @param z below {@link BLS_ORDER}, as y
 */
export function isProven(points: Uint8Array, z: bigint, y: bigint): boolean {
  memory.set(points, inputAddress)
  putDigits(z, scalarsAddress)
  putDigits(y, scalarsAddress + SCALAR_LENGTH)
  return wasm.isProven() !== 0
}
