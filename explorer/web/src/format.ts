/** Decimals of the coin: 10^18 acoin are one COIN. */
export const COIN_DECIMALS = 18

/**
 * Base units as a decimal number of whole units, with commas between thousands.
 * @param digits how many after the point are shown at most; a smaller amount shows its first two digits
 */
export function formatUnits(amount: string, decimals = COIN_DECIMALS, digits = 6): string {
  const padded = amount.padStart(decimals + 1, '0')
  const whole = padded.slice(0, padded.length - decimals)
  const fraction = padded.slice(padded.length - decimals)
  const significant = whole === '0' ? Math.max(digits, fraction.search(/[1-9]/) + 2) : digits
  const shown = fraction.slice(0, significant).replace(/0+$/, '')
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ',')
  return shown === '' ? grouped : `${grouped}.${shown}`
}

/** A decimal number that a person has typed, in base units; undefined: it is not a number, or has more decimals than the coin. */
export function parseUnits(text: string, decimals = COIN_DECIMALS): bigint | undefined {
  // No commas: they are thousands to some people and a point to others.
  const match = /^([0-9]{1,30})(?:\.([0-9]*))?$/.exec(text.trim())
  const [, whole, fraction = ''] = match ?? []
  if (whole === undefined || fraction.length > decimals) return undefined
  return BigInt(whole + fraction.padEnd(decimals, '0'))
}

export function formatNumber(value: number): string {
  return value.toLocaleString('en')
}

/** A decimal from 0 to 1 in percent, exactly: `0.055` → `5.5 %`. */
export function formatShare(text: string): string {
  const [whole = '0', fraction = ''] = text.split('.')
  const digits = fraction.padEnd(2, '0')
  const percent = `${whole}${digits.slice(0, 2)}`.replace(/^0+(?=\d)/, '')
  const rest = digits.slice(2).replace(/0+$/, '')
  return `${percent}${rest === '' ? '' : `.${rest}`} %`
}

/** `0x1234…abcd` */
export function shorten(text: string, head = 8, tail = 6): string {
  return text.length <= head + tail + 1 ? text : `${text.slice(0, head)}…${text.slice(-tail)}`
}

const UNITS: readonly (readonly [string, number])[] = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
  ['s', 1],
]

/** How long ago: `3 s ago`, `2 h 5 m ago`. */
export function formatAge(time: string, nowMs: number): string {
  let seconds = Math.max(0, Math.round((nowMs - Date.parse(time)) / 1000))
  const parts: string[] = []
  for (const [unit, size] of UNITS) {
    const count = Math.floor(seconds / size)
    if (count > 0 && parts.length < 2) parts.push(`${count} ${unit}`)
    seconds -= count * size
  }
  return parts.length === 0 ? 'now' : `${parts.join(' ')} ago`
}

export function formatTime(time: string): string {
  return new Date(time).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' })
}

/** `/cosmos.bank.v1beta1.MsgSend` → `Send` */
export function methodName(kind: 'evm' | 'native', method: string | null, isCreation: boolean): string {
  if (kind === 'native') return method?.split('.').at(-1)?.replace(/^Msg/, '') ?? 'Native'
  if (isCreation) return 'Create contract'
  return method ?? 'Transfer'
}

/** Options of a vote, in the order in which they are shown. */
export const OPTION_NAMES = { yes: 'Yes', no: 'No', noWithVeto: 'No with veto', abstain: 'Abstain' } as const
export type VoteOption = keyof typeof OPTION_NAMES
