import { bls12_381 } from '@noble/curves/bls12-381.js'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bytesToHex, concatBytes } from '../../../../src/primitives/bytes.ts'
import { runs } from '../../../propertyRuns.ts'
import {
  BLS_MODULUS,
  BLS_ORDER,
  blsG1,
  blsG1Outside,
  blsG2,
  blsG2Outside,
  words,
} from '../../../support/evm/standard/curvePoints.ts'
import { ours, theirs } from '../../../support/evm/standard/secondOpinion.ts'

const G1_ADD = 0x0b
const G1_MSM = 0x0c
const G2_ADD = 0x0d
const G2_MSM = 0x0e
const PAIRING = 0x0f
const MAP_G1 = 0x10
const MAP_G2 = 0x11

const multiple = fc.bigInt({ min: 0n, max: BLS_ORDER - 1n })
const scalar = fc.bigInt({ min: 0n, max: (1n << 256n) - 1n })
const element = fc.bigInt({ min: 0n, max: BLS_MODULUS - 1n })
const TRUE = `0x${'1'.padStart(64, '0')}`
const FALSE = `0x${'0'.repeat(64)}`

async function expectSame(number: number, input: Uint8Array): Promise<void> {
  expect(ours(number, input)).toEqual(await theirs(number, input))
}

/** A group's parts of EIP-2537. */
const GROUPS = [
  { name: 'G1', add: G1_ADD, msm: G1_MSM, point: blsG1, outside: blsG1Outside, elements: 2, zero: blsG1(0n) },
  { name: 'G2', add: G2_ADD, msm: G2_MSM, point: blsG2, outside: blsG2Outside, elements: 4, zero: blsG2(0n) },
] as const

describe('the order of a point of BLS12-381 G1', () => {
  /** Points of the curve for each point of the subgroup. */
  const COFACTOR = 0x396c8c005555e1568c00aaab0000aaabn
  const of = (x: Uint8Array) => ours(G1_MSM, concatBytes(x, words(32, 5n))).output
  const ofTwo = (x: Uint8Array) => ours(G1_MSM, concatBytes(x, words(32, 5n), blsG1(2n), words(32, 0n))).output

  it('is looked at in one point as in two', () => {
    for (let start = 1n; start < 5n; start++) {
      const inside = blsG1Outside(start, COFACTOR)
      expect(of(inside)).toBeDefined()
      expect(ofTwo(inside)).toBe(of(inside))
      for (const factor of [1n, BLS_ORDER]) {
        expect(of(blsG1Outside(start, factor))).toBeUndefined()
        expect(ofTwo(blsG1Outside(start, factor))).toBeUndefined()
      }
    }
  })

  it.each([3n, 11n ** 2n, 10_177n ** 2n, 859_267n ** 2n, 52_437_899n ** 2n])(
    'is not %s or a divisor of it',
    (divisor) => {
      expect(COFACTOR % divisor).toBe(0n)
      for (let start = 1n; start < 5n; start++) {
        const point = blsG1Outside(start, (BLS_ORDER * COFACTOR) / divisor)
        const isInfinity = point.every((byte) => byte === 0)
        expect(of(point)).toBe(isInfinity ? `0x${'00'.repeat(128)}` : undefined)
        expect(ofTwo(point)).toBe(of(point))
      }
    },
  )
})

