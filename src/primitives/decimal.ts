/**
 * The Cosmos SDK's LegacyDec (cosmossdk.io/math): a number with 18 decimals, stored as a bigint of
 * 10^-18 units. Add, subtract and compare with the operators of bigint.
 */
export type Decimal = bigint

export const DECIMAL_PLACES = 18
/** 1 */
export const ONE: Decimal = 10n ** 18n

/** Returns a whole number as a decimal. */
export function decimalOf(integer: bigint): Decimal {
  return integer * ONE
}

/** Returns the product, rounded half to even (LegacyDec.Mul). */
export function multiply(a: Decimal, b: Decimal): Decimal {
  return divideRounded(a * b, ONE)
}

/** Returns the product, cut off after the 18th decimal (LegacyDec.MulTruncate). */
export function multiplyTruncated(a: Decimal, b: Decimal): Decimal {
  return (a * b) / ONE
}

/**
 * Returns the quotient, rounded half to even (LegacyDec.Quo).
 * @throws RangeError (a bug) when `b` is zero, as all quotients do
 */
export function divide(a: Decimal, b: Decimal): Decimal {
  // The SDK computes twice as many decimals before it rounds.
  return divideRounded((a * ONE * ONE) / b, ONE)
}

/** Returns the quotient, rounded away from zero (LegacyDec.QuoRoundUp). */
export function divideRoundedUp(a: Decimal, b: Decimal): Decimal {
  return divideUp(a * ONE, b)
}

/** Returns the whole part (LegacyDec.TruncateInt). */
export function truncate(value: Decimal): bigint {
  return value / ONE
}

/** Returns the nearest whole number, half to even (LegacyDec.RoundInt). */
export function round(value: Decimal): bigint {
  return divideRounded(value, ONE)
}

/** Returns the next whole number away from zero (LegacyDec.Ceil for positive values). */
export function roundUp(value: Decimal): bigint {
  return divideUp(value, ONE)
}

/** Formats with all 18 decimals, like `0.050000000000000000`. */
export function formatDecimal(value: Decimal): string {
  const digits = (value < 0n ? -value : value).toString().padStart(DECIMAL_PLACES + 1, '0')
  const point = digits.length - DECIMAL_PLACES
  return `${value < 0n ? '-' : ''}${digits.slice(0, point)}.${digits.slice(point)}`
}

/** Digits before the point that a number may have: the SDK allows 2^256 and 18 decimals. */
const MAX_DIGITS = 78

/** Reads `1`, `-0.5` or `0.050000000000000000`; undefined for anything else, and for more than 18 decimals. */
export function parseDecimal(text: string): Decimal | undefined {
  const match = /^(-?)(\d+)(?:\.(\d{1,18}))?$/.exec(text)
  if (match === null) return undefined
  const [, sign, whole = '', fraction = ''] = match
  if (whole.length > MAX_DIGITS) return undefined
  const units = BigInt(whole + fraction.padEnd(DECIMAL_PLACES, '0'))
  return sign === '-' ? -units : units
}

function divideRounded(a: bigint, b: bigint): bigint {
  const isNegative = a < 0n !== b < 0n
  const dividend = a < 0n ? -a : a
  const divisor = b < 0n ? -b : b
  let quotient = dividend / divisor
  const twice = (dividend % divisor) * 2n
  if (twice > divisor || (twice === divisor && quotient % 2n === 1n)) quotient += 1n
  return isNegative ? -quotient : quotient
}

function divideUp(a: bigint, b: bigint): bigint {
  const quotient = a / b
  if (a % b === 0n) return quotient
  return a < 0n === b < 0n ? quotient + 1n : quotient - 1n
}
