import type { Address } from '../../src/primitives/address.ts'
import { bytesToHex, hexToBytes } from '../../src/primitives/bytes.ts'
import { keccak256 } from '../../src/primitives/hash.ts'

/** An argument of a contract's function: a number, a flag, an address, or addresses. */
export type Argument = bigint | boolean | Address | readonly Address[]

/** Returns call data of a function by its signature, for example `transfer(address,uint256)`. */
export function callData(signature: string, ...values: readonly Argument[]): Uint8Array {
  const selector = bytesToHex(keccak256(Buffer.from(signature)).subarray(0, 4))
  return hexToBytes(selector + encodeArguments(values))
}

/** Returns the hex digits of arguments. */
export function encodeArguments(values: readonly Argument[]): string {
  let head = ''
  let tail = ''
  for (const value of values) {
    if (!Array.isArray(value)) {
      head += wordOf(value as Exclude<Argument, readonly Address[]>)
      continue
    }
    head += word(BigInt(values.length * 32 + tail.length / 2))
    tail += word(BigInt(value.length)) + (value as readonly Address[]).map(addressWord).join('')
  }
  return head + tail
}

/** Returns the hex digits of a 32-byte number. */
export function word(value: bigint): string {
  return value.toString(16).padStart(64, '0')
}

function addressWord(address: Address): string {
  return bytesToHex(address).slice(2).padStart(64, '0')
}

function wordOf(value: bigint | boolean | Address): string {
  if (typeof value === 'bigint') return word(value)
  return typeof value === 'boolean' ? word(value ? 1n : 0n) : addressWord(value)
}