describe.each(GROUPS)('BLS12-381 $name', ({ add, msm, point, outside, elements, zero }) => {
  it('adds and multiplies as noble does', async () => {
    await fc.assert(
      fc.asyncProperty(multiple, multiple, scalar, scalar, async (a, b, first, second) => {
        await expectSame(add, concatBytes(point(a), point(b)))
        await expectSame(msm, concatBytes(point(a), words(32, first), point(b), words(32, second)))
      }),
      { numRuns: runs(4) },
    )
  })

  it.each<[string, Uint8Array, Uint8Array]>([
    ['the same point', point(5n), point(5n)],
    ['opposite points', point(5n), point(BLS_ORDER - 5n)],
    ['infinity and a point', zero, point(5n)],
    ['a point and infinity', point(5n), zero],
    ['twice infinity', zero, zero],
    ['points outside of the subgroup', outside(1n), outside(100n)],
    ['a point outside of the subgroup and itself', outside(1n), outside(1n)],
  ])('adds %s', async (_name, a, b) => {
    expect(ours(add, concatBytes(a, b)).output).toBeDefined()
    await expectSame(add, concatBytes(a, b))
  })

  const good = point(7n)
  const withElement = (index: number, change: (value: bigint) => bigint) => {
    const bytes = good.slice()
    const value = BigInt(`0x${Buffer.from(bytes.subarray(index * 64, index * 64 + 64)).toString('hex')}`)
    bytes.set(words(64, change(value)), index * 64)
    return bytes
  }
  const malformed: [string, Uint8Array][] = []
  for (let i = 0; i < elements; i++) {
    malformed.push(
      [`element ${i} + 1`, withElement(i, (value) => value + 1n)],
      [`element ${i} + p`, withElement(i, (value) => value + BLS_MODULUS)],
      [`element ${i} = p`, withElement(i, () => BLS_MODULUS)],
      [`element ${i} = 0`, withElement(i, () => 0n)],
      [`a byte above element ${i}`, withElement(i, (value) => value + (1n << 384n))],
      [`the highest bit above element ${i}`, withElement(i, (value) => value + (1n << 511n))],
    )
  }
  it.each(malformed)('refuses %s', async (_name, bad) => {
    for (const input of [concatBytes(bad, good), concatBytes(good, bad)]) {
      expect(ours(add, input).output).toBeUndefined()
      await expectSame(add, input)
    }
    expect(ours(msm, concatBytes(good, words(32, 1n), bad, words(32, 0n))).output).toBeUndefined()
  })

  it('multiplies no point outside of the subgroup, whatever the scalar', async () => {
    for (const k of [0n, 1n, BLS_ORDER]) {
      const input = concatBytes(point(3n), words(32, 1n), outside(50n), words(32, k))
      expect(ours(msm, input).output).toBeUndefined()
      await expectSame(msm, input)
    }
  })

  it('multiplies by scalars up to 2 ** 256 − 1', async () => {
    const scalars = [0n, 1n, 2n, BLS_ORDER - 1n, BLS_ORDER, BLS_ORDER + 1n, (1n << 256n) - 1n]
    for (const k of scalars) await expectSame(msm, concatBytes(point(9n), words(32, k)))
    await expectSame(msm, concatBytes(...scalars.flatMap((k) => [point(9n), words(32, k)])))
  })

  it('sums up more points than it works on at once', () => {
    // large multiples of points k, in numbers around those at which the method changes, with infinity and zeros in between
    for (const count of [16n, 17n, 39n, 64n, 200n, 600n]) {
      const parts: Uint8Array[] = [zero, words(32, 5n), good, words(32, 0n)]
      let sum = 0n
      for (let k = 1n; k <= count; k++) {
        const factor = (k * (BLS_ORDER / 3n)) ** 2n % (1n << 256n)
        parts.push(point((k % 40n) + 1n), words(32, factor))
        sum += ((k % 40n) + 1n) * factor
      }
      const input = concatBytes(...parts)
      const expected = ours(add, concatBytes(point(sum % BLS_ORDER), zero)).output
      expect(ours(msm, input, 'osaka', 1n << 40n).output).toBe(expected)
    }
  }, 30_000)

  it('gives infinity where the sum is', async () => {
    const input = concatBytes(point(3n), words(32, 4n), point(12n), words(32, BLS_ORDER - 1n))
    expect(ours(msm, input).output).toBe(`0x${Buffer.from(zero).toString('hex')}`)
    await expectSame(msm, input)
  })

  it('takes no other lengths', async () => {
    const size = zero.length
    for (const length of [0, 1, 2 * size - 1, 2 * size + 1, 4 * size]) await expectSame(add, new Uint8Array(length))
    for (const length of [0, 1, size, size + 31, size + 33, 2 * size + 63])
      await expectSame(msm, new Uint8Array(length))
  })

  it('is not disturbed by a call that failed half-way', () => {
    const item = concatBytes(point(3n), words(32, 4n))
    expect(ours(msm, concatBytes(item, new Uint8Array(item.length).fill(1))).output).toBeUndefined()
    expect(ours(msm, item)).toEqual(ours(msm, item))
    expect(ours(msm, concatBytes(zero, words(32, 1n))).output).toBe(`0x${Buffer.from(zero).toString('hex')}`)
  })
})

describe('the gas of multi-scalar multiplications', () => {
  it('is discounted by the number of points', async () => {
    for (const [number, length] of [
      [G1_MSM, 160],
      [G2_MSM, 288],
    ] as const) {
      for (let count = 1; count <= 130; count++) {
        // of points that are none: what is compared is the gas that a limit below the price takes and one above it does not
        const input = new Uint8Array(count * length)
        const { gasUsed } = ours(number, input)
        if (count % 16 < 2 || count > 126) expect(gasUsed).toBe((await theirs(number, input)).gasUsed)
        expect(ours(number, input, 'osaka', gasUsed).output).toBeDefined()
        expect(ours(number, input, 'osaka', gasUsed - 1n).output).toBeUndefined()
      }
    }
  })
})

