import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bytesToHex, concatBytes } from '../../../../src/primitives/bytes.ts'
import { runs } from '../../../propertyRuns.ts'
import { BN_MODULUS, BN_ORDER, bnG1, bnG2, bnG2Outside, words } from '../../../support/evm/standard/curvePoints.ts'
import { ours, theirs } from '../../../support/evm/standard/secondOpinion.ts'

const ADD = 0x06
const MUL = 0x07
const PAIRING = 0x08
/** The parameter of which modulus, order and trace are polynomials. */
const X = 4_965_661_367_192_848_881n

const multiple = fc.bigInt({ min: 0n, max: BN_ORDER - 1n })
const word = fc.bigInt({ min: 0n, max: (1n << 256n) - 1n })
const TRUE = `0x${'1'.padStart(64, '0')}`
const FALSE = `0x${'0'.repeat(64)}`

async function expectSame(number: number, input: Uint8Array): Promise<void> {
  expect(ours(number, input)).toEqual(await theirs(number, input))
}

describe('bn254 addition and multiplication', () => {
  it('agree with noble', async () => {
    await fc.assert(
      fc.asyncProperty(multiple, multiple, word, async (a, b, scalar) => {
        await expectSame(ADD, concatBytes(bnG1(a), bnG1(b)))
        await expectSame(MUL, concatBytes(bnG1(a), words(32, scalar)))
      }),
      { numRuns: runs(30) },
    )
  })

  it.each<[string, Uint8Array]>([
    ['the same point', concatBytes(bnG1(5n), bnG1(5n))],
    ['opposite points', concatBytes(bnG1(5n), bnG1(BN_ORDER - 5n))],
    ['infinity on the left', concatBytes(bnG1(0n), bnG1(5n))],
    ['infinity on the right', concatBytes(bnG1(5n), bnG1(0n))],
    ['twice infinity', new Uint8Array(128)],
    ['a point off the curve', concatBytes(words(32, 1n, 3n), bnG1(5n))],
    ['x = 0', words(32, 0n, 1n, 0n, 0n)],
    ['y = 0', words(32, 1n, 0n, 0n, 0n)],
    ['x + p', words(32, 1n + BN_MODULUS, 2n, 0n, 0n)],
    ['y + p', words(32, 1n, 2n + BN_MODULUS, 0n, 0n)],
    ['x = p, y = p', words(32, BN_MODULUS, BN_MODULUS, 0n, 0n)],
    ['all ones', new Uint8Array(128).fill(0xff)],
  ])('addition of %s', (_name, input) => expectSame(ADD, input))

  it.each([0n, 1n, 2n, BN_ORDER - 1n, BN_ORDER, BN_ORDER + 1n, (1n << 256n) - 1n])(
    'multiplication by %s',
    async (k) => {
      for (const point of [bnG1(1n), bnG1(0n), words(32, 1n, 3n), words(32, 1n + BN_MODULUS, 2n)]) {
        await expectSame(MUL, concatBytes(point, words(32, k)))
      }
    },
  )

  it('give multiples of the generator by small scalars', () => {
    for (let k = 1n; k <= 64n; k++) {
      expect(ours(MUL, concatBytes(bnG1(1n), words(32, k))).output).toBe(bytesToHex(bnG1(k)))
      expect(ours(MUL, concatBytes(bnG1(k), words(32, BN_ORDER - 1n))).output).toBe(bytesToHex(bnG1(BN_ORDER - k)))
      expect(ours(ADD, concatBytes(bnG1(k), bnG1(k + 1n))).output).toBe(bytesToHex(bnG1(2n * k + 1n)))
    }
  })

  it('take scalars at the bounds of the parts that they are taken apart into', async () => {
    const short = 2n * X + 1n
    const long = 6n * X * X + 4n * X + 1n
    const lambda = BN_ORDER - (36n * X ** 3n + 18n * X * X + 6n * X + 2n)
    for (const part of [short, long, 6n * X * X + 2n * X, lambda, BN_ORDER / 2n]) {
      for (const k of [part - 1n, part, part + 1n, BN_ORDER - part, (part * lambda) % BN_ORDER]) {
        await expectSame(MUL, concatBytes(bnG1(9n), words(32, k)))
      }
    }
    // the quotients that the parts are rounded from change at these
    for (const divisor of [short, long]) {
      const k = (5n * BN_ORDER) / divisor
      for (const near of [k - 1n, k, k + 1n]) await expectSame(MUL, concatBytes(bnG1(9n), words(32, near)))
    }
  })

  it('read zeros beyond the input and nothing beyond their own', async () => {
    const input = concatBytes(bnG1(7n), bnG1(9n), bnG1(1n))
    for (const length of [0, 1, 31, 32, 33, 63, 64, 65, 95, 96, 97, 127, 128, 129, 192]) {
      await expectSame(ADD, input.subarray(0, length))
      await expectSame(MUL, input.subarray(0, length))
    }
  })
})

