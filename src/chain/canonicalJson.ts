/** What JSON can hold. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/**
 * JSON in its one canonical form: keys sorted by UTF-16 code units, no white space, integers only.
 * @throws TypeError on a number that is not a safe integer, whose text would depend on the reader's number format
 */
export function canonicalJson(value: Json): string {
  if (typeof value === 'number' && !Number.isSafeInteger(value)) throw new TypeError(`not a safe integer: ${value}`)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (isList(value)) return `[${value.map(canonicalJson).join(',')}]`
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key]!)}`)
  return `{${members.join(',')}}`
}

function isList(value: object): value is readonly Json[] {
  return Array.isArray(value)
}
