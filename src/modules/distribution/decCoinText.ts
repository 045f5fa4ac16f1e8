import { type Decimal, formatDecimal } from '../../primitives/decimal.ts'
import { BASE_DENOM } from '../bank/supply.ts'

/** As sdk.DecCoins.String: `1.500000000000000000acoin`, nothing for 0. */
export function decCoinText(amount: Decimal): string {
  return amount === 0n ? '' : `${formatDecimal(amount)}${BASE_DENOM}`
}
