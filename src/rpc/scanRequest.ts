/** What `JSON.parse` does not tell about a request. */
export interface RequestScan {
  /** arrays and objects are nested deeper than was asked for; the scan ended there */
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
 * Reads nesting and number literals of a JSON text (of another text: anything). Ids go back to the client as they came: a
 * parsed 1.0, 1e3 or 2^53 + 1 would be written differently. One pass; strings are skipped with `indexOf`.
 */
export function scanRequest(text: string, maxDepth: number): RequestScan {
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
