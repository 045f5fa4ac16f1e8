/**
 * Limits of the text of one request. Parsing costs time and memory by these counts, not by the
 * bytes of long strings.
 */
export interface RequestTextLimits {
  /** requests in a batch */
  readonly messages: number
  /**
   * values in all: each element of an array and each member of an object, at every level, and the
   * text itself
   */
  readonly values: number
  /** levels of arrays and objects; no method takes more than a dozen */
  readonly depth: number
}

/** Far more than the slots, topics or addresses of the longest body. */
const VALUES = 100_000
/** More than a short request has; thus a full batch of short requests is never refused. */
const VALUES_PER_MESSAGE = 20
/** Values nested deeper are slow to parse, and cannot be sent to another thread. */
const DEPTH = 256

/** Returns the limits of a request's text when a batch may have `messages` requests. */
export function requestTextLimits(messages: number): RequestTextLimits {
  return { messages, values: VALUES + VALUES_PER_MESSAGE * messages, depth: DEPTH }
}

/** The content of a text, counted before it is parsed. */
interface RequestScan {
  /** the first limit that is exceeded, if any: the scan ended there */
  readonly exceeded: keyof RequestTextLimits | undefined
  /** where the scan ended; with too many messages, the comma after the last allowed one */
  readonly end: number
  readonly values: number
  /** requests in the batch; 0 for a single request */
  readonly messages: number
  /** by position in the batch (0 for a single request): a numeric `id`, as it was sent */
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
 * Counts the content of a JSON text, without parsing it, and stops at the first limit that is
 * exceeded. For a text that is not JSON the counts mean nothing. Also reads numeric ids: they go
 * back to the client as they came, while a parsed 1.0, 1e3 or 2^53 + 1 would be written
 * differently. One pass; strings are skipped with `indexOf`.
 */
export function scanRequest(text: string, limits: RequestTextLimits): RequestScan {
  const isBatch = text.trimStart().startsWith('[')
  const messageDepth = isBatch ? 2 : 1
  const numberIds: (string | undefined)[] = []
  let depth = 0
  let values = 1
  let messages = 0
  const scan = (end: number, exceeded?: keyof RequestTextLimits): RequestScan => {
    return { exceeded, end, values, messages, numberIds }
  }
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === OPENING_BRACKET || code === OPENING_BRACE) {
      depth++
      if (depth > limits.depth) return scan(i, 'depth')
      const first = text.charCodeAt(skipSpace(text, i + 1))
      if (first !== CLOSING_BRACKET && first !== CLOSING_BRACE) {
        values++
        if (isBatch && depth === 1) messages++
      }
    } else if (code === CLOSING_BRACKET || code === CLOSING_BRACE) {
      depth--
    } else if (code === COMMA) {
      values++
      if (isBatch && depth === 1) messages++
    } else if (code === QUOTE) {
      const end = endOfString(text, i)
      if (depth === messageDepth) {
        const colon = skipSpace(text, end + 1)
        if (text.charCodeAt(colon) === COLON && isIdKey(text.slice(i, end + 1))) {
          numberIds[Math.max(0, messages - 1)] = numberAt(text, skipSpace(text, colon + 1))
        }
      }
      i = end
    }
    if (messages > limits.messages) return scan(i, 'messages')
    if (values > limits.values) return scan(i, 'values')
  }
  return scan(text.length)
}

/**
 * Returns the index of the quote that ends the string at `start`; the text's length when the string
 * does not end.
 */
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

/** Whether a key is `id`; it may be written with escapes. */
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
