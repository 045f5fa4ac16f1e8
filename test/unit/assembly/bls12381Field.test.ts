import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../../propertyRuns.ts'
import { compileWords } from './compileWords.ts'

const { memory, call } = await compileWords(`
export { add, addNonResidue, addReduced, conjugate, multiply, multiplyLanes, prepare, scale, square, subtract } from './bls12381/field'
export { subtractTwo, sum2, sum3, sumLanes2, timesNonResidue, tripleLess, triplePlus } from './bls12381/field'
export { invert, squareRootLanes } from './bls12381/conversions'
let end: usize = (__heap_base + 15) & ~15
export function room(size: usize): usize { end += size; return end - size }
`)

const P = 0x1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaabn
const LIMBS = 14
const LIMB_BITS = 28n
const LIMB_MASK = (1n << LIMB_BITS) - 1n
const R = 1n << (LIMB_BITS * BigInt(LIMBS))

type Pair = readonly [bigint, bigint]

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

const plus = ([a, b]: Pair, [c, d]: Pair): Pair => [a + c, b + d]
const minus = ([a, b]: Pair, [c, d]: Pair): Pair => [a - c, b - d]
const times = ([a, b]: Pair, [c, d]: Pair): Pair => [a * c - b * d, a * d + b * c]
const byLane = ([a, b]: Pair, [c, d]: Pair): Pair => [a * c, b * d]
const scaled = ([a, b]: Pair, k: bigint): Pair => [a * k, b * k]
const XI: Pair = [1n, 1n]

const PAIR_BYTES = LIMBS * 8
const places = Array.from({ length: 6 }, () => call('room', 2 * PAIR_BYTES) >>> 0)
const [x, y, u, v, sum, z] = places as [number, number, number, number, number, number]
const operands = [call('room', 224) >>> 0, call('room', 224) >>> 0, call('room', 224) >>> 0] as const

function put(address: number, pair: Pair): void {
  const view = new DataView(memory.buffer, address, PAIR_BYTES)
  for (const [lane, value] of pair.entries()) {
    for (let i = 0; i < LIMBS; i++) {
      view.setUint32(8 * i + 4 * lane, Number((value >> (LIMB_BITS * BigInt(i))) & LIMB_MASK), true)
    }
  }
}

/** The pair at an address, reduced: limbs of 28 bits and values below twice the modulus. */
function get(address: number): Pair {
  const view = new DataView(memory.buffer, address, PAIR_BYTES)
  const values = [0, 1].map((lane) => {
    let value = 0n
    for (let i = LIMBS - 1; i >= 0; i--) {
      const limb = BigInt(view.getUint32(8 * i + 4 * lane, true))
      if (limb > LIMB_MASK) throw new Error(`limb ${i} has more than 28 bits`)
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
  fc.constantFrom(0n, 1n, P - 1n, P, P + 1n, 2n * P - 1n, LIMB_MASK, (1n << 364n) - 1n),
  fc.bigInt({ min: 0n, max: 2n * P - 1n }),
)
const pair = fc.tuple(element, element)

describe('the field of BLS12-381 in pairs', () => {
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

  it('inverts, and finds roots of squares in both lanes', () => {
    fc.assert(
      fc.property(pair, (a) => {
        put(x, a)
        call('invert', z, x)
        const inverse = get(z)
        const isZero = a.every((value) => modulo(value) === 0n)
        // in Montgomery's form 1 / x is R² / x
        expect(times(a, inverse).map(modulo)).toEqual([isZero ? 0n : modulo(R * R), 0n])
        call('multiplyLanes', u, x, x)
        const squares = get(u)
        call('squareRootLanes', z, u)
        const roots = get(z)
        expect(byLane(roots, roots).map((value) => modulo(value * INVERSE_R))).toEqual(squares.map(modulo))
      }),
      { numRuns: runs(20) },
    )
  })
})
