/** Times and durations as text, computed in whole nanoseconds. */

const NANOS = 1_000_000_000n
const NANOS_PER_MS = 1_000_000n

/**
 * Formats as RFC 3339 with as many decimals as needed, e.g. `2026-01-01T00:00:00.4Z`.
 * @param nanos since the epoch
 * @param group the number of decimals is a multiple of this: 3 in protobuf's JSON,
 * `2026-01-01T00:00:00.400Z`
 */
export function formatTimestamp(nanos: bigint, group = 1): string {
  const fraction = ((nanos % NANOS) + NANOS) % NANOS
  const seconds = (nanos - fraction) / NANOS
  const whole = new Date(Number(seconds) * 1000).toISOString().slice(0, 19)
  const year = whole.startsWith('-') || whole.startsWith('+') ? undefined : whole
  if (year === undefined) return '0001-01-01T00:00:00Z'
  return `${whole}${decimalsOf(fraction, group)}Z`
}

/** Returns `.` and the decimals of the nanoseconds; nothing for zero nanoseconds. */
function decimalsOf(fraction: bigint, group: number): string {
  const digits = fraction.toString().padStart(9, '0').replace(/0+$/, '')
  return digits === '' ? '' : `.${digits.padEnd(Math.ceil(digits.length / group) * group, '0')}`
}

const TIMESTAMP = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(?:Z|([+-])(\d\d):(\d\d))$/

/** Reads RFC 3339 as nanoseconds since the epoch; undefined for anything else, also for days and hours that do not exist. */
export function parseTimestamp(text: string): bigint | undefined {
  const match = TIMESTAMP.exec(text)
  if (match === null) return undefined
  const [, whole, fraction = '', sign, hours = '0', minutes = '0'] = match
  const ms = Date.parse(`${whole}Z`)
  // JavaScript reads February 30th as a day of March, and 24:00 as the next day.
  if (Number.isNaN(ms) || new Date(ms).toISOString().slice(0, 19) !== whole) return undefined
  if (Number(hours) > 23 || Number(minutes) > 59) return undefined
  const offsetMs = (Number(hours) * 60 + Number(minutes)) * 60_000 * (sign === '-' ? -1 : 1)
  return BigInt(ms - offsetMs) * NANOS_PER_MS + BigInt(fraction.padEnd(9, '0'))
}

/** Seconds with groups of three decimals, as protobuf's JSON has them: `1.500s`. */
export function formatDuration(nanos: bigint): string {
  const size = nanos < 0n ? -nanos : nanos
  return `${nanos < 0n ? '-' : ''}${size / NANOS}${decimalsOf(size % NANOS, 3)}s`
}

/** Units of Go's durations in nanoseconds. There are two characters for micro, which look the same. */
const UNITS: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  '\u00b5s': 1_000n,
  '\u03bcs': 1_000n,
  ms: NANOS_PER_MS,
  s: NANOS,
  m: 60n * NANOS,
  h: 3_600n * NANOS,
}
const UNIT_NAMES = Object.keys(UNITS).join('|')
const DURATION = new RegExp(`^[+-]?(?:0|(?:(?:\\d+(?:\\.\\d*)?|\\.\\d+)(?:${UNIT_NAMES}))+)$`)
const DURATION_PART = new RegExp(`(\\d*)(?:\\.(\\d*))?(${UNIT_NAMES})`, 'g')
/** Longer texts are refused. */
const MAX_DURATION_TEXT = 64

/**
 * Reads durations like Go's time.ParseDuration (`600s`, `1.5h`, `48h0m0s`, `0`) as nanoseconds, with fractions cut off; undefined for
 * anything else.
 */
export function parseDuration(text: string): bigint | undefined {
  if (text.length > MAX_DURATION_TEXT || !DURATION.test(text)) return undefined
  let nanos = 0n
  for (const [, whole = '', fraction = '', unit] of text.matchAll(DURATION_PART)) {
    nanos += (BigInt(whole + fraction) * UNITS[unit!]!) / 10n ** BigInt(fraction.length)
  }
  return text.startsWith('-') ? -nanos : nanos
}
