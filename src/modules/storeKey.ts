import { concatBytes } from '../primitives/bytes.ts'

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
 * Raw key of a module's entry in the native store: the module's name, a slash, then the key that the Cosmos SDK uses
 * inside that module's store. Names hold no slash, so no two modules' keys collide.
 */
export function moduleStoreKey(module: ModuleName, ...parts: Uint8Array[]): Uint8Array {
  return concatBytes(new TextEncoder().encode(`${module}/`), ...parts)
}
