import { DECIMAL_PLACES, type Decimal, truncate } from '../../primitives/decimal.ts'
import { decCoinsOf, type Coin as SdkCoin } from '../coin.ts'
import { type AbiValue, array, bool, bytes, string, tuple, uint8, uint64, uint256 } from './abi/types.ts'

/** Structs that the Solidity interfaces share (contracts/Types.sol), and how values of the native layer become them. */
export const Coin = tuple({ denom: string, amount: uint256 })
export const Coins = array(Coin)
/** An amount without the decimal places; `precision` is the number of places that it would have. */
const DecCoin = tuple({ denom: string, amount: uint256, precision: uint8 })
export const DecCoins = array(DecCoin)
/** value / 10^precision */
export const Dec = tuple({ value: uint256, precision: uint8 })

/** Which part of a list to return, and where to continue, as cosmos.base.query.v1beta1 has them. */
export const PageRequest = tuple({ key: bytes, offset: uint64, limit: uint64, countTotal: bool, reverse: bool })
export const PageResponse = tuple({ nextKey: bytes, total: uint64 })

const PRECISION = BigInt(DECIMAL_PLACES)

export function decTuple(value: Decimal): AbiValue<typeof Dec> {
  return { value, precision: PRECISION }
}

/** Returns an amount of acoin, without the part below 1; no coins for 0. */
export function decCoinTuples(acoin: Decimal): AbiValue<typeof DecCoins> {
  return decCoinsOf(acoin).map(({ denom, amount }) => ({ denom, amount: truncate(amount), precision: PRECISION }))
}

/** Returns the coins in order of denominations, as the SDK wants them in messages. */
export function sortedCoins(coins: AbiValue<typeof Coins>): readonly SdkCoin[] {
  return [...coins].sort((a, b) => (a.denom === b.denom ? 0 : a.denom < b.denom ? -1 : 1))
}
