import { type GenesisValidator, genesisValidators } from '../chain/genesis.ts'
import { type GenesisAccount, genesisAllocations } from '../chain/genesisAllocations.ts'
import type { Genesis } from '../chain/genesisSchema.ts'
import { mint } from '../modules/bank/mint.ts'
import { initStaking } from '../modules/staking/initStaking.ts'
import { NATIVE_ACCOUNT } from '../state/nativeAccount.ts'
import type { WorldState } from '../state/world.ts'

/** What the genesis puts into the state of block 0. */
export interface GenesisState {
  /** balances, preinstalled contracts and registered precompiles */
  readonly accounts: readonly GenesisAccount[]
  /** of the first block */
  readonly validators: readonly GenesisValidator[]
  /** validators that may have voting power at a time */
  readonly maxValidators: number
}

export function genesisStateOf(genesis: Genesis): GenesisState {
  return {
    accounts: genesisAllocations(genesis),
    validators: genesisValidators(genesis),
    maxValidators: genesis.app_state.staking.params.max_validators,
  }
}

/**
 * Writes the state of block 0 into an empty world: balances and total supply, contracts, validators, and the account under which
 * native modules keep their entries (nonce 1, so that EIP-161 never deletes it).
 */
export function applyGenesis(
  world: Pick<WorldState, 'addBalance' | 'setNonce' | 'setCode' | 'native'>,
  { accounts, validators, maxValidators }: GenesisState,
): void {
  for (const { address, nonce, balanceAcoin, code } of accounts) {
    mint(world, address, balanceAcoin)
    if (nonce > 0n) world.setNonce(address, nonce)
    if (code.length > 0) world.setCode(address, code)
  }
  initStaking(world.native, { validators, maxValidators })
  world.setNonce(NATIVE_ACCOUNT, 1n)
}
