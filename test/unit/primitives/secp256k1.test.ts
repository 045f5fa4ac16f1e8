import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bigIntToBytes, concatBytes, hexToBytes } from '../../../src/primitives/bytes.ts'
import { keccak256 } from '../../../src/primitives/hash.ts'
import {
  decompressWithNoble,
  publicKeyToAddress,
  recoverNatively,
  recoverPublicKey,
  recoverWithNoble,
  SECP256K1_HALF_ORDER,
  SECP256K1_ORDER,
  signDigest,
} from '../../../src/primitives/secp256k1.ts'
import { runs } from '../../propertyRuns.ts'

const key = fc.bigInt({ min: 1n, max: SECP256K1_ORDER - 1n }).map((value) => bigIntToBytes(value, 32))
const digest = fc.uint8Array({ minLength: 32, maxLength: 32 })
const scalar = fc.uint8Array({ minLength: 32, maxLength: 32 })

describe('recovery', () => {
  it('is the same with the native library and with noble', () => {
    fc.assert(
      fc.property(digest, scalar, scalar, fc.constantFrom(0 as const, 1 as const), (hash, r, s, recovery) => {
        const signature = concatBytes(r, s)
        const native = recoverNatively?.(hash, recovery, signature)
        expect(native && new Uint8Array(native)).toEqual(recoverWithNoble(hash, recovery, signature))
      }),
      { numRuns: runs(60) },
    )
  })

  it('is the same at the edges of the curve', () => {
    const order = SECP256K1_ORDER
    const field = 2n ** 256n - 2n ** 32n - 977n
    const around = (value: bigint) => [value - 1n, value, value + 1n]
    const edges = [
      0n,
      1n,
      2n,
      SECP256K1_HALF_ORDER,
      ...around(order),
      ...around(field),
      ...around(field - order),
      2n ** 256n - 1n,
    ]
    let recovered = 0
    for (const r of edges) {
      for (const s of edges) {
        const signature = concatBytes(bigIntToBytes(r, 32), bigIntToBytes(s, 32))
        for (const recovery of [0, 1] as const) {
          const hash = bigIntToBytes(order, 32)
          const native = recoverNatively?.(hash, recovery, signature)
          expect(native && new Uint8Array(native)).toEqual(recoverWithNoble(hash, recovery, signature))
          if (native !== undefined) recovered++
        }
      }
    }
    expect(recovered).toBeGreaterThan(10)
  })

  it('takes only what the library refuses for a wrong signature', () => {
    const wrong = undefined as unknown as Uint8Array
    expect(() => recoverWithNoble(new Uint8Array(32), 0, wrong)).toThrow(TypeError)
    expect(() => decompressWithNoble(wrong)).toThrow(TypeError)
    expect(decompressWithNoble(new Uint8Array(33))).toBeUndefined()
  })

  it('finds who signed, with a low s', () => {
    fc.assert(
      fc.property(key, digest, (privateKey, hash) => {
        const { r, s, yParity } = signDigest(hash, privateKey)
        expect(s).toBeLessThanOrEqual(SECP256K1_HALF_ORDER)
        const publicKey = recoverPublicKey(hash, yParity, r, s)
        const mirrored = recoverPublicKey(hash, yParity === 0 ? 1 : 0, r, SECP256K1_ORDER - s)
        expect(publicKey).toHaveLength(64)
        expect(mirrored).toEqual(publicKey)
      }),
      { numRuns: runs(20) },
    )
  })

  it.each([
    [0n, 1n],
    [1n, 0n],
    [SECP256K1_ORDER, 1n],
    [1n, SECP256K1_ORDER],
    [2n ** 256n, 1n],
  ])('gives nothing for r %d and s %d', (r, s) => {
    expect(recoverPublicKey(new Uint8Array(32).fill(1), 0, r, s)).toBeUndefined()
  })

  it('gives nothing for an r that is no x coordinate', () => {
    expect(recoverPublicKey(new Uint8Array(32).fill(1), 0, 5n, 1n)).toBeUndefined()
  })
})

describe('publicKeyToAddress', () => {
  it('gives the address of private key 1', () => {
    const hash = keccak256(new Uint8Array(0))
    const { r, s, yParity } = signDigest(hash, bigIntToBytes(1n, 32))
    expect(publicKeyToAddress(recoverPublicKey(hash, yParity, r, s)!)).toEqual(
      hexToBytes('0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf'),
    )
  })
})
