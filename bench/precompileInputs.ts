import { bls12_381 } from '@noble/curves/bls12-381.js'
import { bn254 } from '@noble/curves/bn254.js'
import { p256 } from '@noble/curves/nist.js'
import { bigIntToBytes, bytesToBigInt, concatBytes, hexToBytes } from '../src/primitives/bytes.ts'
import { keccak256, sha256 } from '../src/primitives/hash.ts'
import { signDigest } from '../src/primitives/secp256k1.ts'

/** An input that may be a precompile's worst. */
export interface PrecompileInput {
  readonly name: string
  /** of the precompile's address */
  readonly number: number
  readonly precompile: string
  readonly input: Uint8Array
  /** of an input that makes the precompile fail, which takes all gas */
  readonly price?: number
}

/** Returns bytes without pattern, the same in every run. */
function bytes(length: number, seed = 1): Uint8Array {
  const out = new Uint8Array(length)
  for (let i = 0; i < length; i += 32) {
    const digest = keccak256(hexToBytes(`${seed.toString(16).padStart(8, '0')}${i.toString(16).padStart(8, '0')}`))
    out.set(digest.subarray(0, Math.min(32, length - i)), i)
  }
  return out
}

const scalar = (seed: number) => bytesToBigInt(bytes(32, seed)) >> 4n
const words = (size: number, ...values: bigint[]) => concatBytes(...values.map((value) => bigIntToBytes(value, size)))
const range = (count: number) => Array.from({ length: count }, (_, i) => i + 1)

function bnG1(k: bigint): Uint8Array {
  const { x, y } = bn254.G1.Point.BASE.multiply(k).toAffine()
  return words(32, x, y)
}

function bnG2(k: bigint): Uint8Array {
  const { x, y } = bn254.G2.Point.BASE.multiply(k).toAffine()
  return words(32, x.c1, x.c0, y.c1, y.c0)
}

function blsG1(k: bigint): Uint8Array {
  const { x, y } = bls12_381.G1.Point.BASE.multiply(k).toAffine()
  return words(64, x, y)
}

function blsG2(k: bigint): Uint8Array {
  const { x, y } = bls12_381.G2.Point.BASE.multiply(k).toAffine()
  return words(64, x.c0, x.c1, y.c0, y.c1)
}

/** Returns `count` items, made of ten that differ. */
function repeated(count: number, item: (seed: number) => Uint8Array): Uint8Array {
  const items = range(Math.min(count, 10)).map(item)
  return concatBytes(...range(count).map((i) => items[i % items.length]!))
}

function modexpInput(base: Uint8Array, exponent: Uint8Array, modulus: Uint8Array): Uint8Array {
  const lengths = [base, exponent, modulus].map((part) => BigInt(part.length))
  return concatBytes(words(32, ...lengths), base, exponent, modulus)
}

const SHAPES: Readonly<Record<string, (bytes: Uint8Array) => void>> = {
  odd: (modulus) => {
    modulus[0]! |= 0x80
    modulus[modulus.length - 1]! |= 1
  },
  'half even': (modulus) => {
    modulus[0]! |= 0x80
    modulus.fill(0, Math.ceil(modulus.length / 2))
    modulus[Math.ceil(modulus.length / 2) - 1]! |= 1
  },
  'power of two': (modulus) => modulus.fill(0).fill(0x80, 0, 1),
  even: (modulus) => {
    modulus[0]! |= 0x80
    modulus[modulus.length - 1]! &= 0xfe
  },
}

/**
 * Returns inputs of MODEXP with moduli of all shapes, and exponents of set bits only, as long as 32
 * bytes or as the modulus.
 */
export function modexpInputs(sizes: readonly number[]): PrecompileInput[] {
  const inputs: PrecompileInput[] = []
  for (const size of sizes) {
    for (const [shape, apply] of Object.entries(SHAPES)) {
      for (const exponentLength of new Set([1, 32, size])) {
        const modulus = bytes(size, 3)
        apply(modulus)
        inputs.push({
          name: `${size} bytes, ${shape} modulus, exponent of ${exponentLength}`,
          number: 0x05,
          precompile: 'modexp',
          input: modexpInput(bytes(size, 4), new Uint8Array(exponentLength).fill(0xff), modulus),
        })
      }
    }
  }
  return inputs
}

function ecrecoverInput(): Uint8Array {
  const digest = bytes(32, 5)
  const { r, s, yParity } = signDigest(digest, bytes(32, 6))
  return concatBytes(digest, words(32, BigInt(27 + yParity), r, s))
}

