import { ripemd160 as theirRipemd160 } from '@cosmjs/crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bigIntToBytes, concatBytes } from '../../../src/primitives/bytes.ts'
import { keccak256, ripemd160 } from '../../../src/primitives/hash.ts'
import {
  compressPublicKey,
  decompressNatively,
  decompressPublicKey,
  decompressWithNoble,
  privateToPublicKey,
  recoverPublicKey,
  SECP256K1_ORDER,
  signDigest,
  verifyNatively,
  verifySignature,
  verifyWithNoble,
} from '../../../src/primitives/secp256k1.ts'
import { runs } from '../../propertyRuns.ts'

const key = fc.bigInt(1n, SECP256K1_ORDER - 1n).map((number) => bigIntToBytes(number, 32))
const digest = fc.uint8Array({ maxLength: 32 }).map(keccak256)

const compact = (r: bigint, s: bigint) => concatBytes(bigIntToBytes(r, 32), bigIntToBytes(s, 32))

describe('verifySignature', () => {
  it('takes what signDigest made, with the native library and with noble', () => {
    fc.assert(
      fc.property(key, digest, fc.nat({ max: 63 }), (privateKey, hash, at) => {
        const { r, s } = signDigest(hash, privateKey)
        const publicKey = privateToPublicKey(privateKey)
        const signature = compact(r, s)
        const wrong = signature.slice()
        wrong[at]! ^= 4
        for (const verify of [verifySignature, verifyWithNoble, verifyNatively ?? verifyWithNoble]) {
          expect(verify(hash, signature, publicKey)).toBe(true)
          expect(verify(hash, wrong, publicKey)).toBe(false)
          expect(verify(keccak256(hash), signature, publicKey)).toBe(false)
          // The other s is a signature too, by the mathematics.
          expect(verify(hash, compact(r, SECP256K1_ORDER - s), publicKey)).toBe(false)
        }
      }),
      { numRuns: runs(15) },
    )
  })

  it.each([
    ['no signature', new Uint8Array(0), 33],
    ['zeros', new Uint8Array(64), 33],
    ['r and s out of range', new Uint8Array(64).fill(255), 33],
    ['65 bytes', new Uint8Array(65), 33],
    ['a key of another length', new Uint8Array(64).fill(1), 32],
    ['a key that is none', new Uint8Array(64).fill(1), 33],
  ])('refuses %s', (_, signature, keyLength) => {
    const publicKey = new Uint8Array(keyLength).fill(5)
    expect(verifySignature(new Uint8Array(32), signature, publicKey)).toBe(false)
    if (signature.length !== 64 || keyLength !== 33) return
    expect(verifyWithNoble(new Uint8Array(32), signature, publicKey)).toBe(false)
  })
})

describe('public keys', () => {
  it('are compressed and decompressed', () => {
    fc.assert(
      fc.property(key, digest, (privateKey, hash) => {
        const { r, s, yParity } = signDigest(hash, privateKey)
        const point = recoverPublicKey(hash, yParity, r, s)!
        const compressed = privateToPublicKey(privateKey)
        expect(compressPublicKey(point)).toEqual(compressed)
        for (const decompress of [
          decompressPublicKey,
          decompressWithNoble,
          decompressNatively ?? decompressWithNoble,
        ]) {
          expect(decompress(compressed)).toEqual(point)
        }
      }),
      { numRuns: runs(15) },
    )
  })

  it.each([
    ['no bytes', []],
    ['another length', new Array(65).fill(4)],
    ['another prefix', [4, ...new Array(32).fill(1)]],
    ['an x that is on no point', [2, ...new Array(31).fill(0), 5]],
    ['an x beyond the field', new Array(33).fill(255).with(0, 2)],
  ])('are refused: %s', (_, bytes) => {
    const given = Uint8Array.from(bytes)
    expect(decompressPublicKey(given)).toBeUndefined()
    if (given.length === 33) expect(decompressWithNoble(given)).toBeUndefined()
  })
})

describe('ripemd160', () => {
  it('is what CosmJS computes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (data) => {
        expect(ripemd160(data)).toEqual(theirRipemd160(data))
      }),
    )
  })
})
