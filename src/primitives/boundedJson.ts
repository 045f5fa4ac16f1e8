/** Bounds of a JSON text. */
export interface JsonBounds {
  /** most UTF-16 code units */
  readonly length: number
  /** most arrays and objects that are open at once; by default {@link MAX_JSON_DEPTH} */
  readonly depth?: number
  /** most values, members of objects and elements of arrays included; by default no bound of its own */
  readonly values?: number
}

/** A parsed text, or which bound it exceeds; `syntax`: it is not JSON. */
export type BoundedJson =
  | {
      readonly kind: 'parsed'
      readonly json: unknown
      /** how many values it has: at most one too many for each empty array or object */
      readonly values: number
    }
  | { readonly kind: 'refused'; readonly reason: 'length' | 'depth' | 'values' | 'syntax' }

/**
 * Default depth of JSON. `JSON.parse` and the readers of its values are recursive. How deep they can go depends on the thread's
 * stack and on the version of Node.js, which must not decide what a block does.
 */
export const MAX_JSON_DEPTH = 64

/**
 * Parses JSON of strangers. Length, depth and number of values are checked first, by one pass without recursion, so that the work and
 * the stack that parsing needs are bounded.
 */
export function parseBoundedJson(
  text: string,
  { length, depth = MAX_JSON_DEPTH, values = Number.POSITIVE_INFINITY }: JsonBounds,
): BoundedJson {
  if (text.length > length) return { kind: 'refused', reason: 'length' }
  const counted = countValues(text, depth, values)
  if (typeof counted === 'string') return { kind: 'refused', reason: counted }
  try {
    return { kind: 'parsed', json: JSON.parse(text), values: counted }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    return { kind: 'refused', reason: 'syntax' }
  }
}

/**
 * Counts the values of a text; returns the first bound that it exceeds, if any. Each opening
 * bracket and each comma outside a string can begin one value.
 */
function countValues(text: string, maxDepth: number, maxValues: number): number | 'depth' | 'values' {
  let depth = 0
  let values = 1
  let inString = false
  for (let at = 0; at < text.length; at++) {
    const character = text.charCodeAt(at)
    if (character === QUOTE) inString = !inString
    else if (inString) {
      if (character === BACKSLASH) at++
    } else if (character === OPENING_BRACE || character === OPENING_BRACKET) {
      if (++depth > maxDepth) return 'depth'
      if (++values > maxValues) return 'values'
    } else if (character === COMMA) {
      if (++values > maxValues) return 'values'
    } else if (character === CLOSING_BRACE || character === CLOSING_BRACKET) depth--
  }
  return values
}

const QUOTE = 0x22
const COMMA = 0x2c
const OPENING_BRACKET = 0x5b
const BACKSLASH = 0x5c
const CLOSING_BRACKET = 0x5d
const OPENING_BRACE = 0x7b
const CLOSING_BRACE = 0x7d
