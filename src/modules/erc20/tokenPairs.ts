import type { Genesis } from '../../chain/genesis/genesisSchema.ts'
import { type Address, parseAddress, toChecksumAddress } from '../../primitives/address.ts'
import { bool, defineMessage, enumeration, string, type ValueOf } from '../../primitives/protoSchema.ts'
import type { NativeStore } from '../../state/world.ts'
import type { ModuleContext } from '../context.ts'
import { defineParams, type ParamsStore } from '../params.ts'
import { moduleStoreKey } from '../storeKey.ts'

const OWNERS = { OWNER_UNSPECIFIED: 0, OWNER_MODULE: 1, OWNER_EXTERNAL: 2 } as const

/** cosmos.evm.erc20.v1.TokenPair: a coin and the ERC-20 contract that represents it. */
export const TokenPair = defineMessage('cosmos.evm.erc20.v1.TokenPair', {
  erc20Address: string(1),
  denom: string(2),
  enabled: bool(3),
  contractOwner: enumeration(4, OWNERS),
})
export type TokenPair = ValueOf<typeof TokenPair>

/** cosmos.evm.erc20.v1.Params */
const Erc20Params = defineMessage('cosmos.evm.erc20.v1.Params', {
  enableErc20: bool(1),
  permissionlessRegistration: bool(5),
})
type Erc20Params = ValueOf<typeof Erc20Params>

/**
 * The genesis sets parameters and pairs for good, as it does precompiles: no message changes them. Keys are this chain's own
 * (the SDK's are hashes): 0x01 | contract address.
 */
export const ERC20_PARAMS: ParamsStore<Erc20Params> = defineParams('erc20', Uint8Array.of(0x00), Erc20Params)
const PAIRS_PREFIX = moduleStoreKey('erc20', Uint8Array.of(0x01))

/** Yields all pairs, in order of their contracts' addresses. */
export function* tokenPairs(native: Pick<NativeStore, 'range'>): IterableIterator<TokenPair> {
  for (const [, value] of native.range(PAIRS_PREFIX)) yield TokenPair.decode(value)
}

function putTokenPair(native: Pick<NativeStore, 'set'>, pair: TokenPair): void {
  const contract = parseAddress(pair.erc20Address)
  native.set(pairKey(contract), TokenPair.encode({ ...pair, erc20Address: toChecksumAddress(contract) }))
}

function pairKey(contract: Address): Uint8Array {
  return moduleStoreKey('erc20', Uint8Array.of(0x01), contract)
}

/** Writes the module's part of block 0. */
export function initErc20(
  { world: { native } }: ModuleContext,
  { params, token_pairs }: Pick<Genesis['app_state']['erc20'], 'params' | 'token_pairs'>,
): void {
  ERC20_PARAMS.set(native, {
    enableErc20: params.enable_erc20,
    permissionlessRegistration: params.permissionless_registration,
  })
  for (const { erc20_address, denom, enabled, contract_owner } of token_pairs) {
    putTokenPair(native, { erc20Address: erc20_address, denom, enabled, contractOwner: OWNERS[contract_owner] })
  }
}
