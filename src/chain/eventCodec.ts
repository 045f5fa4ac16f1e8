import type { NativeEvent } from './nativeEvent.ts'

/** Texts of a block's events, each stored once: most of them are the same few types, keys and addresses. */
export class TextTable {
  readonly #positions = new Map<string, bigint>()

  /** Number of a text, by which {@link TextTable.texts} has it. */
  add(text: string): bigint {
    const known = this.#positions.get(text)
    if (known !== undefined) return known
    const position = BigInt(this.#positions.size)
    this.#positions.set(text, position)
    return position
  }

  /** UTF-8, in the order of their numbers */
  texts(): Uint8Array[] {
    return [...this.#positions.keys()].map((text) => Buffer.from(text, 'utf8'))
  }
}

/** Per event the numbers of its type and of keys and values in turn. */
export function encodeEvents(events: readonly NativeEvent[], table: TextTable): bigint[][] {
  return events.map(({ type, attributes }) => {
    const numbers = [table.add(type)]
    for (const { key, value } of attributes) numbers.push(table.add(key), table.add(value))
    return numbers
  })
}

/** @throws Error when a number has no text (a damaged database) */
export function decodeEvents(events: readonly (readonly number[])[], texts: readonly string[]): NativeEvent[] {
  const textOf = (number: number | undefined): string => {
    const text = number === undefined ? undefined : texts[number]
    if (text === undefined) throw new Error('damaged block results: an event has no text')
    return text
  }
  return events.map(([type, ...rest]) => {
    const attributes = []
    for (let at = 0; at < rest.length; at += 2) {
      attributes.push({ key: textOf(rest[at]), value: textOf(rest[at + 1]) })
    }
    return { type: textOf(type), attributes }
  })
}
