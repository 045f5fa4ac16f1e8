import { type Address, BECH32_OPERATOR, toBech32 } from '../../primitives/address.ts'
import { BASE_DENOM } from '../coin.ts'

/** How attributes of staking's events show values (x/staking/types/events.go). */

export function coinText(amount: bigint): string {
  return `${amount}${BASE_DENOM}`
}

export function operatorText(operator: Address): string {
  return toBech32(operator, BECH32_OPERATOR)
}

/** Go's time.RFC3339: no fraction of a second. */
export function timeText(timeMs: number): string {
  const text = new Date(timeMs).toISOString()
  return `${text.slice(0, 19)}Z`
}
