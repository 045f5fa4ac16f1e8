import { isDeepStrictEqual } from 'node:util'
import type { Reply } from './exchanges.ts'

/**
 * Compares a reply with the expected one by hive's rules (simulators/ethereum/rpc-compat): the texts of errors are free,
 * everything else must be equal, with no key more or less. Of a result whose values are free, the shape is compared: kinds
 * of values, keys, and the form of hex strings. Gives what is wrong, or undefined.
 */
export function gradeReply(actual: Reply, expected: Reply, specOnly: boolean): string | undefined {
  if ('error' in expected || 'error' in actual) {
    const same = isDeepStrictEqual(withoutMessages(actual), withoutMessages(expected))
    return same ? undefined : `got ${shorten(actual)}, expected ${shorten(expected)}`
  }
  if (specOnly) return shapeDifference(actual.result, expected.result, 'result')
  return isDeepStrictEqual(actual.result, expected.result)
    ? undefined
    : (firstDifference(actual.result, expected.result, 'result') ?? 'the results differ')
}

function withoutMessages(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutMessages)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      key === 'error' && typeof item === 'object' && item !== null
        ? withoutMessages(Object.fromEntries(Object.entries(item).filter(([name]) => name !== 'message')))
        : withoutMessages(item),
    ]),
  )
}

/** Keys that the suite's schemas do not demand. */
const OPTIONAL_KEYS = new Set(['deleteStrategy'])

function shapeDifference(actual: unknown, expected: unknown, path: string): string | undefined {
  if (kindOf(actual) !== kindOf(expected))
    return `${path} is ${shorten(actual)}, expected one like ${shorten(expected)}`
  if (Array.isArray(actual) && Array.isArray(expected)) {
    return first(actual, (item, index) => shapeDifference(item, expected[index] ?? expected[0], `${path}[${index}]`))
  }
  if (!isRecord(actual) || !isRecord(expected)) return undefined
  const demanded = Object.fromEntries(
    Object.entries(expected).filter(([key]) => key in actual || !OPTIONAL_KEYS.has(key)),
  )
  return (
    keyDifference(actual, demanded, path) ??
    first(Object.keys(demanded), (key) => shapeDifference(actual[key], demanded[key], `${path}.${key}`))
  )
}

function firstDifference(actual: unknown, expected: unknown, path: string): string | undefined {
  if (Array.isArray(actual) && Array.isArray(expected) && actual.length === expected.length) {
    return first(actual, (item, index) => firstDifference(item, expected[index], `${path}[${index}]`))
  }
  if (isRecord(actual) && isRecord(expected)) {
    return (
      keyDifference(actual, expected, path) ??
      first(Object.keys(expected), (key) => firstDifference(actual[key], expected[key], `${path}.${key}`))
    )
  }
  return isDeepStrictEqual(actual, expected)
    ? undefined
    : `${path} is ${shorten(actual)}, expected ${shorten(expected)}`
}

function keyDifference(
  actual: Readonly<Record<string, unknown>>,
  expected: Readonly<Record<string, unknown>>,
  path: string,
): string | undefined {
  const missing = Object.keys(expected).find((key) => !(key in actual))
  if (missing !== undefined) return `${path} lacks ${missing}`
  const extra = Object.keys(actual).find((key) => !(key in expected))
  return extra === undefined ? undefined : `${path} has ${extra} too much`
}

/** Addresses, hashes and shorter data have a length that means something; transactions and the like do not. */
const HASH_BYTES = 32

/** JSON's kind of a value; of hex strings also their form. */
function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'array'
  if (value === null) return 'null'
  if (typeof value !== 'string' || !value.startsWith('0x')) return typeof value
  if (/^0x(0|[1-9a-f][0-9a-f]{0,15})$/.test(value)) return 'quantity'
  if (!/^0x([0-9a-f]{2})*$/.test(value)) return 'not canonical hex'
  const bytes = value.length / 2 - 1
  return bytes <= HASH_BYTES ? `${bytes} bytes` : 'bytes'
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function first<T>(items: readonly T[], find: (item: T, index: number) => string | undefined): string | undefined {
  for (const [index, item] of items.entries()) {
    const found = find(item, index)
    if (found !== undefined) return found
  }
  return undefined
}

function shorten(value: unknown): string {
  return (JSON.stringify(value) ?? 'undefined').slice(0, 300)
}
