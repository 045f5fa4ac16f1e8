import { decimal, defineMessage, integer, string, type ValueOf } from '../primitives/protoSchema.ts'
import { BASE_DENOM } from './bank/supply.ts'

/** cosmos.base.v1beta1.Coin */
export const Coin = defineMessage('cosmos.base.v1beta1.Coin', { denom: string(1), amount: integer(2) })
export type Coin = ValueOf<typeof Coin>

/** cosmos.base.v1beta1.DecCoin */
export const DecCoin = defineMessage('cosmos.base.v1beta1.DecCoin', { denom: string(1), amount: decimal(2) })
export type DecCoin = ValueOf<typeof DecCoin>

/** Coins of the base denomination, none for 0. */
export function coinsOf(amountAcoin: bigint): Coin[] {
  return amountAcoin === 0n ? [] : [{ denom: BASE_DENOM, amount: amountAcoin }]
}

export function decCoinsOf(amount: bigint): DecCoin[] {
  return amount === 0n ? [] : [{ denom: BASE_DENOM, amount }]
}

const DENOM = /^[a-zA-Z][a-zA-Z0-9/:._-]{2,127}$/

/**
 * Whether coins are as sdk.Coins.Validate wants them: valid denominations in ascending order without repetition, positive
 * amounts. No coins are valid.
 */
export function areValidCoins(coins: readonly Coin[]): boolean {
  return coins.every(
    ({ denom, amount }, index) => DENOM.test(denom) && amount > 0n && (index === 0 || coins[index - 1]!.denom < denom),
  )
}

/** As sdk.Coins.String: `10acoin,5other`. */
export function coinsText(coins: readonly Coin[]): string {
  return coins.map(({ denom, amount }) => `${amount}${denom}`).join(',')
}

/** Amount of the base denomination; undefined when there are coins of another, which nobody has. */
export function acoinOf(coins: readonly Coin[]): bigint | undefined {
  if (coins.some(({ denom }) => denom !== BASE_DENOM)) return undefined
  return coins.reduce((sum, { amount }) => sum + amount, 0n)
}
