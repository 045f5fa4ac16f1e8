import { FieldCodec } from './fieldCodec.ts'
import { createMcl, FP_SIZE } from './mcl.ts'

/** BLS12-381's arithmetic, in an instance of mcl. */
export const mcl = await createMcl('bls12381')
const { f } = mcl

const MODULUS = 0x1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaabn

export const field = new FieldCodec(mcl, MODULUS, FP_SIZE)

/** Bytes of points in the input of EIP-2537: two field elements of 64 bytes, or four. */
export const G1_LENGTH = 128
export const G2_LENGTH = 256

/** What is wrong with a point, in geth's words. */
const BAD = {
  top: 'invalid field element top bytes',
  element: 'invalid fp.Element encoding',
  curve: 'invalid point: not on curve',
  g1: 'g1 point is not on correct subgroup',
  g2: 'g2 point is not on correct subgroup',
} as const

/** Reads a field element of 64 bytes, the first 16 of which are zero; gives what is wrong with it, if anything. */
export function readElement(input: Uint8Array, offset: number, address: number): string | undefined {
  for (let i = offset; i < offset + 16; i++) if (input[i] !== 0) return BAD.top
  return field.read(input, offset + 16, address) ? undefined : BAD.element
}

/** Reads a point on the curve to G1 at `address`; two zeros are the point at infinity. It may be outside of the subgroup. */
export function readG1(input: Uint8Array, offset: number, address: number): string | undefined {
  const bad = readElement(input, offset, address) ?? readElement(input, offset + 64, address + FP_SIZE)
  if (bad !== undefined) return bad
  const z = address + 2 * FP_SIZE
  if (field.isZero(address) && field.isZero(address + FP_SIZE)) {
    mcl.bytes.fill(0, z, z + FP_SIZE)
    return undefined
  }
  field.setOne(z)
  return f._mclBnG1_isValid(address) === 1 ? undefined : BAD.curve
}

/** As {@link readG1}; each coordinate is c0 + c1·i, c0 first. */
export function readG2(input: Uint8Array, offset: number, address: number): string | undefined {
  let isZero = true
  for (let i = 0; i < 4; i++) {
    const element = address + i * FP_SIZE
    const bad = readElement(input, offset + i * 64, element)
    if (bad !== undefined) return bad
    if (isZero) isZero = field.isZero(element)
  }
  const z = address + 4 * FP_SIZE
  mcl.bytes.fill(0, z, z + 2 * FP_SIZE)
  if (isZero) return undefined
  field.setOne(z)
  return f._mclBnG2_isValid(address) === 1 ? undefined : BAD.curve
}

/** As {@link readG1}, and the point must be in the subgroup. */
export function readG1OfOrder(input: Uint8Array, offset: number, address: number): string | undefined {
  return readG1(input, offset, address) ?? (isG1OfOrder(address) ? undefined : BAD.g1)
}

/** As {@link readG2}, and the point must be in the subgroup. */
export function readG2OfOrder(input: Uint8Array, offset: number, address: number): string | undefined {
  return readG2(input, offset, address) ?? (isG2OfOrder(address) ? undefined : BAD.g2)
}

export function isG1OfOrder(address: number): boolean {
  return f._mclBnG1_isZero(address) === 1 || f._mclBnG1_isValidOrder(address) === 1
}

function isG2OfOrder(address: number): boolean {
  return f._mclBnG2_isZero(address) === 1 || f._mclBnG2_isValidOrder(address) === 1
}

/** The 128 bytes of the point at `address`, which becomes affine. */
export function writeG1(address: number): Uint8Array {
  const output = new Uint8Array(G1_LENGTH)
  if (f._mclBnG1_isZero(address) === 1) return output
  f._mclBnG1_normalize(address, address)
  field.write(address, output, 16)
  field.write(address + FP_SIZE, output, 80)
  return output
}

/** The 256 bytes of the point at `address`, which becomes affine. */
export function writeG2(address: number): Uint8Array {
  const output = new Uint8Array(G2_LENGTH)
  if (f._mclBnG2_isZero(address) === 1) return output
  f._mclBnG2_normalize(address, address)
  for (let i = 0; i < 4; i++) field.write(address + i * FP_SIZE, output, 16 + i * 64)
  return output
}
