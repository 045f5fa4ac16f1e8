import type { Genesis } from '../../chain/genesisSchema.ts'
import type { ModuleContext } from '../context.ts'
import { ERC20_PARAMS, putTokenPair } from './tokenPairs.ts'
import { OWNERS } from './types.ts'

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
