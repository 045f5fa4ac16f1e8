import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../../propertyRuns.ts'
import { compileWords } from '../../support/assembly/compileWords.ts'

/** The fields of the curves; ξ, the number that Fp12 is built with, is `nonResidue` + u; the curve over Fp is y² = x³ + tripleConstant/3. */
const FIELDS = [
  {
    name: 'BLS12-381',
    constants: ['IS_BN254=0'],
    modulus: 0x1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaabn,
    limbs: 14,
    limbBits: 28n,
    nonResidue: 1n,
  },
  {
    name: 'bn254',
    constants: ['IS_BN254=1'],
    modulus: 0x30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47n,
    limbs: 10,
    limbBits: 27n,
    nonResidue: 9n,
  },
] as const

type Pair = readonly [bigint, bigint]

const ENTRY = `
export { add, addNonResidue, addReduced, conjugate, multiply, multiplyLanes, prepare, scale, square, subtract } from '../curves/field'
export { mergeLanes, scaleEach, sumAndDifference, swapLanes } from '../curves/field'
export { subtractTwo, sum2, sum3, sumLanes2, timesNonResidue, tripleLess, triplePlus } from '../curves/field'
export { powerLanes } from '../curves/conversions'
export { invert } from '../curves/inversion'
export { intoCyclotomicSubgroup, powerOfParameter } from '../curves/exponentiation'
export { compressedSquare12, cyclotomicSquare12, decompress12, multiply12, square12 } from '../curves/tower'
export { powerOfX } from '../curves/bls12381/powers'
let end: usize = (__heap_base + 15) & ~15
export function room(size: usize): usize { end += size; return end - size }
`

const plus = ([a, b]: Pair, [c, d]: Pair): Pair => [a + c, b + d]
const minus = ([a, b]: Pair, [c, d]: Pair): Pair => [a - c, b - d]
const times = ([a, b]: Pair, [c, d]: Pair): Pair => [a * c - b * d, a * d + b * c]
const byLane = ([a, b]: Pair, [c, d]: Pair): Pair => [a * c, b * d]
const scaled = ([a, b]: Pair, k: bigint): Pair => [a * k, b * k]

