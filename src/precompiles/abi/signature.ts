import { keccak256 } from '../../primitives/hash.ts'
import type { AbiFields } from './type.ts'

/** `delegate(address,string,uint256)` */
export function signatureOf(name: string, ...fields: readonly AbiFields[]): string {
  const types = fields.flatMap((group) => Object.values(group).map((type) => type.name))
  return `${name}(${types.join(',')})`
}

/** First four bytes of keccak256(signature), e.g. of `transfer(address,uint256)`. */
export function selectorOf(signature: string): Uint8Array {
  return topicOf(signature).slice(0, 4)
}

/** keccak256(signature): the first topic of an event's logs. */
export function topicOf(signature: string): Uint8Array {
  return keccak256(new TextEncoder().encode(signature))
}
