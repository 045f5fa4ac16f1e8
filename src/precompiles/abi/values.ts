import { AbiError, AbiReader } from './reader.ts'
import { readTuple, writeTuple } from './tuple.ts'
import type { AbiFields, AbiValues } from './type.ts'

/**
 * Reads arguments; undefined when `data` is not their encoding. Bytes after them are ignored.
 * @param data calldata after the selector
 */
export function decodeValues<const F extends AbiFields>(fields: F, data: Uint8Array): AbiValues<F> | undefined {
  let values: unknown[]
  try {
    values = readTuple(new AbiReader(data), 0, Object.values(fields))
  } catch (error) {
    if (error instanceof AbiError) return undefined
    throw error
  }
  return Object.fromEntries(Object.keys(fields).map((name, index) => [name, values[index]])) as AbiValues<F>
}

/**
 * What a function gives back, or an event's data.
 * @throws RangeError (a bug) for a value that its type does not have
 */
export function encodeValues<const F extends AbiFields>(fields: F, values: AbiValues<F>): Uint8Array {
  return writeTuple(
    Object.values(fields),
    Object.keys(fields).map((name) => values[name]),
  )
}
