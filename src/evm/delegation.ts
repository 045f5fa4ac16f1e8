import type { Address } from '../primitives/address.ts'
import { concatBytes } from '../primitives/bytes.ts'

/** EIP-7702: code that begins with these bytes and an address delegates to that address. */
const PREFIX = Uint8Array.of(0xef, 0x01, 0x00)

/** The address that `code` delegates to; undefined when it is no delegation. */
export function delegationTarget(code: Uint8Array): Address | undefined {
  if (code.length !== 23 || code[0] !== 0xef || code[1] !== 0x01 || code[2] !== 0x00) return undefined
  return code.slice(3)
}

/** The code of an account that delegates to `target`. */
export function delegationCode(target: Address): Uint8Array {
  return concatBytes(PREFIX, target)
}
