import type { Address } from '../primitives/address.ts'
import { bigIntToBytes, bytesToBigInt, concatBytes, padLeft } from '../primitives/bytes.ts'
import { keccak256 } from '../primitives/hash.ts'

/** Types of Solidity that the tables of functions use, each one 32-byte word. */
export type AbiType = 'address' | 'uint256'

/** Values in the order of `T`: bytes of an address, bigint of a number. */
export type AbiValues<T extends readonly AbiType[]> = {
  readonly [K in keyof T]: T[K] extends 'address' ? Address : bigint
}

const WORD = 32
const ADDRESS_PADDING = 12

/** First four bytes of keccak256(signature), e.g. of `transfer(address,uint256)`. */
export function selectorOf(signature: string): Uint8Array {
  return keccak256(new TextEncoder().encode(signature)).slice(0, 4)
}

/** Topic of an event with this signature. */
export function eventTopic(signature: string): Uint8Array {
  return keccak256(new TextEncoder().encode(signature))
}

/**
 * Reads arguments as strictly as code from the Solidity compiler (ABI coder v2): undefined when `data` is too short or
 * an address has a bit set above its 160. Bytes after the last argument are ignored.
 * @param data calldata after the selector
 */
export function decodeArguments<const T extends readonly AbiType[]>(
  types: T,
  data: Uint8Array,
): AbiValues<T> | undefined {
  if (data.length < types.length * WORD) return undefined
  const values: (Address | bigint)[] = []
  for (const [i, type] of types.entries()) {
    const word = data.slice(i * WORD, (i + 1) * WORD)
    if (type === 'uint256') {
      values.push(bytesToBigInt(word))
      continue
    }
    for (let k = 0; k < ADDRESS_PADDING; k++) if (word[k] !== 0) return undefined
    values.push(word.subarray(ADDRESS_PADDING))
  }
  return values as unknown as AbiValues<T>
}

/** Words of `values`: an address is padded on the left, a number is big-endian. */
export function encodeValues(...values: readonly (Address | bigint)[]): Uint8Array {
  return concatBytes(
    ...values.map((value) => (typeof value === 'bigint' ? bigIntToBytes(value, WORD) : padLeft(value, WORD))),
  )
}

/** One `string` as a function's only return value: offset, length, UTF-8 bytes padded to whole words. */
export function encodeString(text: string): Uint8Array {
  const bytes = new TextEncoder().encode(text)
  const padded = new Uint8Array(Math.ceil(bytes.length / WORD) * WORD)
  padded.set(bytes)
  return concatBytes(encodeValues(BigInt(WORD), BigInt(bytes.length)), padded)
}

/** Revert data of a custom error whose arguments are all single words. */
export function encodeError(signature: string, ...values: readonly (Address | bigint)[]): Uint8Array {
  return concatBytes(selectorOf(signature), encodeValues(...values))
}

/** Revert data of `require(false, text)`: `Error(string)`, which every client shows as text. */
export function encodeErrorString(text: string): Uint8Array {
  return concatBytes(selectorOf('Error(string)'), encodeString(text))
}

/** Revert data of Solidity's `Panic(uint256)`. */
export function encodePanic(code: bigint): Uint8Array {
  return concatBytes(selectorOf('Panic(uint256)'), encodeValues(code))
}
