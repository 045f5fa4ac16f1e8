import { InvalidArgument } from '../errors.ts'
import type { ParamReader } from '../method.ts'
import { jsonKind, TypeMismatch } from './mismatch.ts'
import { listReader } from './object.ts'

/** A count as clients write it: QUANTITY, a decimal string or a JSON number (geth: math.HexOrDecimal64). */
export const readBlockCount: ParamReader<number> = (json) => {
  const text = typeof json === 'string' ? json : typeof json === 'number' ? String(json) : undefined
  if (text === undefined) throw new TypeMismatch(jsonKind(json), 'math.HexOrDecimal64')
  if (text === '') return 0
  const value = /^(0x[0-9a-f]+|[0-9]+)$/i.test(text) ? BigInt(text) : undefined
  if (value === undefined || value >= 1n << 64n) {
    throw new InvalidArgument(`invalid hex or decimal integer ${JSON.stringify(text.slice(0, 100))}`)
  }
  return Number(value)
}

const readPercentile: ParamReader<number> = (json) => {
  if (typeof json !== 'number') throw new TypeMismatch(jsonKind(json), 'float64')
  return json
}

/** Reward percentiles; their order and range are the method's to check. */
export const readPercentiles: ParamReader<readonly number[]> = listReader(readPercentile, '[]float64')
