import { p256 } from '@noble/curves/nist.js'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../../../propertyRuns.ts'
import { words } from '../../../support/evm/standard/curvePoints.ts'
import { ours, theirs } from '../../../support/evm/standard/secondOpinion.ts'

const NUMBER = 0x100
const { Point } = p256
const { Fn, Fp } = Point
const N = Fn.ORDER
const P = Fp.ORDER
const TRUE = `0x${'1'.padStart(64, '0')}`

interface Case {
  readonly digest: bigint
  readonly r: bigint
  readonly s: bigint
  readonly x: bigint
  readonly y: bigint
}

/** A signature whose verification computes u1·G + u2·Q with Q = k·G. */
function forge(k: bigint, u1: bigint, u2: bigint): Case {
  const key = Point.BASE.multiply(k)
  const right = key.multiply(u2)
  const sum = u1 === 0n ? right : Point.BASE.multiply(u1).add(right)
  // where the sum is infinite any r will do
  const r = sum.equals(Point.ZERO) ? 1n : sum.toAffine().x % N
  const s = Fn.mul(r, Fn.inv(u2))
  return { digest: Fn.mul(u1, s), r, s, ...key.toAffine() }
}

const encode = ({ digest, r, s, x, y }: Case) => words(32, digest, r, s, x, y)

async function expectSame(item: Case): Promise<string | undefined> {
  const outcome = ours(NUMBER, encode(item))
  expect(outcome).toEqual(await theirs(NUMBER, encode(item)))
  expect(outcome.gasUsed).toBe(6_900n)
  return outcome.output
}

const scalar = fc.bigInt({ min: 1n, max: N - 1n })
const good = forge(3n, 5n, 7n)

describe('p256Verify', () => {
  it('agrees with the second opinion on valid signatures and their changes', async () => {
    await fc.assert(
      fc.asyncProperty(scalar, scalar, scalar, async (k, u1, u2) => {
        const valid = forge(k, u1, u2)
        expect(await expectSame(valid)).toBe(TRUE)
        expect(await expectSame({ ...valid, s: N - valid.s })).toBe(TRUE)
        for (const change of [
          { ...valid, digest: valid.digest ^ 1n },
          { ...valid, r: (valid.r % (N - 1n)) + 1n },
          { ...valid, s: (valid.s % (N - 1n)) + 1n },
          { ...valid, y: P - valid.y },
        ]) {
          expect(await expectSame(change)).toBe('0x')
        }
      }),
      { numRuns: runs(12) },
    )
  })

  it.each<[string, Case]>([
    ['a digest of 0', forge(3n, 0n, 7n)],
    ['the key G', forge(1n, 5n, 7n)],
    ['the key −G', forge(N - 1n, 5n, 7n)],
    ['equal multiples', forge(1n, 5n, 5n)],
    ['u2 = 1', forge(9n, 5n, 1n)],
    ['u2 = −1', forge(9n, 5n, N - 1n)],
    ['u1 = 1', forge(9n, 1n, 5n)],
    ['u1 = −1', forge(9n, N - 1n, 5n)],
    ['u1 = u2·k, where Q + t·G doubles', forge(9n, 45n, 5n)],
    ['small scalars of the exchange', forge(2n, 255n, 1n)],
  ])('verifies with %s', async (_name, item) => expect(await expectSame(item)).toBe(TRUE))

  it.each<[string, Partial<Case>]>([
    ['r = 0', { r: 0n }],
    ['r = N', { r: N }],
    ['r + N', { r: good.r + N < 1n << 256n ? good.r + N : N + 1n }],
    ['r of all ones', { r: (1n << 256n) - 1n }],
    ['s = 0', { s: 0n }],
    ['s = N', { s: N }],
    ['s of all ones', { s: (1n << 256n) - 1n }],
    ['a key off the curve', { y: good.y ^ 1n }],
    ['the key (0, 0)', { x: 0n, y: 0n }],
    ['x = p', { x: P }],
    ['y = p', { y: P }],
    ['all ones for a key', { x: (1n << 256n) - 1n, y: (1n << 256n) - 1n }],
  ])('refuses %s', async (_name, change) => expect(await expectSame({ ...good, ...change })).toBe('0x'))

  it('takes the digest modulo the order', async () => {
    const item = forge(3n, 5n, 7n)
    const small = { ...item, digest: item.digest % N }
    const larger = small.digest + N
    if (larger < 1n << 256n) expect(await expectSame({ ...small, digest: larger })).toBe(TRUE)
    // a digest between the order and 2^256: u1 = digest / s with s = 1
    const digest = N + 12_345n
    const sum = Point.BASE.multiply(12_345n).add(Point.BASE.multiply(4n))
    const r = sum.toAffine().x % N
    const { x, y } = Point.BASE.multiply(Fn.mul(4n, Fn.inv(r))).toAffine()
    expect(await expectSame({ digest, r, s: 1n, x, y })).toBe(TRUE)
  })

  it('refuses a sum that is infinite', async () => {
    expect(await expectSame(forge(3n, N - 21n, 7n))).toBe('0x')
  })

  it('verifies where the point has an x between the order and the modulus', async () => {
    // x = r + N is on the curve; with s = u1 = u2·… the key is chosen so that the sum is that point
    let r = 1n
    let y: bigint | undefined
    for (; y === undefined; r++) {
      const x = r + N
      try {
        y = Fp.sqrt(Fp.add(Fp.mul(x, Fp.add(Fp.mul(x, x), P - 3n)), Point.CURVE().b))
      } catch {
        // not on the curve: the next
      }
    }
    r -= 1n
    // R = (r + N, y); with digest = s: G + (r / s)·Q = R
    const target = Point.fromAffine({ x: r + N, y })
    const s = 77n
    const key = target.subtract(Point.BASE).multiply(Fn.mul(s, Fn.inv(r)))
    expect(await expectSame({ digest: s, r, s, ...key.toAffine() })).toBe(TRUE)
    expect(await expectSame({ digest: s + 1n, r, s, ...key.toAffine() })).toBe('0x')
  })

  it.each([0, 1, 159, 161, 320])('gives nothing for %s bytes', async (length) => {
    const input = new Uint8Array(length)
    input.set(encode(good).subarray(0, length))
    expect(ours(NUMBER, input)).toEqual({ output: '0x', gasUsed: 6_900n })
  })
})
