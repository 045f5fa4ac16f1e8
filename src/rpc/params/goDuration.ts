import { serverError } from '../errors.ts'

const UNITS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
}
const PART = /(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)/y

/**
 * Milliseconds of a duration as Go writes it: `5s`, `1m30s`, `300ms`, `0`.
 * @throws RpcError in Go's words (time.ParseDuration)
 */
export function parseGoDuration(text: string): number {
  const unsigned = text.replace(/^[+-]/, '')
  if (unsigned === '0') return 0
  let total = 0
  PART.lastIndex = 0
  while (PART.lastIndex < unsigned.length) {
    const part = PART.exec(unsigned)
    if (part === null) throw serverError(`time: invalid duration ${JSON.stringify(text)}`)
    total += Number(part[1]) * UNITS[part[2]!]!
  }
  if (unsigned === '') throw serverError(`time: invalid duration ${JSON.stringify(text)}`)
  return text.startsWith('-') ? -total : total
}
