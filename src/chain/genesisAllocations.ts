import { type Address, parseAddress } from '../primitives/address.ts'
import { bytesKey, compareBytes, EMPTY_BYTES, hexToBytes } from '../primitives/bytes.ts'
import type { Genesis } from './genesisSchema.ts'

/** An account of the state at block 0. */
export interface GenesisAccount {
  readonly address: Address
  readonly nonce: bigint
  readonly balanceAcoin: bigint
  readonly code: Uint8Array
}

/**
 * Code of a registered precompile's account, a lone STOP. With it EIP-161 never deletes the account, Solidity's code-size
 * checks pass, and a delegation to it (EIP-7702) runs nothing.
 */
export const PRECOMPILE_STUB_CODE: Uint8Array = Uint8Array.of(0)

/**
 * All accounts at block 0 in order of address: balances (the bonded pool's too), preinstalled contracts, and registered
 * precompiles. Contracts have nonce 1 as EIP-161 gives it to them.
 */
export function genesisAllocations(genesis: Genesis): readonly GenesisAccount[] {
  const { bank, evm, erc20 } = genesis.app_state
  const accounts = new Map<string, GenesisAccount>()
  for (const { address, coins } of bank.balances) {
    const bytes = parseAddress(address)
    const balanceAcoin = BigInt(coins[0]!.amount)
    accounts.set(bytesKey(bytes), { address: bytes, nonce: 0n, balanceAcoin, code: EMPTY_BYTES })
  }
  const addContract = (address: Address, code: Uint8Array): void => {
    const balanceAcoin = accounts.get(bytesKey(address))?.balanceAcoin ?? 0n
    accounts.set(bytesKey(address), { address, nonce: 1n, balanceAcoin, code })
  }
  for (const { address, code } of evm.preinstalls) addContract(parseAddress(address), hexToBytes(code))
  for (const address of [...erc20.native_precompiles, ...evm.params.active_static_precompiles]) {
    addContract(parseAddress(address), PRECOMPILE_STUB_CODE)
  }
  return [...accounts.values()].sort((a, b) => compareBytes(a.address, b.address))
}
