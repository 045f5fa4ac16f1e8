import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { bls12_381 } from '@noble/curves/bls12-381.js'
import { describe, expect, it } from 'vitest'
import { concatBytes, hexToBytes } from '../../../../src/primitives/bytes.ts'
import { sha256 } from '../../../../src/primitives/hash.ts'
import { BLS_MODULUS, BLS_ORDER, blsG1Outside, words } from '../../../support/evm/standard/curvePoints.ts'
import { ours, theirs } from '../../../support/evm/standard/secondOpinion.ts'

const NUMBER = 0x0a
const GOOD = `0x${Buffer.from(words(32, 4_096n, BLS_ORDER)).toString('hex')}`

const { Point } = bls12_381.G1
type G1 = typeof Point.BASE

/** [τ]₁ of Ethereum's trusted setup, from a package of the tests. */
const setupFile = createRequire(import.meta.url)
  .resolve('viem/package.json')
  .replace('package.json', 'trusted-setups/mainnet.json')
const { g1_monomial } = JSON.parse(readFileSync(setupFile, 'utf8')) as { g1_monomial: string[] }
const TAU = Point.fromBytes(hexToBytes(g1_monomial[1]!))
const TAU_SQUARED = Point.fromBytes(hexToBytes(g1_monomial[2]!))

const times = (point: G1, k: bigint) => (k === 0n ? Point.ZERO : point.multiply(k))
const mod = (value: bigint) => ((value % BLS_ORDER) + BLS_ORDER) % BLS_ORDER

interface Proof {
  readonly z: bigint
  readonly y: bigint
  readonly commitment: Uint8Array
  readonly proof: Uint8Array
}

/** The proof for a + bX + cX² at z: the quotient (p(X) − p(z)) / (X − z) is b + cz + cX. */
function prove(a: bigint, b: bigint, c: bigint, z: bigint): Proof {
  const commitment = times(Point.BASE, a).add(times(TAU, b)).add(times(TAU_SQUARED, c))
  const proof = times(Point.BASE, mod(b + c * z)).add(times(TAU, c))
  return { z, y: mod(a + b * z + c * z * z), commitment: commitment.toBytes(), proof: proof.toBytes() }
}

function encode({ z, y, commitment, proof }: Proof): Uint8Array {
  return concatBytes(sha256(commitment).fill(1, 0, 1), words(32, z, y), commitment, proof)
}

async function expectSame(input: Uint8Array, output: string | undefined): Promise<void> {
  expect(ours(NUMBER, input).output).toBe(output)
  expect(ours(NUMBER, input)).toEqual(await theirs(NUMBER, input))
}

const square = prove(3n, 5n, 7n, 11n)

describe('pointEvaluation', () => {
  it.each<[string, Proof]>([
    ['a square', square],
    ['a square at 0', prove(3n, 5n, 7n, 0n)],
    ['a square at the last scalar', prove(3n, 5n, 7n, BLS_ORDER - 1n)],
    ['large coefficients', prove(BLS_ORDER - 1n, 1n << 250n, (1n << 254n) + 12_345n, 1n << 200n)],
    ['a line', prove(3n, 5n, 0n, 11n)],
    ['a constant, whose proof is infinity', prove(3n, 0n, 0n, 11n)],
    ['zero, whose commitment is infinity too', prove(0n, 0n, 0n, 11n)],
    ['a root, where y is 0', prove(BLS_ORDER - 22n, 2n, 0n, 11n)],
  ])('proves %s', (_name, proof) => expectSame(encode(proof), GOOD))

  const tampered = (proof: Uint8Array, index: number, bits: number) => proof.with(index, proof[index]! ^ bits)
  const outside = (() => {
    const bytes = blsG1Outside(1n)
    return Uint8Array.from(bytes.subarray(16, 64)).fill(bytes[16]! | 0x80, 0, 1)
  })()
  const noRoot = (() => {
    for (let x = 1n; ; x++) {
      const { Fp } = bls12_381.fields
      try {
        Fp.sqrt(x * x * x + 4n)
      } catch {
        return words(48, x).fill(0x80, 0, 1)
      }
    }
  })()
  const infinity = Uint8Array.from({ length: 48 }, (_, i) => (i === 0 ? 0xc0 : 0))
  const encodings: [string, Uint8Array][] = [
    ['that is not compressed', tampered(square.proof, 0, 0x80)],
    ['with the other y', tampered(square.proof, 0, 0x20)],
    ['with another x', tampered(square.proof, 47, 1)],
    ['infinite with an x', tampered(square.proof, 0, 0x40)],
    ['infinite and larger', infinity.with(0, 0xe0)],
    ['infinite with a last byte', infinity.with(47, 1)],
    ['infinite, not compressed', infinity.with(0, 0x40)],
    ['infinity', infinity],
    ['with an x of p', words(48, BLS_MODULUS).map((byte, i) => (i === 0 ? byte | 0x80 : byte))],
    ['of all ones', new Uint8Array(48).fill(0xff)],
    ['off the curve', noRoot],
    ['outside of the subgroup', outside],
  ]
  it.each(encodings)('refuses a proof %s', (_name, proof) => expectSame(encode({ ...square, proof }), undefined))
  it.each(encodings)('refuses a commitment %s', (_name, commitment) =>
    expectSame(encode({ ...square, commitment }), undefined),
  )

  it.each<[string, Partial<Proof>]>([
    ['another y', { y: square.y + 1n }],
    ['another z', { z: square.z + 1n }],
    ['z + r', { z: square.z + BLS_ORDER }],
    ['y + r', { y: square.y + BLS_ORDER }],
    ['z of all ones', { z: (1n << 256n) - 1n }],
    ['y of all ones', { y: (1n << 256n) - 1n }],
  ])('refuses %s', (_name, change) => expectSame(encode({ ...square, ...change }), undefined))

  it('refuses a commitment equal to y·G with a proof that is not infinite, and the other way round', async () => {
    const constant = prove(3n, 0n, 0n, 0n)
    await expectSame(encode({ ...constant, proof: square.proof }), undefined)
    await expectSame(encode({ ...square, proof: infinity }), undefined)
  })

  it('refuses another versioned hash', async () => {
    for (const index of [0, 1, 31]) {
      const input = encode(square)
      await expectSame(input.with(index, input[index]! ^ 2), undefined)
    }
  })

  it.each([0, 191, 193, 384])('refuses %s bytes', (length) => {
    const input = new Uint8Array(length)
    input.set(encode(square).subarray(0, length))
    return expectSame(input, undefined)
  })
})
