import fc from 'fast-check'
import { expect, it } from 'vitest'
import { packIntegers, periodKey, unpackIntegers } from '../../../../src/modules/distribution/keys.ts'
import { compareBytes } from '../../../../src/primitives/bytes.ts'

it('gives back what was packed', () => {
  fc.assert(
    fc.property(fc.array(fc.bigInt(0n, 2n ** 400n)), (values) => {
      expect(unpackIntegers(packIntegers(...values))).toEqual(values)
    }),
  )
})

it.each([
  [[], ''],
  [[0n], '00'],
  [[0n, 0n], '0000'],
  [[1n, 255n, 256n], '0101' + '01ff' + '020100'],
])('packs numbers (%#)', (values, expected) => {
  expect(Buffer.from(packIntegers(...values)).toString('hex')).toBe(expected)
})

it('refuses negative numbers', () => {
  expect(() => packIntegers(-1n)).toThrow()
})

it('sorts keys by period', () => {
  const key = (period: bigint) => periodKey(Uint8Array.of(1, 2), new Uint8Array(20), period)
  fc.assert(
    fc.property(fc.bigInt(0n, 2n ** 64n - 1n), fc.bigInt(0n, 2n ** 64n - 1n), (a, b) => {
      expect(Math.sign(compareBytes(key(a), key(b)))).toBe(a < b ? -1 : a > b ? 1 : 0)
    }),
  )
})
