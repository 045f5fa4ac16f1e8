/** Deeper than any message that can be proposed. */
const MAX_DEPTH = 32

/**
 * Whether no more brackets than that are open anywhere in a JSON text. What reads messages goes down with them, so a text of
 * brackets alone could exhaust the stack of a node.
 */
export function isShallowJson(text: string): boolean {
  let depth = 0
  let inString = false
  for (let at = 0; at < text.length; at++) {
    const character = text[at]
    if (inString) {
      if (character === '\\') at++
      else if (character === '"') inString = false
    } else if (character === '"') inString = true
    else if (character === '{' || character === '[') {
      depth++
      if (depth > MAX_DEPTH) return false
    } else if (character === '}' || character === ']') depth--
  }
  return true
}
