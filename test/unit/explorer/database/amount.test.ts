import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { amountToBytes, bytesToAmount } from '../../../../explorer/database/amount.ts'
import {
  beginPosition,
  endPosition,
  heightOf,
  transactionIndexOf,
  transactionPosition,
} from '../../../../explorer/database/position.ts'

const amounts = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n })

describe('amounts in the database', () => {
  it('come back as they were, and their bytes compare as the numbers do', () => {
    fc.assert(
      fc.property(amounts, amounts, (a, b) => {
        const [left, right] = [amountToBytes(a), amountToBytes(b)]
        expect(bytesToAmount(left)).toBe(a)
        expect(Math.sign(Buffer.compare(left, right))).toBe(a < b ? -1 : a > b ? 1 : 0)
      }),
    )
  })

  it('have 256 bits at most and no sign', () => {
    expect(bytesToAmount(amountToBytes(2n ** 256n - 1n))).toBe(2n ** 256n - 1n)
    expect(() => amountToBytes(2n ** 256n)).toThrow(RangeError)
    expect(() => amountToBytes(-1n)).toThrow(RangeError)
  })
})

describe('positions', () => {
  it('sort as things happen, and say which block and transaction they are of', () => {
    const height = 2 ** 33 - 1
    const places = [
      endPosition(height - 1),
      beginPosition(height),
      transactionPosition(height, 0),
      transactionPosition(height, 2 ** 20 - 3),
      endPosition(height),
    ]
    expect(places).toEqual(places.toSorted((a, b) => a - b))
    expect(new Set(places).size).toBe(places.length)
    expect(places.every(Number.isSafeInteger)).toBe(true)
    expect(places.map(heightOf)).toEqual([height - 1, height, height, height, height])
    expect(places.map(transactionIndexOf)).toEqual([undefined, undefined, 0, 2 ** 20 - 3, undefined])
  })
})