describe('the BLS12-381 pairing check', () => {
  it('knows products that are one', async () => {
    const pairs = concatBytes(blsG1(12n), blsG2(34n), blsG1(BLS_ORDER - 12n * 34n), blsG2(1n))
    expect(ours(PAIRING, pairs)).toEqual({ output: TRUE, gasUsed: 102_900n })
    expect(ours(PAIRING, concatBytes(blsG1(12n), blsG2(34n), blsG1(12n), blsG2(1n))).output).toBe(FALSE)
    await expectSame(PAIRING, pairs)
  })

  it('agrees with noble on few pairs', async () => {
    const pairs = concatBytes(
      ...[blsG1(3n), blsG2(4n), blsG1(0n), blsG2(9n)],
      ...[blsG1(5n), blsG2(0n), blsG1(BLS_ORDER - 6n), blsG2(2n)],
    )
    for (let count = 1; count <= 4; count++) await expectSame(PAIRING, pairs.subarray(0, count * 384))
  })

  it('takes more pairs than it works on at once', () => {
    const pairs: Uint8Array[] = []
    for (let i = 1n; i <= 65n; i++) pairs.push(blsG1(i), blsG2(2n))
    const sum = 65n * 66n
    expect(ours(PAIRING, concatBytes(...pairs, blsG1(BLS_ORDER - sum), blsG2(1n))).output).toBe(TRUE)
    expect(ours(PAIRING, concatBytes(...pairs, blsG1(BLS_ORDER - sum - 1n), blsG2(1n))).output).toBe(FALSE)
  })

  it.each<[string, Uint8Array]>([
    ['no bytes', new Uint8Array(0)],
    ['half a pair', new Uint8Array(192)],
    ['one byte more', new Uint8Array(385)],
    ['a G1 point outside of the subgroup', concatBytes(blsG1Outside(1n), blsG2(1n))],
    ['such a one with infinity', concatBytes(blsG1Outside(1n), blsG2(0n))],
    ['a G2 point outside of the subgroup', concatBytes(blsG1(1n), blsG2Outside(1n))],
    ['infinity with such a one', concatBytes(blsG1(0n), blsG2Outside(1n))],
    ['a G1 point off the curve', concatBytes(words(64, 1n, 1n), blsG2(1n))],
    ['a G2 point off the curve', concatBytes(blsG1(1n), words(64, 1n, 1n, 1n, 1n))],
  ])('refuses %s', async (_name, input) => {
    expect(ours(PAIRING, input).output).toBeUndefined()
    await expectSame(PAIRING, input)
  })
})

describe('mapping to BLS12-381', () => {
  it('agrees with noble', async () => {
    await fc.assert(
      fc.asyncProperty(element, element, async (a, b) => {
        await expectSame(MAP_G1, words(64, a))
        await expectSame(MAP_G2, words(64, a, b))
      }),
      {
        numRuns: runs(6),
        examples: [
          [0n, 0n],
          [1n, 0n],
          [0n, 1n],
          [BLS_MODULUS - 1n, BLS_MODULUS - 1n],
        ],
      },
    )
  })

  it.each([BLS_MODULUS, BLS_MODULUS + 1n, (1n << 384n) - 1n, 1n << 384n, (1n << 512n) - 1n])(
    'refuses the element %s',
    async (value) => {
      for (const [number, input] of [
        [MAP_G1, words(64, value)],
        [MAP_G2, words(64, value, 1n)],
        [MAP_G2, words(64, 1n, value)],
      ] as const) {
        expect(ours(number, input).output).toBeUndefined()
        await expectSame(number, input)
      }
    },
  )

  it('maps to G1 as noble does where Z·t² is −1 or 0, and elsewhere', () => {
    const { Fp } = bls12_381.fields
    // its type has the arguments and the result of maps from Fp2
    const map = bls12_381.G1.mapToCurve as unknown as (t: bigint) => typeof bls12_381.G1.Point.BASE
    const exceptional = Fp.sqrt(Fp.neg(Fp.inv(11n)))
    const elements = [0n, exceptional, Fp.neg(exceptional)]
    // of a sequence without pattern, the same in every run
    for (let i = 0, state = 3n; i < 60; i++) {
      state = Fp.add(Fp.sqr(state), 0x9e3779b97f4a7c15f39cc0605cedc834n)
      elements.push(state >> BigInt(6 * i))
    }
    for (const element of elements) {
      const { x, y } = map(element).toAffine()
      expect(ours(MAP_G1, words(64, element)).output).toBe(bytesToHex(words(64, x, y)))
    }
  })

  it('takes no other lengths', async () => {
    for (const length of [0, 63, 65, 127, 129, 256]) {
      await expectSame(MAP_G1, new Uint8Array(length))
      await expectSame(MAP_G2, new Uint8Array(length))
    }
  })
})
