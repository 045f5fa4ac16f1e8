import type { Address } from '../../primitives/address.ts'
import type { NativeStore } from '../../state/world.ts'
import { moduleStoreKey } from '../storeKey.ts'

/**
 * Operator address of the validator with this consensus address (first 20 bytes of sha256 of its ed25519 key); undefined
 * for an unknown validator. Key: the SDK's ValidatorsByConsAddrKey (0x22 | length | address; x/staking/types/keys.go).
 */
export function getOperator(native: Pick<NativeStore, 'get'>, consensusAddress: Uint8Array): Address | undefined {
  return native.get(operatorKey(consensusAddress))
}

export function setOperator(native: Pick<NativeStore, 'set'>, consensusAddress: Uint8Array, operator: Address): void {
  native.set(operatorKey(consensusAddress), operator)
}

function operatorKey(consensusAddress: Uint8Array): Uint8Array {
  return moduleStoreKey('staking', Uint8Array.of(0x22, consensusAddress.length), consensusAddress)
}
