import { type Address, parseAddress, toChecksumAddress } from '../../primitives/address.ts'
import type { NativeStore } from '../../state/world.ts'
import { defineParams, type ParamsStore } from '../params.ts'
import { moduleStoreKey } from '../storeKey.ts'
import { Erc20Params, TokenPair } from './types.ts'

/**
 * Parameters and pairs are the genesis's for good, as precompiles are: no message changes them. Keys are this chain's own
 * (the SDK's are hashes): 0x01 | contract address.
 */
export const ERC20_PARAMS: ParamsStore<Erc20Params> = defineParams('erc20', Uint8Array.of(0x00), Erc20Params)
const PAIRS_PREFIX = moduleStoreKey('erc20', Uint8Array.of(0x01))

/** All pairs, in order of their contracts' addresses. */
export function* tokenPairs(native: Pick<NativeStore, 'range'>): IterableIterator<TokenPair> {
  for (const [, value] of native.range(PAIRS_PREFIX)) yield TokenPair.decode(value)
}

export function putTokenPair(native: Pick<NativeStore, 'set'>, pair: TokenPair): void {
  const contract = parseAddress(pair.erc20Address)
  native.set(pairKey(contract), TokenPair.encode({ ...pair, erc20Address: toChecksumAddress(contract) }))
}

function pairKey(contract: Address): Uint8Array {
  return moduleStoreKey('erc20', Uint8Array.of(0x01), contract)
}
