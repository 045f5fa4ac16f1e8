import type { NativeEvent } from '../../chain/block/entries.ts'
import type { EventTerm } from '../../chain/indexes/eventIndex.ts'

/**
 * A condition on the attributes with a key; when there are several values, one of them has to meet
 * it.
 */
export type EventCondition =
  | { readonly key: string; readonly operator: 'EXISTS' }
  | { readonly key: string; readonly operator: '=' | 'CONTAINS'; readonly operand: string }
  | { readonly key: string; readonly operator: '=' | '<' | '<=' | '>' | '>='; readonly operand: QueryNumber }
  | { readonly key: string; readonly operator: '=' | '<' | '<=' | '>' | '>='; readonly operand: QueryTime }

/** A number with decimals, as an integer of 10^-18 units. */
interface QueryNumber {
  readonly kind: 'number'
  readonly units: bigint
}

interface QueryTime {
  readonly kind: 'time'
  /** milliseconds since the epoch */
  readonly timeMs: number
}

/** Conditions that all have to be met. */
export interface EventQuery {
  /** as the client wrote it */
  readonly text: string
  /** the text with normalized spaces: the identity of a subscription */
  readonly canonical: string
  readonly conditions: readonly EventCondition[]
}

/** The text is not a query. The message names the position of the mistake. */
export class EventQueryError extends Error {
  override readonly name: string = 'EventQueryError'
}

/**
 * The text is too long to be read. The message is CometBFT's, and complete: it does not name a
 * position.
 */
export class EventQueryLengthError extends EventQueryError {
  override readonly name = 'EventQueryLengthError'
}

/** Values by `type.key`. */
export type EventValues = ReadonlyMap<string, readonly string[]>

/**
 * Returns the attributes of events by `type.key`, and `own`: the values that CometBFT adds itself,
 * like `tm.event`.
 */
export function eventValues(
  events: readonly NativeEvent[],
  own: Readonly<Record<string, string>> = {},
): Map<string, string[]> {
  const values = new Map<string, string[]>(Object.entries(own).map(([key, value]) => [key, [value]]))
  for (const { type, attributes } of events) {
    for (const { key, value } of attributes) {
      const name = `${type}.${key}`
      const known = values.get(name)
      if (known === undefined) values.set(name, [value])
      else known.push(value)
    }
  }
  return values
}

/**
 * The longest query in bytes (CometBFT's rpc/core/events.go, maxQueryLength). It limits the
 * conditions too, since each takes several bytes.
 */
const MAX_BYTES = 512
const DECIMALS = 18

const ONE = 10n ** BigInt(DECIMALS)

const TOKENS =
  /\s*(?:(AND|CONTAINS|EXISTS|TIME|DATE)(?![\w.])|([a-zA-Z_][\w.-]*)|('(?:[^'\\]|\\.)*')|(-?\d[\w.:+-]*)|(<=|>=|=|<|>))/y

type TokenKind = 'word' | 'tag' | 'string' | 'number' | 'operator'

interface Token {
  readonly kind: TokenKind
  readonly text: string
  readonly at: number
}

const KINDS: readonly TokenKind[] = ['word', 'tag', 'string', 'number', 'operator']

/**
 * Reads a query of CometBFT's language (libs/pubsub/query): `tm.event='Tx' AND transfer.amount>5 AND rewards.validator EXISTS`.
 * @throws EventQueryError
 */
export function parseEventQuery(text: string): EventQuery {
  if (Buffer.byteLength(text) > MAX_BYTES) throw new EventQueryLengthError('maximum query length exceeded')
  const tokens = tokensOf(text)
  const conditions: EventCondition[] = []
  for (let at = 0; ; ) {
    const { condition, next } = readCondition(tokens, at, text)
    conditions.push(condition)
    const joint = tokens[next]
    if (joint === undefined) return { text, canonical: tokens.map((token) => token.text).join(' '), conditions }
    if (joint.text !== 'AND') throw wrong(text, joint, 'AND')
    at = next + 1
  }
}

/** Whether some values of a set of events meet every condition. */
export function matchesEvents({ conditions }: Pick<EventQuery, 'conditions'>, values: EventValues): boolean {
  return conditions.every((condition) => meetsCondition(condition, values))
}

/** Whether one of its key's values meets a condition. */
export function meetsCondition(condition: EventCondition, values: EventValues): boolean {
  return (values.get(condition.key) ?? []).some((value) => meets(condition, value))
}

/**
 * Returns the terms of a query that the index can look up. They match too much, so each result
 * still has to be checked against the query.
 */
export function indexTerms({ conditions }: EventQuery, ignored: ReadonlySet<string>): readonly EventTerm[] {
  return conditions
    .filter(({ key }) => !ignored.has(key))
    .map((condition): EventTerm => {
      const { key } = condition
      return condition.operator === '=' && typeof condition.operand === 'string'
        ? { key, value: condition.operand }
        : { key }
    })
}

/**
 * Returns the range of heights within [low, high] that the conditions on `key` allow; [1, 0] when
 * it is empty.
 */
