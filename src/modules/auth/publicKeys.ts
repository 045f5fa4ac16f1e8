import type { Address } from '../../primitives/address.ts'
import { Any, type AnyValue } from '../../primitives/protoSchema.ts'
import type { NativeStore } from '../../state/world.ts'
import { moduleStoreKey } from '../storeKey.ts'

/**
 * Returns the SDK's AddressStoreKeyPrefix (x/auth/types/keys.go). The SDK stores the account there,
 * this chain its public key.
 */
function publicKeyKey(address: Address): Uint8Array {
  return moduleStoreKey('auth', Uint8Array.of(0x01), address)
}

/** Returns the public key of an account that has signed a native transaction. */
export function getPublicKey(native: Pick<NativeStore, 'get'>, address: Address): AnyValue | undefined {
  const bytes = native.get(publicKeyKey(address))
  return bytes === undefined ? undefined : Any.decode(bytes)
}

/** Stores an account's public key, unless it has one. */
export function storePublicKey(native: Pick<NativeStore, 'get' | 'set'>, address: Address, key: AnyValue): void {
  const storeKey = publicKeyKey(address)
  if (native.get(storeKey) === undefined) native.set(storeKey, Any.encode(key))
}