function p256Input(): Uint8Array {
  const key = bytes(32, 7)
  const digest = bytes(32, 8)
  const signature = p256.sign(digest, key, { prehash: false, lowS: false })
  return concatBytes(digest, signature, p256.getPublicKey(key, false).subarray(1))
}

function blakeInput(rounds: number): Uint8Array {
  const input = bytes(213, 9)
  new DataView(input.buffer).setUint32(0, rounds)
  input[212] = 1
  return input
}

/** Returns a proof that the constant polynomial k is k, off by one: as much work as a valid one. */
function pointEvaluationInput(): Uint8Array {
  const commitment = bls12_381.G1.Point.BASE.multiply(scalar(10)).toBytes()
  const proof = bls12_381.G1.Point.BASE.multiply(scalar(11)).toBytes()
  return concatBytes(sha256(commitment).fill(1, 0, 1), words(32, scalar(12), scalar(13)), commitment, proof)
}

/** Candidates for the worst input of every precompile, MODEXP's for Osaka. */
export function precompileInputs(): PrecompileInput[] {
  const inputs: PrecompileInput[] = []
  const add = (number: number, precompile: string, name: string, input: Uint8Array) =>
    inputs.push({ name, number, precompile, input })
  add(0x01, 'ecrecover', 'signature', ecrecoverInput())
  add(0x01, 'ecrecover', 'no key', bytes(128).fill(0, 32, 63).fill(27, 63, 64))
  for (const length of [0, 32, 64, 128, 1_000, 100_000]) {
    add(0x02, 'sha256', `${length} bytes`, bytes(length))
    add(0x03, 'ripemd160', `${length} bytes`, bytes(length))
    add(0x04, 'identity', `${length} bytes`, bytes(length))
  }
  inputs.push(...modexpInputs([1, 8, 16, 24, 32, 33, 40, 48, 64, 128, 256, 512, 1_024]))
  add(0x06, 'bn254Add', 'two points', concatBytes(bnG1(scalar(1)), bnG1(scalar(2))))
  add(0x06, 'bn254Add', 'twice a point', concatBytes(bnG1(scalar(1)), bnG1(scalar(1))))
  add(0x07, 'bn254Mul', 'scalar of 256 bits', concatBytes(bnG1(scalar(1)), bytes(32).fill(0xff)))
  add(0x07, 'bn254Mul', 'scalar below the order', concatBytes(bnG1(scalar(1)), words(32, scalar(2))))
  for (const count of [1, 2, 3, 10, 64]) {
    const input = repeated(count, (i) => concatBytes(bnG1(scalar(i)), bnG2(scalar(i + 50))))
    add(0x08, 'bn254Pairing', `${count} pairs`, input)
  }
  for (const rounds of [0, 1, 12, 1_000, 1_000_000]) add(0x09, 'blake2F', `${rounds} rounds`, blakeInput(rounds))
  inputs.push({
    number: 0x0a,
    precompile: 'pointEvaluation',
    name: 'a proof',
    input: pointEvaluationInput(),
    price: 50_000,
  })
  add(0x0b, 'bls12G1Add', 'two points', concatBytes(blsG1(scalar(1)), blsG1(scalar(2))))
  add(0x0d, 'bls12G2Add', 'two points', concatBytes(blsG2(scalar(1)), blsG2(scalar(2))))
  for (const count of [1, 2, 3, 4, 8, 16, 32, 64, 128, 256, 512]) {
    const g1 = repeated(count, (i) => concatBytes(blsG1(scalar(i)), bytes(32, i)))
    const g2 = repeated(count, (i) => concatBytes(blsG2(scalar(i)), bytes(32, i)))
    add(0x0c, 'bls12G1Msm', `${count} points`, g1)
    add(0x0e, 'bls12G2Msm', `${count} points`, g2)
  }
  for (const count of [1, 2, 3, 10, 64]) {
    const input = repeated(count, (i) => concatBytes(blsG1(scalar(i)), blsG2(scalar(i + 50))))
    add(0x0f, 'bls12Pairing', `${count} pairs`, input)
  }
  for (const seed of [1, 2]) {
    add(0x10, 'bls12MapFpToG1', `element ${seed}`, words(64, scalar(seed) << 120n))
    add(0x11, 'bls12MapFp2ToG2', `element ${seed}`, words(64, scalar(seed) << 120n, scalar(seed + 9) << 120n))
  }
  add(0x100, 'p256Verify', 'signature', p256Input())
  return inputs
}