export function heightRange({ conditions }: EventQuery, key: string, low: number, high: number): [number, number] {
  let [first, last] = [BigInt(low), BigInt(high)]
  for (const condition of conditions) {
    if (condition.key !== key || condition.operator === 'EXISTS') continue
    const units = typeof condition.operand === 'string' ? numberIn(condition.operand) : unitsOf(condition.operand)
    if (units === undefined) return [1, 0]
    const floor = units / ONE
    const isWhole = units % ONE === 0n
    const { operator } = condition
    if (operator === '=' && !isWhole) return [1, 0]
    if (operator === '=' || operator === '>=') first = largest(first, isWhole ? floor : floor + 1n)
    if (operator === '>') first = largest(first, floor + 1n)
    if (operator === '=' || operator === '<=') last = least(last, floor)
    if (operator === '<') last = least(last, isWhole ? floor - 1n : floor)
  }
  return first > last ? [1, 0] : [Number(first), Number(last)]
}

function largest(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}

function unitsOf(operand: QueryNumber | QueryTime): bigint | undefined {
  return operand.kind === 'number' ? operand.units : undefined
}

function meets(condition: EventCondition, value: string): boolean {
  if (condition.operator === 'EXISTS') return true
  if (condition.operator === 'CONTAINS') return value.includes(condition.operand)
  const { operand, operator } = condition
  if (typeof operand === 'string') return value === operand
  if (operand.kind === 'time') {
    const timeMs = Date.parse(value)
    return !Number.isNaN(timeMs) && compares(operator, Math.sign(timeMs - operand.timeMs))
  }
  const units = numberIn(value)
  return units !== undefined && compares(operator, units < operand.units ? -1 : units > operand.units ? 1 : 0)
}

function compares(operator: '=' | '<' | '<=' | '>' | '>=', order: number): boolean {
  if (operator === '=') return order === 0
  if (operator === '<' || operator === '<=') return order < 0 || (order === 0 && operator === '<=')
  return order > 0 || (order === 0 && operator === '>=')
}

/** Returns the first number in a value, as CometBFT reads it: 5 of `5acoin`. */
function numberIn(value: string): bigint | undefined {
  const digits = /-?[0-9][0-9.]*/.exec(value)?.[0]
  return digits === undefined ? undefined : parseUnits(digits)
}

/** Returns undefined for more than one point or more than 100 digits. */
function parseUnits(digits: string): bigint | undefined {
  const match = /^(-?)(\d{1,100})(?:\.(\d*))?$/.exec(digits)
  if (match === null) return undefined
  const units = BigInt(match[2] + (match[3] ?? '').slice(0, DECIMALS).padEnd(DECIMALS, '0'))
  return match[1] === '-' ? -units : units
}

function tokensOf(text: string): readonly Token[] {
  const tokens: Token[] = []
  for (let at = 0; at < text.length; ) {
    if (/^\s*$/.test(text.slice(at))) break
    TOKENS.lastIndex = at
    const match = TOKENS.exec(text)
    if (match === null)
      throw new EventQueryError(`failed to parse the query at position ${at}: ${text.slice(at, at + 20)}`)
    const index = match.slice(1).findIndex((group) => group !== undefined)
    const token = match[index + 1]!
    tokens.push({ kind: KINDS[index]!, text: token, at: TOKENS.lastIndex - token.length })
    at = TOKENS.lastIndex
  }
  return tokens
}

function readCondition(
  tokens: readonly Token[],
  at: number,
  text: string,
): { readonly condition: EventCondition; readonly next: number } {
  const tag = tokens[at]
  if (tag?.kind !== 'tag') throw wrong(text, tag, 'the key of an attribute, like transfer.recipient')
  const key = tag.text
  const operator = tokens[at + 1]
  if (operator?.text === 'EXISTS') return { condition: { key, operator: 'EXISTS' }, next: at + 2 }
  const operand = tokens[at + 2]
  if (operator?.text === 'CONTAINS') {
    if (operand?.kind !== 'string') throw wrong(text, operand, "a text between ' and '")
    return { condition: { key, operator: 'CONTAINS', operand: unquoted(operand.text) }, next: at + 3 }
  }
  if (operator?.kind !== 'operator') throw wrong(text, operator, '=, <, <=, >, >=, CONTAINS or EXISTS')
  const comparison = operator.text as '=' | '<' | '<=' | '>' | '>='
  if (operand?.kind === 'string') {
    if (comparison !== '=') throw wrong(text, operand, 'a number or a time')
    return { condition: { key, operator: '=', operand: unquoted(operand.text) }, next: at + 3 }
  }
  if (operand?.kind === 'number') {
    const units = parseUnits(operand.text)
    if (units === undefined) throw wrong(text, operand, 'a number')
    return { condition: { key, operator: comparison, operand: { kind: 'number', units } }, next: at + 3 }
  }
  const isTime = operand?.text === 'TIME' || operand?.text === 'DATE'
  const timeMs = isTime ? Date.parse(tokens[at + 3]?.text ?? '') : Number.NaN
  if (Number.isNaN(timeMs)) throw wrong(text, isTime ? tokens[at + 3] : operand, 'a text, a number, TIME or DATE')
  return { condition: { key, operator: comparison, operand: { kind: 'time', timeMs } }, next: at + 4 }
}

function unquoted(text: string): string {
  return text.slice(1, -1).replace(/\\(.)/g, '$1')
}

function wrong(text: string, token: Token | undefined, expected: string): EventQueryError {
  const where = token === undefined ? 'at its end' : `at position ${token.at}, ${token.text}`
  return new EventQueryError(`failed to parse the query ${text} ${where}: expected ${expected}`)
}
