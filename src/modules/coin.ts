import { type Decimal, formatDecimal } from '../primitives/decimal.ts'
import { decimal, defineMessage, integer, string, type ValueOf } from '../primitives/protoSchema.ts'

/** The base denomination; 10^18 acoin are one COIN. */
export const BASE_DENOM = 'acoin'

/** cosmos.base.v1beta1.Coin */
export const Coin = defineMessage('cosmos.base.v1beta1.Coin', { denom: string(1), amount: integer(2) })
export type Coin = ValueOf<typeof Coin>

/** cosmos.base.v1beta1.DecCoin */
export const DecCoin = defineMessage('cosmos.base.v1beta1.DecCoin', { denom: string(1), amount: decimal(2) })
export type DecCoin = ValueOf<typeof DecCoin>

/** Returns the coins of the base denomination, none for 0. */
export function coinsOf(amountAcoin: bigint): Coin[] {
  return amountAcoin === 0n ? [] : [{ denom: BASE_DENOM, amount: amountAcoin }]
}

export function decCoinsOf(amount: Decimal): DecCoin[] {
  return amount === 0n ? [] : [{ denom: BASE_DENOM, amount }]
}

const DENOM = /^[a-zA-Z][a-zA-Z0-9/:._-]{2,127}$/

/** Whether this is a valid name of a denomination (sdk.ValidateDenom). */
export function isValidDenom(denom: string): boolean {
  return DENOM.test(denom)
}

/**
 * Whether coins are as sdk.Coins.Validate wants them: valid denominations in ascending order without repetition, positive
 * amounts. No coins are valid.
 */
export function areValidCoins(coins: readonly Coin[]): boolean {
  return coins.every(
    ({ denom, amount }, index) =>
      isValidDenom(denom) && amount > 0n && (index === 0 || coins[index - 1]!.denom < denom),
  )
}

/** Formats coins as sdk.Coins.String: `10acoin,5other`. */
export function coinsText(coins: readonly Coin[]): string {
  return coins.map(({ denom, amount }) => `${amount}${denom}`).join(',')
}

/** Formats an amount as sdk.Coin.String of the base denomination: `10acoin`, also `0acoin`. */
export function coinText(amountAcoin: bigint): string {
  return `${amountAcoin}${BASE_DENOM}`
}

/**
 * Formats an amount as sdk.DecCoins.String of the base denomination: `1.500000000000000000acoin`,
 * nothing for 0.
 */
export function decCoinsText(amount: Decimal): string {
  return amount === 0n ? '' : `${formatDecimal(amount)}${BASE_DENOM}`
}

/**
 * Returns the amount of the base denomination; undefined when there are others, of which no coins
 * exist.
 */
export function acoinOf(coins: readonly Coin[]): bigint | undefined {
  if (coins.some(({ denom }) => denom !== BASE_DENOM)) return undefined
  return coins.reduce((sum, { amount }) => sum + amount, 0n)
}

/** Reads `10acoin,5other` in any order, '' as no coins; undefined for anything else (sdk.ParseCoinsNormalized). */
export function parseCoins(text: string): Coin[] | undefined {
  if (text.trim() === '') return []
  const coins: Coin[] = []
  for (const part of text.split(',')) {
    const match = /^(\d{1,78})\s*([a-zA-Z].*)$/.exec(part.trim())
    if (match === null) return undefined
    coins.push({ denom: match[2]!, amount: BigInt(match[1]!) })
  }
  coins.sort((a, b) => (a.denom < b.denom ? -1 : 1))
  return areValidCoins(coins) ? coins : undefined
}

/**
 * Returns `coins` without `spent` and without amounts of 0; undefined when there are not enough
 * (sdk.Coins.SafeSub).
 */
export function subtractCoins(coins: readonly Coin[], spent: readonly Coin[]): Coin[] | undefined {
  const left = new Map(coins.map(({ denom, amount }) => [denom, amount]))
  for (const { denom, amount } of spent) {
    const rest = (left.get(denom) ?? 0n) - amount
    if (rest < 0n) return undefined
    left.set(denom, rest)
  }
  return [...left].filter(([, amount]) => amount > 0n).map(([denom, amount]) => ({ denom, amount }))
}
