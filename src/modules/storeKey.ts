import type { Address } from '../primitives/address.ts'
import { concatBytes } from '../primitives/bytes.ts'
import type { NativeStore } from '../state/world.ts'

/** Modules with entries in the native store. */
export type ModuleName =
  | 'auth'
  | 'authz'
  | 'bank'
  | 'consensus'
  | 'distribution'
  | 'erc20'
  | 'evidence'
  | 'feegrant'
  | 'feemarket'
  | 'gov'
  | 'mint'
  | 'slashing'
  | 'staking'
  | 'upgrade'

/**
 * Returns the raw key of a module's entry in the native store: the module's name, a slash, then the
 * key that the Cosmos SDK uses inside that module's store. Names hold no slash, so no two modules'
 * keys collide.
 */
export function moduleStoreKey(module: ModuleName, ...parts: Uint8Array[]): Uint8Array {
  return concatBytes(new TextEncoder().encode(`${module}/`), ...parts)
}

/**
 * Returns `prefix` and addresses, each after its length as the SDK writes them
 * (types/address/store_key.go).
 */
export function addressesKey(prefix: Uint8Array, ...addresses: readonly Uint8Array[]): Uint8Array {
  const key = new Uint8Array(addresses.reduce((length, address) => length + 1 + address.length, prefix.length))
  key.set(prefix)
  let at = prefix.length
  for (const address of addresses) {
    key[at] = address.length
    key.set(address, at + 1)
    at += 1 + address.length
  }
  return key
}

/** Returns the addresses after `prefix` in a key of {@link addressesKey}. */
export function addressesOf(key: Uint8Array, prefix: Uint8Array): readonly Address[] {
  const out: Address[] = []
  for (let at = prefix.length; at < key.length; at += 1 + key[at]!) out.push(key.slice(at + 1, at + 1 + key[at]!))
  return out
}

/** Start of a walk over entries, itself included, and whether the walk is in reverse. */
export interface AddressWalk<Start = Address> {
  readonly start?: Start
  readonly reverse?: boolean
}

/** Entries whose keys are `prefix` and addresses, in order of these; `start` has addresses that may follow the prefix. */
export function* addressEntries(
  native: Pick<NativeStore, 'range'>,
  prefix: Uint8Array,
  { start, reverse = false }: AddressWalk<Address | readonly Address[]> = {},
): IterableIterator<readonly [addresses: readonly Address[], value: Uint8Array]> {
  const first = start instanceof Uint8Array ? [start] : start
  const options = { reverse, ...(first && { start: addressesKey(prefix, ...first) }) }
  for (const [key, value] of native.range(prefix, options)) yield [addressesOf(key, prefix), value]
}
