import { Decimal as Theirs } from '@cosmjs/math'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  decimalOf,
  divide,
  divideRoundedUp,
  formatDecimal,
  multiply,
  multiplyTruncated,
  ONE,
  parseDecimal,
  round,
  roundUp,
  truncate,
} from '../../../src/primitives/decimal.ts'

const dec = (text: string) => parseDecimal(text)!

describe('decimals', () => {
  it('round products half to even, like LegacyDec', () => {
    const unit = 1n
    // 0.5 units go to the even neighbour
    expect(multiply(unit, dec('0.5'))).toBe(0n)
    expect(multiply(3n * unit, dec('0.5'))).toBe(2n)
    expect(multiply(-3n * unit, dec('0.5'))).toBe(-2n)
    expect(multiply(unit, dec('0.51'))).toBe(1n)
    expect(multiplyTruncated(unit, dec('0.99'))).toBe(0n)
    expect(multiply(dec('0.05'), decimalOf(100n))).toBe(decimalOf(5n))
  })

  it('divide with 18 decimals', () => {
    expect(formatDecimal(divide(ONE, decimalOf(3n)))).toBe('0.333333333333333333')
    expect(formatDecimal(divide(decimalOf(2n), decimalOf(3n)))).toBe('0.666666666666666667')
    expect(formatDecimal(divideRoundedUp(ONE, decimalOf(3n)))).toBe('0.333333333333333334')
    expect(() => divide(ONE, 0n)).toThrow(RangeError)
  })

  it('become whole numbers', () => {
    expect([truncate(dec('2.999')), round(dec('2.5')), round(dec('3.5')), roundUp(dec('2.0000000001'))]).toEqual([
      2n,
      2n,
      4n,
      3n,
    ])
    expect(roundUp(decimalOf(7n))).toBe(7n)
  })

  it('are written and read as another implementation does', () => {
    fc.assert(
      fc.property(fc.bigInt(0n, 10n ** 60n), (units) => {
        const text = formatDecimal(units)
        expect(parseDecimal(text)).toBe(units)
        expect(Theirs.fromUserInput(text, 18).atomics).toBe(units.toString())
      }),
    )
    expect(formatDecimal(-5n * 10n ** 17n)).toBe('-0.500000000000000000')
    expect(parseDecimal('-0.5')).toBe(-5n * 10n ** 17n)
    for (const wrong of ['', '.', '1.', '.5', '1e3', '+1', '0x1', ' 1', '1.1234567890123456789']) {
      expect(parseDecimal(wrong)).toBeUndefined()
    }
  })
})
