import type { Address } from '../../primitives/address.ts'
import type { NativeStore } from '../../state/world.ts'
import { addressesKey } from '../storeKey.ts'
import { OPERATORS_BY_CONSENSUS_ADDRESS } from './keys.ts'

/**
 * Operator address of the validator with this consensus address (first 20 bytes of sha256 of its ed25519 key), also of one that
 * was removed since; undefined for a key that no validator ever had.
 */
export function getOperator(native: Pick<NativeStore, 'get'>, consensusAddress: Uint8Array): Address | undefined {
  return native.get(addressesKey(OPERATORS_BY_CONSENSUS_ADDRESS, consensusAddress))
}

export function setOperator(native: Pick<NativeStore, 'set'>, consensusAddress: Uint8Array, operator: Address): void {
  native.set(addressesKey(OPERATORS_BY_CONSENSUS_ADDRESS, consensusAddress), operator)
}
