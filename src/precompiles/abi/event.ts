import type { Log } from '../../chain/receipt.ts'
import type { Address } from '../../primitives/address.ts'
import { keccak256 } from '../../primitives/hash.ts'
import { signatureOf, topicOf } from './signature.ts'
import type { AbiFields, AbiType, AbiValues } from './type.ts'
import { string } from './types.ts'
import { encodeValues } from './values.ts'

/** An event of a contract. In every event here the indexed parameters come first. */
export interface AbiEvent<I extends AbiFields, D extends AbiFields> {
  readonly name: string
  readonly signature: string
  readonly indexed: I
  readonly data: D
  log(contract: Address, values: AbiValues<I> & AbiValues<D>): Log
}

export function defineEvent<const I extends AbiFields, const D extends AbiFields>(
  name: string,
  { indexed, data }: { readonly indexed: I; readonly data: D },
): AbiEvent<I, D> {
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

/** A value that fits a word is the topic; of a string, the topic has only the hash. */
function topicOfValue(type: AbiType<unknown>, value: unknown): Uint8Array {
  return type === string ? keccak256(new TextEncoder().encode(value as string)) : type.encode(value)
}
