import type { NativeEvent } from '../../chain/entries.ts'

/** The attributes of events by `type.key`, with those that CometBFT adds itself, like `tm.event`. */
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
