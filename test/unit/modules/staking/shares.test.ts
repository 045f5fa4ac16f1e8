import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  addTokens,
  hasInvalidPrice,
  removeShares,
  sharesFromTokens,
  tokensFromShares,
} from '../../../../src/modules/staking/shares.ts'
import { decimalOf, ONE } from '../../../../src/primitives/decimal.ts'

const price = (tokens: bigint, delegatorShares: bigint) => ({ tokens, delegatorShares })
/** 2 acoin for 3 shares */
const TWO_THIRDS = price(2n, decimalOf(3n))

describe('the price of shares', () => {
  it('rounds tokens at the 18th decimal', () => {
    expect(tokensFromShares(TWO_THIRDS, ONE)).toBe(666_666_666_666_666_667n)
    expect(tokensFromShares(TWO_THIRDS, decimalOf(3n))).toBe(decimalOf(2n))
  })

  it('rounds a tie at the 18th decimal to even', () => {
    // 1 unit of a share at half an acoin a share is half of the smallest decimal.
    expect(tokensFromShares(price(1n, decimalOf(2n)), 1n)).toBe(0n)
    expect(tokensFromShares(price(1n, decimalOf(2n)), 3n)).toBe(2n)
  })

  it.each([
    ['all', price(95n, decimalOf(100n)), 95n, decimalOf(100n)],
    // 100 / 95 = 1.0526…
    ['a part, truncated', price(95n, decimalOf(100n)), 1n, 1_052_631_578_947_368_421n],
    ['none where all was slashed', price(0n, decimalOf(100n)), 1n, undefined],
  ])('gives shares for tokens: %s', (_, of, amount, expected) => {
    expect(sharesFromTokens(of, amount)).toBe(expected)
  })

  it('is one for the first delegation, also after rounding left tokens behind', () => {
    expect(addTokens(price(0n, 0n), 7n)).toEqual({ tokens: 7n, delegatorShares: decimalOf(7n), issued: decimalOf(7n) })
  })

  it('stays after a slash: who comes later gets more shares for as many tokens', () => {
    expect(addTokens(price(95n, decimalOf(100n)), 95n)).toEqual({
      tokens: 190n,
      delegatorShares: decimalOf(200n),
      issued: decimalOf(100n),
    })
  })

  it.each([
    [
      'the fraction stays',
      price(95n, decimalOf(100n)),
      decimalOf(50n),
      { tokens: 48n, delegatorShares: decimalOf(50n), paid: 47n },
    ],
    [
      'the last shares get what rounding left',
      price(48n, decimalOf(50n)),
      decimalOf(50n),
      { tokens: 0n, delegatorShares: 0n, paid: 48n },
    ],
    [
      'less than an acoin is nothing',
      price(48n, decimalOf(50n)),
      ONE,
      { tokens: 48n, delegatorShares: decimalOf(49n), paid: 0n },
    ],
  ])('pays whole acoin for shares: %s', (_, of, shares, expected) => {
    expect(removeShares(of, shares)).toEqual(expected)
  })

  it('is refused for more shares than there are', () => {
    expect(() => removeShares(price(5n, decimalOf(5n)), decimalOf(5n) + 1n)).toThrow(RangeError)
  })

  it.each([
    ['shares without tokens', price(0n, ONE), true],
    ['shares', price(1n, ONE), false],
    ['neither', price(0n, 0n), false],
  ])('is invalid for shares without tokens: %s', (_, of, expected) => {
    expect(hasInvalidPrice(of)).toBe(expected)
    if (expected) expect(() => addTokens(of, 1n)).toThrow(RangeError)
  })

  it('never pays more than was put in, whatever the price is', () => {
    const amount = fc.bigInt(1n, 10n ** 27n)
    fc.assert(
      fc.property(amount, amount, amount, (tokens, shares, added) => {
        const before = price(tokens, decimalOf(shares))
        const after = addTokens(before, added)
        const { paid, ...left } = removeShares(after, after.issued)
        expect(paid).toBeLessThanOrEqual(added)
        // and whoever stays has not lost
        expect(left.tokens * before.delegatorShares >= before.tokens * left.delegatorShares).toBe(true)
      }),
    )
  })
})