describe.each(
  await Promise.all(FIELDS.map(async (field) => ({ ...field, ...(await compileWords(ENTRY, field.constants)) }))),
)('the field of $name in pairs', (field) => {
  const { modulus: P, limbs: LIMBS, limbBits: LIMB_BITS } = field
  const XI: Pair = [field.nonResidue, 1n]
  const { memory, call } = field
  const LIMB_MASK = (1n << LIMB_BITS) - 1n
  const R = 1n << (LIMB_BITS * BigInt(LIMBS))

  const modulo = (value: bigint): bigint => ((value % P) + P) % P
  const power = (base: bigint, exponent: bigint): bigint => {
    let result = 1n
    let square = base
    for (let rest = exponent; rest > 0n; rest >>= 1n) {
      if ((rest & 1n) === 1n) result = (result * square) % P
      square = (square * square) % P
    }
    return result
  }
  const INVERSE_R = power(R % P, P - 2n)

  const PAIR_BYTES = LIMBS * 8
  const places = Array.from({ length: 6 }, () => call('room', 2 * PAIR_BYTES) >>> 0)
  const [x, y, u, v, sum, z] = places as [number, number, number, number, number, number]
  const operands = Array.from({ length: 3 }, () => call('room', 2 * PAIR_BYTES) >>> 0) as [number, number, number]

  function put(address: number, pair: Pair): void {
    const view = new DataView(memory.buffer, address, PAIR_BYTES)
    for (const [lane, value] of pair.entries()) {
      for (let i = 0; i < LIMBS; i++) {
        view.setUint32(8 * i + 4 * lane, Number((value >> (LIMB_BITS * BigInt(i))) & LIMB_MASK), true)
      }
    }
  }

  /** The pair at an address, reduced: limbs of LIMB_BITS and values below twice the modulus. */
  function get(address: number): Pair {
    const view = new DataView(memory.buffer, address, PAIR_BYTES)
    const values = [0, 1].map((lane) => {
      let value = 0n
      for (let i = LIMBS - 1; i >= 0; i--) {
        const limb = BigInt(view.getUint32(8 * i + 4 * lane, true))
        if (limb > LIMB_MASK) throw new Error(`limb ${i} has too many bits`)
        value = (value << LIMB_BITS) | limb
      }
      if (value >= 2n * P) throw new Error('not below twice the modulus')
      return value
    })
    return [values[0]!, values[1]!]
  }

  /** Expects a reduced result; that of a product is divided by R. */
  function expectPair([a, b]: Pair, factor = 1n): void {
    expect(get(z).map(modulo)).toEqual([modulo(a * factor), modulo(b * factor)])
  }

  const element = fc.oneof(
    fc.constantFrom(0n, 1n, P - 1n, P, P + 1n, 2n * P - 1n, LIMB_MASK, (1n << (LIMB_BITS * BigInt(LIMBS - 1))) - 1n),
    fc.bigInt({ min: 0n, max: 2n * P - 1n }),
  )
  const pair = fc.tuple(element, element)

  it('computes what BigInt does, from all reduced operands and from loose sums', () => {
    fc.assert(
      fc.property(pair, pair, pair, pair, (a, b, c, d) => {
        for (const [address, value] of [
          [x, a],
          [y, b],
          [u, c],
          [v, d],
        ] as const) {
          put(address, value)
        }
        const cases: readonly [string, () => unknown, Pair, bigint?][] = [
          ['addReduced', () => call('addReduced', z, x, y), plus(a, b)],
          ['subtract', () => call('subtract', z, x, y), minus(a, b)],
          ['subtractTwo', () => call('subtractTwo', z, x, y, u), minus(minus(a, b), c)],
          ['scale', () => call('scale', z, x, 12), scaled(a, 12n)],
          ['scaleEach', () => call('scaleEach', z, x), [a[0] * 12n, a[1] * 8n]],
          ['sumAndDifference', () => call('sumAndDifference', z, x, y), [a[1] + b[0], a[1] - 3n * b[0]]],
          ['swapLanes', () => call('swapLanes', z, x), [a[1], a[0]]],
          ['mergeLanes', () => call('mergeLanes', z, x, y), [a[0], b[1]]],
          ['tripleLess', () => call('tripleLess', z, x, y), minus(scaled(a, 3n), scaled(b, 2n))],
          ['triplePlus', () => call('triplePlus', z, x, y), plus(scaled(a, 3n), scaled(b, 2n))],
          ['conjugate', () => call('conjugate', z, x), [a[0], -a[1]]],
          ['timesNonResidue', () => call('timesNonResidue', z, x), times(a, XI)],
          ['addNonResidue', () => call('addNonResidue', z, x, y), plus(a, times(b, XI))],
          ['multiplyLanes', () => call('multiplyLanes', z, x, y), byLane(a, b), INVERSE_R],
          ['sumLanes2', () => call('sumLanes2', z, x, y, u, v), plus(byLane(a, b), byLane(c, d)), INVERSE_R],
          ['multiply', () => call('multiply', z, x, y), times(a, b), INVERSE_R],
          ['square', () => call('square', z, x), times(a, a), INVERSE_R],
        ]
        for (const [name, run, expected, factor] of cases) {
          run()
          expectPair(expected, factor)
          expect([name, get(x)]).toEqual([name, a])
        }
        call('add', sum, x, y)
        call('multiplyLanes', z, sum, sum)
        expectPair(byLane(plus(a, b), plus(a, b)), INVERSE_R)
        call('multiply', z, sum, sum)
        expectPair(times(plus(a, b), plus(a, b)), INVERSE_R)
        call('subtract', z, u, sum)
        expectPair(minus(c, plus(a, b)))
        for (const [i, from] of [y, v, x].entries()) call('prepare', operands[i]!, from)
        call('sum2', z, sum, operands[0], u, operands[1])
        expectPair(plus(times(plus(a, b), b), times(c, d)), INVERSE_R)
        call('sum3', z, sum, operands[0], u, operands[1], sum, operands[2])
        expectPair(plus(plus(times(plus(a, b), b), times(c, d)), times(plus(a, b), a)), INVERSE_R)
      }),
      { numRuns: runs(60) },
    )
  })

  it('inverts whatever is not zero', () => {
    const special = fc.constantFrom(0n, 1n, 2n, 3n, P - 1n, P, P - 2n, (P + 1n) / 2n, P + 1n, 2n * P - 1n)
    const powerOfTwo = fc.integer({ min: 0, max: P.toString(2).length - 1 }).map((exponent) => 1n << BigInt(exponent))
    const value = fc.oneof(special, powerOfTwo, element)
    fc.assert(
      fc.property(fc.tuple(value, fc.oneof(fc.constant(0n), value)), (a) => {
        // in Montgomery's form what stands for the integer v is v·R
        const form = a.map((v) => modulo(v * R)) as [bigint, bigint]
        put(x, form)
        call('invert', z, x)
        const inverse = get(z)
        const isZero = a.every((v) => modulo(v) === 0n)
        expect(times(form, inverse).map(modulo)).toEqual([isZero ? 0n : modulo(R * R), 0n])
      }),
      { numRuns: runs(300) },
    )
  })

  it('inverts numbers of all lengths', () => {
    // of a sequence without pattern, the same in every run
    let state = 1n
    for (let i = 0; i < 4_000; i++) {
      state = modulo(state * state + 0x9e3779b97f4a7c15f39cc0605cedc834n)
      const value = state >> BigInt(i % 250)
      put(x, [modulo(value * R), 0n])
      call('invert', z, x)
      expect(modulo(get(z)[0] * value)).toBe(value === 0n ? 0n : modulo(R))
    }
  })

  const FP12_BYTES = 6 * PAIR_BYTES
  const [f, g, h] = Array.from({ length: 3 }, () => call('room', FP12_BYTES) >>> 0) as [number, number, number]
  /** Where the coefficients of 1, w, …, w⁵ are. */
  const PLACES = [0, 3, 1, 4, 2, 5].map((place) => place * PAIR_BYTES)

  type Fp12 = readonly Pair[]
  function putFp12(address: number, value: Fp12): void {
    for (const [k, place] of PLACES.entries()) put(address + place, value[k]!)
  }
  const getFp12 = (address: number): Pair[] => PLACES.map((place) => get(address + place))
  const plainFp12 = (address: number) => getFp12(address).map((value) => value.map(modulo))

  /** The product of polynomials in w, where w⁶ is ξ, of elements in Montgomery's form. */
  function timesFp12(left: Fp12, right: Fp12): bigint[][] {
    const product: Pair[] = Array.from({ length: 6 }, () => [0n, 0n])
    for (const [i, a] of left.entries()) {
      for (const [j, b] of right.entries()) {
        const term = i + j < 6 ? times(a, b) : times(times(a, b), XI)
        product[(i + j) % 6] = plus(product[(i + j) % 6]!, term)
      }
    }
    return product.map((value) => value.map((v) => modulo(v * INVERSE_R)))
  }

  const fp12 = fc.tuple(pair, pair, pair, pair, pair, pair)

  it('multiplies and squares in Fp12 as polynomials are multiplied', () => {
    fc.assert(
      fc.property(fp12, fp12, (a, b) => {
        putFp12(f, a)
        putFp12(g, b)
        call('multiply12', h, f, g)
        expect(plainFp12(h)).toEqual(timesFp12(a, b))
        call('square12', h, f)
        expect(plainFp12(h)).toEqual(timesFp12(a, a))
        call('multiply12', f, f, f)
        expect(plainFp12(f)).toEqual(timesFp12(a, a))
      }),
      { numRuns: runs(60) },
    )
  })

  const ONE: Fp12 = [[R % P, 0n], ...Array.from({ length: 5 }, (): Pair => [0n, 0n])]

  it('squares in the cyclotomic subgroup, also without a third of the coefficients', () => {
    fc.assert(
      fc.property(fp12, (a) => {
        fc.pre(a.some((value) => value.some((v) => modulo(v) !== 0n)))
        putFp12(f, a)
        call('intoCyclotomicSubgroup', g, f)
        const element = getFp12(g)
        const square = timesFp12(element, element)
        call('cyclotomicSquare12', h, g)
        expect(plainFp12(h)).toEqual(square)
        putFp12(h, ONE)
        call('compressedSquare12', h, g)
        const divisor = h + PLACES[1]!
        fc.pre(get(divisor).some((v) => modulo(v) !== 0n))
        call('invert', z, divisor)
        call('decompress12', h, z)
        expect(plainFp12(h)).toEqual(square)
      }),
      { numRuns: runs(20) },
    )
  })

  it.runIf(field.name === 'BLS12-381')('raises to the power of x, also what cannot be compressed', () => {
    const rootOfUnity = power(2n, (P - 1n) / 3n)
    const cubeRoot: Fp12 = ONE.map(([a, b]) => [modulo(a * rootOfUnity), b])
    fc.assert(
      fc.property(fc.oneof(fc.constant(ONE), fc.constant(cubeRoot), fp12), (a) => {
        fc.pre(a.some((value) => value.some((v) => modulo(v) !== 0n)))
        putFp12(f, a)
        if (a === cubeRoot) putFp12(g, a)
        else call('intoCyclotomicSubgroup', g, f)
        call('powerOfX', f, g)
        call('powerOfParameter', h, g)
        expect(plainFp12(f)).toEqual(plainFp12(h))
      }),
      { numRuns: runs(10), examples: [[ONE], [cubeRoot]] },
    )
  })

  it('raises to powers in both lanes', () => {
    const exponents = fc.oneof(fc.constantFrom(0n, 1n, P - 1n), fc.bigInt({ min: 0n, max: P }))
    const length = P.toString(16).length / 2
    fc.assert(
      fc.property(pair, exponents, (a, exponent) => {
        put(x, a)
        const bytes = Buffer.from(exponent.toString(16).padStart(2 * length, '0'), 'hex')
        new Uint8Array(memory.buffer).set(bytes, u)
        call('powerLanes', z, x, u)
        expect(get(z).map(modulo)).toEqual(a.map((v) => modulo(power(modulo(v * INVERSE_R), exponent) * R)))
      }),
      { numRuns: runs(20) },
    )
  })
})
