import type { Address } from '../primitives/address.ts'
import { concatBytes } from '../primitives/bytes.ts'
import { keccak256 } from '../primitives/hash.ts'
import { encodeRLP } from '../primitives/rlp.ts'

/**
 * Returns the address of the contract that `creator` creates with its nonce at `nonce` (before the
 * creation raises it).
 */
export function createAddress(creator: Address, nonce: bigint): Address {
  return keccak256(encodeRLP([creator, nonce])).slice(12)
}

/** Returns the address of a contract created by CREATE2 (EIP-1014). `salt` is 32 bytes. */
export function create2Address(creator: Address, salt: Uint8Array, initCode: Uint8Array): Address {
  return keccak256(concatBytes(Uint8Array.of(0xff), creator, salt, keccak256(initCode))).slice(12)
}
