import { hexToBytes } from '../../src/primitives/bytes.ts'

/** EIP-7702: an account that runs the code of another has this before that address, and no contract of its own. */
const DELEGATION = '0xef0100'
const DELEGATION_LENGTH = DELEGATION.length + 40

/**
 * The account whose code an account runs.
 * @param code 0x…, as `eth_getCode` returns it
 * @returns 20 bytes; undefined when the code is the account's own
 */
export function delegateOf(code: string): Uint8Array | undefined {
  const isDelegation = code.startsWith(DELEGATION) && code.length === DELEGATION_LENGTH
  return isDelegation ? hexToBytes(`0x${code.slice(DELEGATION.length)}`) : undefined
}
