import type { AbiParameter } from 'viem'

/* What a person types for a parameter of a function. */

type Named = Readonly<Record<string, unknown>>

/**
 * Reads what is typed for a parameter: a text as it is, numbers in decimal or as 0x…, lists and structs as JSON.
 * @throws Error that says what is expected
 */
export function readArgument(parameter: AbiParameter, text: string): unknown {
  const { type } = parameter
  if (type === 'string') return text
  if (!type.endsWith(']') && !type.startsWith('tuple')) return readValue(parameter, text.trim())
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new Error(
      type.endsWith(']')
        ? 'a list in JSON, such as ["1", "2"]'
        : 'JSON such as {"name": "value"}, or a list of the values',
    )
  }
  return readValue(parameter, value)
}

function readValue(parameter: AbiParameter, value: unknown): unknown {
  const { type } = parameter
  const [, inner, length] = /^(.*)\[(\d*)\]$/.exec(type) ?? []
  if (inner !== undefined) {
    if (!Array.isArray(value)) throw new Error('a list in JSON, such as ["1", "2"]')
    if (length !== '' && value.length !== Number(length)) throw new Error(`a list of ${length} values`)
    return value.map((entry) => readValue({ ...parameter, type: inner }, entry))
  }
  if (type === 'tuple') return readStruct(parameter, value)
  if (/^u?int/.test(type)) return readInteger(value)
  if (type === 'bool') {
    if (value === true || value === 'true') return true
    if (value === false || value === 'false') return false
    throw new Error('true or false')
  }
  if (typeof value !== 'string') throw new Error('text in quotes')
  if (type === 'address' && !/^0x[0-9a-fA-F]{40}$/.test(value)) throw new Error('0x followed by 40 hex digits')
  if (type.startsWith('bytes')) {
    if (!/^0x(?:[0-9a-fA-F]{2})*$/.test(value)) throw new Error('0x followed by pairs of hex digits')
    const size = type.slice('bytes'.length)
    if (size !== '' && value.length !== 2 + 2 * Number(size))
      throw new Error(`${size} bytes: 0x followed by ${2 * Number(size)} hex digits`)
  }
  return value
}

function readInteger(value: unknown): bigint {
  // JSON has no whole numbers beyond these: others would have been changed silently.
  if (typeof value === 'number' && !Number.isSafeInteger(value))
    throw new Error('a whole number; put a large one in quotes')
  const text = String(value)
  if (!/^(?:-?[0-9]{1,78}|0x[0-9a-fA-F]{1,64})$/.test(text)) throw new Error('a whole number')
  return BigInt(text)
}

function readStruct(parameter: AbiParameter, value: unknown): unknown {
  const components = 'components' in parameter ? parameter.components : []
  if (Array.isArray(value)) {
    if (value.length !== components.length) throw new Error(`a list of ${components.length} values`)
    return toStruct(components, value)
  }
  if (typeof value !== 'object' || value === null)
    throw new Error('JSON such as {"name": "value"}, or a list of the values')
  const missing = components.find(({ name }) => !Object.hasOwn(value, name ?? ''))
  if (missing !== undefined) {
    const field = missing.name === undefined ? '' : ` with the field ${missing.name}`
    throw new Error(`an object${field}, or a list of ${components.length} values`)
  }
  return toStruct(
    components,
    components.map(({ name }) => (value as Named)[name ?? '']),
  )
}

/** viem takes structs whose fields have names by these, others as lists. */
function toStruct(components: readonly AbiParameter[], values: readonly unknown[]): unknown {
  const read = components.map((component, index) => readValue(component, values[index]))
  const hasNames = components.every(({ name }) => name !== undefined && name !== '')
  return hasNames ? Object.fromEntries(components.map(({ name }, index) => [name, read[index]])) : read
}