describe('the bn254 pairing check', () => {
  it('knows products that are one', async () => {
    const a = 123_456_789n
    const b = 987_654_321n
    const pairs = concatBytes(bnG1(a), bnG2(b), bnG1(BN_ORDER - a * b), bnG2(1n))
    expect(ours(PAIRING, pairs)).toEqual({ output: TRUE, gasUsed: 113_000n })
    expect(ours(PAIRING, concatBytes(bnG1(a), bnG2(b), bnG1(a), bnG2(1n))).output).toBe(FALSE)
    await expectSame(PAIRING, pairs)
  })

  it('agrees with noble on few pairs and on none', async () => {
    await expectSame(PAIRING, new Uint8Array(0))
    const pairs = concatBytes(bnG1(3n), bnG2(4n), bnG1(0n), bnG2(9n), bnG1(5n), bnG2(0n), bnG1(BN_ORDER - 6n), bnG2(2n))
    for (let count = 1; count <= 4; count++) await expectSame(PAIRING, pairs.subarray(0, count * 192))
  })

  it('agrees with noble on pairs that come again, with opposite points and with points of either group in common', async () => {
    const [p, minusP, q, minusQ] = [bnG1(3n), bnG1(BN_ORDER - 3n), bnG2(4n), bnG2(BN_ORDER - 4n)]
    for (const [pairs, isOne] of [
      [[p, q, minusP, q], true],
      [[p, q, p, minusQ], true],
      [[p, q, minusP, minusQ], false],
      [[p, q, p, q], false],
      [[p, q, p, q, bnG1(BN_ORDER - 6n), q], true],
      [[p, q, p, bnG2(5n), p, bnG2(BN_ORDER - 9n)], true],
    ] as const) {
      expect(ours(PAIRING, concatBytes(...pairs)).output).toBe(isOne ? TRUE : FALSE)
      await expectSame(PAIRING, concatBytes(...pairs))
    }
  })

  it('takes more pairs than it works on at once', () => {
    const pairs: Uint8Array[] = []
    for (let i = 1n; i <= 65n; i++) pairs.push(bnG1(i), bnG2(2n))
    const sum = (65n * 66n) / 2n
    expect(ours(PAIRING, concatBytes(...pairs, bnG1(BN_ORDER - 2n * sum), bnG2(1n))).output).toBe(TRUE)
    expect(ours(PAIRING, concatBytes(...pairs, bnG1(BN_ORDER - 2n * sum - 1n), bnG2(1n))).output).toBe(FALSE)
  })

  it('is not disturbed by a call that failed half-way', () => {
    const pair = concatBytes(bnG1(3n), bnG2(4n))
    expect(ours(PAIRING, concatBytes(pair, new Uint8Array(192).fill(1))).output).toBeUndefined()
    expect(ours(PAIRING, new Uint8Array(0)).output).toBe(TRUE)
  })

  it.each([1, 64, 191, 193, 383])('refuses %s bytes', (length) => expectSame(PAIRING, new Uint8Array(length)))

  const q = bnG2(7n)
  const swapped = concatBytes(q.subarray(32, 64), q.subarray(0, 32), q.subarray(64))
  const above = (index: number) => {
    const coordinates = [0, 1, 2, 3].map((i) =>
      BigInt(`0x${Buffer.from(q.subarray(i * 32, i * 32 + 32)).toString('hex')}`),
    )
    coordinates[index]! += BN_MODULUS
    return words(32, ...coordinates)
  }
  it.each<[string, Uint8Array]>([
    ['coordinates in the wrong order', swapped],
    ['a coordinate of zero', concatBytes(new Uint8Array(32), q.subarray(32))],
    ['x₁ + p', above(0)],
    ['x₀ + p', above(1)],
    ['y₁ + p', above(2)],
    ['y₀ + p', above(3)],
    ['a point outside of the subgroup', bnG2Outside(1n)],
    ['another', bnG2Outside(1_000_000n)],
  ])('refuses a G2 point with %s', async (_name, point) => {
    for (const g1 of [bnG1(0n), bnG1(3n)]) await expectSame(PAIRING, concatBytes(g1, point))
    expect(ours(PAIRING, concatBytes(bnG1(3n), point)).output).toBeUndefined()
  })

  it('takes a point for one of the subgroup only if the order multiplies it to infinity', () => {
    // the twist has r · h points: what h multiplies is in the subgroup, what r multiplies is outside of it
    const h = 2n * BN_MODULUS - BN_ORDER
    for (let start = 10n; start < 14n; start++) {
      expect(ours(PAIRING, concatBytes(bnG1(0n), bnG2Outside(start, h))).output).toBe(TRUE)
      expect(ours(PAIRING, concatBytes(bnG1(0n), bnG2Outside(start, BN_ORDER))).output).toBeUndefined()
    }
    // 10069 divides h: the smallest order outside
    expect(h % 10_069n).toBe(0n)
    const small = bnG2Outside(10n, (BN_ORDER * h) / 10_069n)
    expect(ours(PAIRING, concatBytes(bnG1(0n), small)).output).toBeUndefined()
  })

  it('checks the subgroup by an equation that no other point of the twist fulfils', () => {
    // ψ² − tψ + p = 0 on the twist: the multiples of f(ψ) = (x + 1) + xψ + xψ² − 2xψ³ among the integers are those of the
    // resultant of both polynomials; with the number of points it shares r alone
    const t = 6n * X * X + 1n
    const p = BN_MODULUS
    expect(p + 1n - t).toBe(BN_ORDER)
    // f modulo ψ² − tψ + p is c + dψ, whose norm is the resultant
    const squared = { c: -p, d: t }
    const cubed = { c: -p * t, d: t * t - p }
    const c = X + 1n + X * squared.c - 2n * X * cubed.c
    const d = X + X * squared.d - 2n * X * cubed.d
    const resultant = c * c + c * d * t + d * d * p
    expect(greatestDivisor(resultant, BN_ORDER * (2n * p - BN_ORDER))).toBe(BN_ORDER)
  })
})

function greatestDivisor(a: bigint, b: bigint): bigint {
  return b === 0n ? (a < 0n ? -a : a) : greatestDivisor(b, a % b)
}
