import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  addBit,
  bitDifference,
  bitIndices,
  copyBitSet,
  countBits,
  createBitSet,
  hasBit,
  isCanonicalBitSet,
} from '../../../src/consensus/bitSet.ts'

const indices = fc.integer({ min: 0, max: 80 }).chain((size) =>
  fc.record({
    size: fc.constant(size),
    a: fc.subarray([...Array(size).keys()]),
    b: fc.subarray([...Array(size).keys()]),
  }),
)

describe('bit sets', () => {
  it('hold what was put in, as a set of numbers does', () => {
    fc.assert(
      fc.property(indices, ({ size, a, b }) => {
        const set = createBitSet(size, a)
        expect(set.bytes.length).toBe(Math.ceil(size / 8))
        expect(bitIndices(set)).toEqual(a)
        expect(countBits(set)).toBe(a.length)
        for (let index = -2; index < size + 20; index++) expect(hasBit(set, index)).toBe(a.includes(index))
        expect(bitDifference(set, createBitSet(size, b))).toEqual(a.filter((index) => !b.includes(index)))
        expect(isCanonicalBitSet(set)).toBe(true)
      }),
    )
  })

  it('treats the places that a shorter set lacks as empty', () => {
    expect(bitDifference(createBitSet(20, [1, 9, 19]), createBitSet(8, [1]))).toEqual([9, 19])
  })

  it('takes no bit outside of the set', () => {
    for (const index of [-1, 9, 15, Number.NaN, 1e9]) {
      expect(() => addBit(createBitSet(9), index)).toThrow(RangeError)
      expect(hasBit({ size: 9, bytes: Uint8Array.of(255, 255) }, index)).toBe(false)
    }
  })

  it('copies', () => {
    const set = createBitSet(9, [3])
    const copy = copyBitSet(set)
    addBit(set, 4)
    expect(bitIndices(copy)).toEqual([3])
  })

  it.each([
    [{ size: 9, bytes: Uint8Array.of(255, 1) }, true],
    [{ size: 9, bytes: Uint8Array.of(255, 2) }, false],
    [{ size: 9, bytes: Uint8Array.of(255) }, false],
    [{ size: 8, bytes: Uint8Array.of(255) }, true],
    [{ size: 8, bytes: Uint8Array.of(255, 0) }, false],
    [{ size: 0, bytes: Uint8Array.of() }, true],
    [{ size: 1, bytes: Uint8Array.of(0x80) }, false],
  ])('%j is canonical: %s', (set, expected) => {
    expect(isCanonicalBitSet(set)).toBe(expected)
  })
})
