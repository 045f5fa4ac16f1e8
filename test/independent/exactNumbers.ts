/** 1 as a decimal: decimals are whole numbers of 10^-18. */
export const UNIT = 10n ** 18n

/** `floor` of a quotient of numbers that are not negative, after so many decimal places, in units of the last place. */
export function floorAt(places: bigint, numerator: bigint, denominator: bigint): bigint {
  return (numerator * 10n ** places) / denominator
}

/** As `floorAt`, but rounded up. */
export function ceilAt(places: bigint, numerator: bigint, denominator: bigint): bigint {
  return (numerator * 10n ** places + denominator - 1n) / denominator
}

/** The nearest whole number, of two the even one. */
export function half(numerator: bigint, denominator: bigint): bigint {
  const below = numerator / denominator
  const rest = 2n * (numerator - below * denominator)
  if (rest < denominator) return below
  if (rest > denominator) return below + 1n
  return below % 2n === 0n ? below : below + 1n
}

/** `half18` of a quotient that is first cut off after the 36th place. */
export function half18(numerator: bigint, denominator: bigint): bigint {
  return half(floorAt(36n, numerator, denominator), UNIT)
}

/** `half18` of the product of two decimals. */
export function half18Product(a: bigint, b: bigint): bigint {
  return half(a * b, UNIT)
}

export function minimum(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
