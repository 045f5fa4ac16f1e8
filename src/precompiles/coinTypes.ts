import { decCoinsOf, type Coin as SdkCoin } from '../modules/coin.ts'
import { DECIMAL_PLACES, type Decimal, truncate } from '../primitives/decimal.ts'
import type { AbiValue } from './abi/type.ts'
import { array, string, tuple, uint8, uint256 } from './abi/types.ts'

/** Structs that the interfaces share: contracts/Types.sol. */
export const Coin = tuple({ denom: string, amount: uint256 })
export const Coins = array(Coin)
/** An amount without the places after the point; `precision` says how many there would be. */
export const DecCoin = tuple({ denom: string, amount: uint256, precision: uint8 })
export const DecCoins = array(DecCoin)
/** value / 10^precision */
export const Dec = tuple({ value: uint256, precision: uint8 })

const PRECISION = BigInt(DECIMAL_PLACES)

export function decTuple(value: Decimal): AbiValue<typeof Dec> {
  return { value, precision: PRECISION }
}

/** An amount of acoin with parts below 1, which are cut off; no coins for 0. */
export function decCoinTuples(acoin: Decimal): AbiValue<typeof DecCoins> {
  return decCoinsOf(acoin).map(({ denom, amount }) => ({ denom, amount: truncate(amount), precision: PRECISION }))
}

/** Coins in order of denominations, as the SDK wants them in messages. */
export function sortedCoins(coins: AbiValue<typeof Coins>): readonly SdkCoin[] {
  return [...coins].sort((a, b) => (a.denom === b.denom ? 0 : a.denom < b.denom ? -1 : 1))
}
