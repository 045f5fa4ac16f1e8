import type { GenesisAccount } from '../chain/genesisAllocations.ts'
import { mint } from '../modules/bank/mint.ts'
import { setOperator } from '../modules/staking/operators.ts'
import type { Address } from '../primitives/address.ts'
import { NATIVE_ACCOUNT } from '../state/nativeAccount.ts'
import type { WorldState } from '../state/world.ts'

/** What the genesis puts into the state of block 0. */
export interface GenesisState {
  /** balances, preinstalled contracts and registered precompiles */
  readonly accounts: readonly GenesisAccount[]
  /** operators of the first validators by consensus address */
  readonly operators: readonly { readonly consensusAddress: Uint8Array; readonly operator: Address }[]
}

/**
 * Writes the state of block 0 into an empty world: balances and total supply, contracts, operators, and the account under which
 * native modules keep their entries (nonce 1, so that EIP-161 never deletes it).
 */
export function applyGenesis(
  world: Pick<WorldState, 'addBalance' | 'setNonce' | 'setCode' | 'native'>,
  { accounts, operators }: GenesisState,
): void {
  for (const { address, nonce, balanceAcoin, code } of accounts) {
    mint(world, address, balanceAcoin)
    if (nonce > 0n) world.setNonce(address, nonce)
    if (code.length > 0) world.setCode(address, code)
  }
  for (const { consensusAddress, operator } of operators) setOperator(world.native, consensusAddress, operator)
  world.setNonce(NATIVE_ACCOUNT, 1n)
}
