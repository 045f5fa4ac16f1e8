import { equalBytes } from '../../../primitives/bytes.ts'
import { address, array, tuple, uint256 } from '../../precompileFunctions/abi/types.ts'
import {
  createPrecompile,
  defineFunction,
  lowAddress,
  type TabledPrecompile,
} from '../../precompileFunctions/dispatch.ts'
import { getSupply } from '../ledger.ts'
import { NATIVE_TOKEN_ADDRESS } from './nativeToken.ts'

/**
 * cosmos/evm's prices: each item costs as much as an ERC-20 call. With one token there is at most
 * one item.
 */
export const BANK_GAS = { balances: 2_851n, totalSupply: 2_477n, supplyOf: 2_477n } as const

const Balances = array(tuple({ contractAddress: address, amount: uint256 }))

/** Balances and supply of coins by their ERC-20 contracts; there is one, acoin, the native token. Read only. */
export const bank: TabledPrecompile = createPrecompile(lowAddress(0x804), {
  functions: [
    defineFunction({
      name: 'balances',
      inputs: { account: address },
      outputs: { balances: Balances },
      gas: BANK_GAS.balances,
      mutability: 'view',
      run: ({ world }, { account }) => ({ balances: nativeCoins(world.getBalance(account)) }),
    }),
    defineFunction({
      name: 'totalSupply',
      inputs: {},
      outputs: { totalSupply: Balances },
      gas: BANK_GAS.totalSupply,
      mutability: 'view',
      run: ({ world }) => ({ totalSupply: nativeCoins(getSupply(world)) }),
    }),
    defineFunction({
      name: 'supplyOf',
      inputs: { erc20Address: address },
      outputs: { totalSupply: uint256 },
      gas: BANK_GAS.supplyOf,
      mutability: 'view',
      run: ({ world }, { erc20Address }) => ({
        totalSupply: equalBytes(erc20Address, NATIVE_TOKEN_ADDRESS) ? getSupply(world) : 0n,
      }),
    }),
  ],
})

function nativeCoins(amount: bigint): { contractAddress: Uint8Array; amount: bigint }[] {
  return amount === 0n ? [] : [{ contractAddress: NATIVE_TOKEN_ADDRESS, amount }]
}
