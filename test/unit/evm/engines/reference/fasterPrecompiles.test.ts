import { p256 } from '@noble/curves/nist.js'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { verifyP256 } from '../../../../../src/evm/engines/reference/fasterPrecompiles.ts'
import { bigIntToBytes, concatBytes } from '../../../../../src/primitives/bytes.ts'
import { runs } from '../../../../propertyRuns.ts'

const { Point } = p256
const N = Point.Fn.ORDER
const { Fn } = Point

interface Case {
  readonly digest: bigint
  readonly r: bigint
  readonly s: bigint
  readonly key: { readonly x: bigint; readonly y: bigint }
}

/** A signature whose verification computes u1·G + u2·Q with Q = k·G; `flipped` gives it the r of u1·G − u2·Q. */
function forge(k: bigint, u1: bigint, u2: bigint, flipped = false): Case {
  const key = Point.BASE.multiply(k)
  const right = flipped ? key.multiply(u2).negate() : key.multiply(u2)
  const sum = u1 === 0n ? right : Point.BASE.multiply(u1).add(right)
  // where the sum is infinite any r will do
  const r = sum.equals(Point.ZERO) ? 1n : sum.toAffine().x % N
  const s = Fn.mul(r, Fn.inv(u2))
  return { digest: Fn.mul(u1, s), r, s, key: key.toAffine() }
}

function ours({ digest, r, s, key }: Case): boolean {
  return verifyP256(bigIntToBytes(digest, 32), r, s, key)
}

function theirs({ digest, r, s, key }: Case): boolean {
  const signature = concatBytes(bigIntToBytes(r, 32), bigIntToBytes(s, 32))
  const publicKey = concatBytes(Uint8Array.of(4), bigIntToBytes(key.x, 32), bigIntToBytes(key.y, 32))
  try {
    return p256.verify(signature, bigIntToBytes(digest, 32), publicKey, { prehash: false, lowS: false })
  } catch {
    return false
  }
}

const scalar = fc.bigInt({ min: 1n, max: N - 1n })

describe('verifyP256', () => {
  it('agrees with noble on valid signatures and their changes', () => {
    fc.assert(
      fc.property(scalar, scalar, scalar, (k, u1, u2) => {
        const valid = forge(k, u1, u2)
        expect(ours(valid)).toBe(true)
        const changes: Case[] = [
          forge(k, u1, u2, true),
          { ...valid, s: N - valid.s },
          { ...valid, digest: (valid.digest + 1n) % N },
          { ...valid, r: (valid.r % (N - 1n)) + 1n },
          { ...valid, key: { x: valid.key.x, y: Point.Fp.ORDER - valid.key.y } },
        ]
        for (const change of changes) expect(ours(change)).toBe(theirs(change))
      }),
      { numRuns: runs(25) },
    )
  })

  it.each<[string, Case, boolean]>([
    ['a digest of 0', forge(7n, 0n, 5n), true],
    ['u2 = 1', forge(7n, 3n, 1n), true],
    ['u2 = n − 1', forge(7n, 3n, N - 1n), true],
    ['u2 = n − 2', forge(7n, 3n, N - 2n), true],
    ['u2 = 2', forge(7n, 3n, 2n), true],
    ['equal summands', forge(7n, 35n, 5n), true],
    ['summands that cancel', forge(7n, N - 35n, 5n), false],
    ['the key G', forge(1n, 1n, 1n), true],
    ['the key −G', forge(N - 1n, 2n, 1n), true],
    ['r = 0', { ...forge(7n, 3n, 5n), r: 0n }, false],
    ['s = 0', { ...forge(7n, 3n, 5n), s: 0n }, false],
    ['r = n', { ...forge(7n, 3n, 5n), r: N }, false],
    ['s = n', { ...forge(7n, 3n, 5n), s: N }, false],
    ['a key off the curve', { ...forge(7n, 3n, 5n), key: { x: 1n, y: 1n } }, false],
    ['the key (0, 0)', { ...forge(7n, 3n, 5n), key: { x: 0n, y: 0n } }, false],
    ['a key beyond the field', { ...forge(7n, 3n, 5n), key: { x: Point.Fp.ORDER, y: 1n } }, false],
  ])('handles %s', (_name, input, valid) => {
    expect(ours(input)).toBe(valid)
    expect(theirs(input)).toBe(valid)
  })
})
