/**
 * A message of a request, sorted as geth sorts it (rpc/json.go): a call wants an answer, a notification none, and
 * answers that a client sends are dropped.
 */
export type Message =
  | {
      readonly kind: 'call' | 'notification'
      /** JSON text, as it came where it is a number; `null` for a notification */
      readonly id: string
      readonly method: string
      readonly params: unknown
    }
  | { readonly kind: 'answer' }
  | { readonly kind: 'invalid'; readonly id: string }

interface Request {
  readonly isBatch: boolean
  /** the batch has more than `maxMessages` messages; only the first ones are given */
  readonly isTooLong: boolean
  readonly messages: readonly Message[]
}

/**
 * Values nested deeper than this are not read: parsing them is slow, and they can not be handed to another thread. No method
 * takes more than a dozen levels.
 */
const MAX_DEPTH = 256

const NULL_ID = 'null'

/** Reads the text of a request; undefined when it is not JSON or is nested too deeply. */
export function parseRequest(text: string, maxMessages: number): Request | undefined {
  const { isTooDeep, numberIds } = scanText(text, MAX_DEPTH)
  if (isTooDeep) return undefined
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return undefined
  }
  const isBatch = Array.isArray(json)
  const items: readonly unknown[] = Array.isArray(json) ? json : [json]
  const messages = items.slice(0, maxMessages).map((item, index) => toMessage(item, numberIds[index]))
  return { isBatch, isTooLong: items.length > maxMessages, messages }
}

interface Fields {
  readonly jsonrpc?: unknown
  readonly id?: unknown
  readonly method?: unknown
  readonly params?: unknown
}

function toMessage(json: unknown, numberId: string | undefined): Message {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return { kind: 'invalid', id: NULL_ID }
  // No object inherits any of these names.
  const fields: Fields = json
  const id = idText(fields.id, numberId)
  const { method, params } = fields
  const isVersion2 = fields.jsonrpc === '2.0'
  if (isVersion2 && typeof method === 'string' && method !== '') {
    if (!('id' in fields)) return { kind: 'notification', id: NULL_ID, method, params }
    if (id !== undefined) return { kind: 'call', id, method, params }
  }
  const isAnswer = isVersion2 && id !== undefined && !('params' in fields) && ('result' in fields || 'error' in fields)
  return isAnswer ? { kind: 'answer' } : { kind: 'invalid', id: id ?? NULL_ID }
}

/** An id's JSON text; undefined when it is absent, an array or an object. */
function idText(id: unknown, numberId: string | undefined): string | undefined {
  if (id === undefined || (typeof id === 'object' && id !== null)) return undefined
  if (typeof id === 'number') return numberId ?? JSON.stringify(id)
  return JSON.stringify(id)
}

/** What `JSON.parse` does not show of a request. */
interface ScanResult {
  /** arrays and objects are nested deeper than `maxDepth`; the scan ended there */
  readonly isTooDeep: boolean
  /** by position in the batch (0 for a single request): the `id` as it was sent, where it is a number */
  readonly numberIds: readonly (string | undefined)[]
}

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPENING_BRACKET = 0x5b
const BACKSLASH = 0x5c
const CLOSING_BRACKET = 0x5d
const OPENING_BRACE = 0x7b
const CLOSING_BRACE = 0x7d
const NUMBER = /[-+.0-9eE]*/y

/**
 * Reads nesting and number literals of a JSON text (of other text the result means nothing). Ids go back to the client as they came: a
 * parsed 1.0, 1e3 or 2^53 + 1 would be written differently. One pass; strings are skipped with `indexOf`.
 */
function scanText(text: string, maxDepth: number): ScanResult {
  const isBatch = text.trimStart().startsWith('[')
  const messageDepth = isBatch ? 2 : 1
  const numberIds: (string | undefined)[] = []
  let depth = 0
  let item = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === OPENING_BRACKET || code === OPENING_BRACE) {
      depth++
      if (depth > maxDepth) return { isTooDeep: true, numberIds }
    } else if (code === CLOSING_BRACKET || code === CLOSING_BRACE) {
      depth--
    } else if (code === COMMA) {
      if (isBatch && depth === 1) item++
    } else if (code === QUOTE) {
      const end = endOfString(text, i)
      if (depth === messageDepth) {
        const colon = skipSpace(text, end + 1)
        if (text.charCodeAt(colon) === COLON && isIdKey(text.slice(i, end + 1))) {
          numberIds[item] = numberAt(text, skipSpace(text, colon + 1))
        }
      }
      i = end
    }
  }
  return { isTooDeep: false, numberIds }
}

/** Index of the quote that ends the string which starts at `start`; the text's length when there is none. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let first = end
    while (text.charCodeAt(first - 1) === BACKSLASH) first--
    if ((end - first) % 2 === 0) return end
  }
  return text.length
}

function skipSpace(text: string, start: number): number {
  let i = start
  while (i < text.length && text.charCodeAt(i) <= 0x20) i++
  return i
}

/** A key may be written with escapes. */
function isIdKey(literal: string): boolean {
  if (literal === '"id"') return true
  // Two escapes of six characters each are the longest form; the text may turn out not to be JSON.
  return /^"(i|\\u0069)(d|\\u0064)"$/.test(literal)
}

function numberAt(text: string, start: number): string | undefined {
  NUMBER.lastIndex = start
  const literal = NUMBER.exec(text)?.[0]
  return literal === undefined || literal === '' ? undefined : literal
}
