import { type Decimal, decimalOf, divide, truncate } from '../../primitives/decimal.ts'

/** As much of a validator as the price of its shares needs. */
export interface SharePrice {
  /** acoin */
  readonly tokens: bigint
  readonly delegatorShares: Decimal
}

/*
 * Arithmetic of x/staking/types/validator.go. A product of a decimal and an integer is exact there too; only quotients round.
 */

/**
 * Returns the worth of shares in acoin, half to even at the 18th decimal.
 * @throws RangeError when there are no shares
 */
export function tokensFromShares({ tokens, delegatorShares }: SharePrice, shares: Decimal): Decimal {
  return divide(shares * tokens, delegatorShares)
}

/**
 * Returns the shares that `amount` acoin buy, truncated; undefined when the validator has no
 * tokens.
 */
export function sharesFromTokens({ tokens, delegatorShares }: SharePrice, amount: bigint): Decimal | undefined {
  return tokens === 0n ? undefined : (delegatorShares * amount) / tokens
}

/** Whether a delegator would get nothing for its coins: all tokens were slashed, but there are shares. */
export function hasInvalidPrice({ tokens, delegatorShares }: SharePrice): boolean {
  return tokens === 0n && delegatorShares > 0n
}

/**
 * Returns the price after `amount` acoin came in, and the shares issued for them. The first
 * delegation sets the price to one.
 */
export function addTokens(price: SharePrice, amount: bigint): SharePrice & { readonly issued: Decimal } {
  const issued = price.delegatorShares === 0n ? decimalOf(amount) : sharesFromTokens(price, amount)
  if (issued === undefined) throw new RangeError('a validator with shares but no tokens cannot issue shares')
  return { tokens: price.tokens + amount, delegatorShares: price.delegatorShares + issued, issued }
}

/**
 * Returns the price after `shares` were returned, and the acoin paid for them. The last shares get
 * the remainders of rounding.
 */
export function removeShares(price: SharePrice, shares: Decimal): SharePrice & { readonly paid: bigint } {
  const delegatorShares = price.delegatorShares - shares
  const paid = delegatorShares === 0n ? price.tokens : truncate(tokensFromShares(price, shares))
  if (delegatorShares < 0n || paid > price.tokens) throw new RangeError('more shares than the validator has')
  return { tokens: price.tokens - paid, delegatorShares, paid }
}
