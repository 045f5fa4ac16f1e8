import { BASE_DENOM, COIN_DECIMALS, DISPLAY_DENOM } from '../../chain/genesisConstants.ts'
import { ConfigError } from '../../config/configError.ts'

/**
 * Acoin in an amount with its unit: `1.5COIN`, `250acoin`.
 * @throws ConfigError for anything else; a number without a unit could mean both
 */
export function parseAmount(text: string): bigint {
  const match = /^(\d{1,60})(?:\.(\d{1,18}))?\s?([a-zA-Z]+)$/.exec(text)
  const [, whole = '', fraction = '', unit = ''] = match ?? []
  if (match !== null && unit.toUpperCase() === DISPLAY_DENOM) {
    return BigInt(whole + fraction.padEnd(COIN_DECIMALS, '0'))
  }
  if (match !== null && unit === BASE_DENOM && fraction === '') return BigInt(whole)
  throw new ConfigError(
    `${text} is not an amount: expected a number with its unit, like 1.5${DISPLAY_DENOM} or 250${BASE_DENOM}`,
  )
}

/** With the unit in which a person reads it best: `1.5 COIN`. */
export function formatAmount(acoin: bigint): string {
  const digits = acoin.toString().padStart(COIN_DECIMALS + 1, '0')
  const fraction = digits.slice(-COIN_DECIMALS).replace(/0+$/, '')
  return `${digits.slice(0, -COIN_DECIMALS)}${fraction === '' ? '' : `.${fraction}`} ${DISPLAY_DENOM}`
}

/** cosmos.base.v1beta1.Coin in JSON. */
export function coinJson(acoin: bigint): { readonly denom: string; readonly amount: string } {
  return { denom: BASE_DENOM, amount: acoin.toString() }
}
