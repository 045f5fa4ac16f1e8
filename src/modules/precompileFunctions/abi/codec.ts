import type { Log } from '../../../chain/block/receipt.ts'
import type { Address } from '../../../primitives/address.ts'
import { concatBytes } from '../../../primitives/bytes.ts'
import { keccak256 } from '../../../primitives/hash.ts'
import { AbiError, AbiReader } from './reader.ts'
import { type AbiFields, type AbiType, type AbiValues, readTuple, string, uint256, writeTuple } from './types.ts'

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
 * Encodes the values that a function returns, or an event's data.
 * @throws RangeError (a bug) for a value that its type does not have
 */
export function encodeValues<const F extends AbiFields>(fields: F, values: AbiValues<F>): Uint8Array {
  return writeTuple(
    Object.values(fields),
    Object.keys(fields).map((name) => values[name]),
  )
}

/** `delegate(address,string,uint256)` */
export function signatureOf(name: string, ...fields: readonly AbiFields[]): string {
  const types = fields.flatMap((group) => Object.values(group).map((type) => type.name))
  return `${name}(${types.join(',')})`
}

/** Returns the first four bytes of keccak256(signature), e.g. of `transfer(address,uint256)`. */
export function selectorOf(signature: string): Uint8Array {
  return topicOf(signature).slice(0, 4)
}

/** Returns keccak256(signature): the first topic of an event's logs. */
export function topicOf(signature: string): Uint8Array {
  return keccak256(new TextEncoder().encode(signature))
}

/** Declares a custom error. @returns a function that makes its revert data */
export function defineError<const F extends AbiFields>(name: string, fields: F): (values: AbiValues<F>) => Uint8Array {
  const selector = selectorOf(signatureOf(name, fields))
  return (values) => concatBytes(selector, encodeValues(fields, values))
}

const errorString = defineError('Error', { text: string })
const panic = defineError('Panic', { code: uint256 })

/**
 * Returns the revert data of `require(false, text)`: `Error(string)`, which every client shows as
 * text.
 */
export function encodeErrorString(text: string): Uint8Array {
  return errorString({ text })
}

/** Returns the revert data of Solidity's `Panic(uint256)`. */
export function encodePanic(code: bigint): Uint8Array {
  return panic({ code })
}

/** An event of a contract. In every event here the indexed parameters come first. */
export interface AbiEvent<I extends AbiFields = AbiFields, D extends AbiFields = AbiFields> {
  readonly name: string
  readonly signature: string
  readonly indexed: I
  readonly data: D
  log(contract: Address, values: AbiValues<I> & AbiValues<D>): Log
}

/** The parameters of an event, with which a contract's table declares it. */
interface EventFields {
  readonly indexed: AbiFields
  readonly data: AbiFields
}

/** Returns a contract's events from a table of their parameters by name. */
export function defineEvents<const T extends Readonly<Record<string, EventFields>>>(
  table: T,
): { readonly [K in keyof T]: AbiEvent<T[K]['indexed'], T[K]['data']> } {
  const events = Object.entries(table).map(([name, fields]) => [name, defineEvent(name, fields)] as const)
  return Object.fromEntries(events) as { [K in keyof T]: AbiEvent<T[K]['indexed'], T[K]['data']> }
}

function defineEvent(name: string, { indexed, data }: EventFields): AbiEvent {
  const signature = signatureOf(name, indexed, data)
  const first = topicOf(signature)
  return {
    name,
    signature,
    indexed,
    data,
    log: (contract, values) => ({
      address: contract,
      topics: [first, ...Object.entries(indexed).map(([key, type]) => topicOfValue(type, values[key]))],
      data: encodeValues(data, values),
    }),
  }
}

/**
 * Returns the topic of an indexed value: the value itself where it fits a word, the hash of a
 * string.
 */
function topicOfValue(type: AbiType<unknown>, value: unknown): Uint8Array {
  return type === string ? keccak256(new TextEncoder().encode(value as string)) : type.encode(value)
}
