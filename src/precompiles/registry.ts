import type { PrecompileTable, StatefulPrecompile } from '../evm/precompile.ts'
import { MODULE_ACCOUNT_NAMES } from '../modules/moduleAccounts.ts'
import { type Address, moduleAddress, toChecksumAddress } from '../primitives/address.ts'
import { bytesKey } from '../primitives/bytes.ts'
import { bank } from './bank.ts'
import { bech32 } from './bech32.ts'
import { closedAccount } from './closedAccount.ts'
import { distribution } from './distribution/distribution.ts'
import { governance } from './gov/governance.ts'
import { nativeToken } from './nativeToken.ts'
import { slashing } from './slashing/slashing.ts'
import { staking } from './staking/staking.ts'

/** Every stateful precompile that this version knows. */
const KNOWN: readonly StatefulPrecompile[] = [nativeToken, bech32, staking, distribution, bank, governance, slashing]

/** Calls must not send coins to accounts of modules, whatever a genesis registers. */
const CLOSED: readonly StatefulPrecompile[] = MODULE_ACCOUNT_NAMES.map((name) => closedAccount(moduleAddress(name)))

/**
 * The precompiles that a genesis registers, and the accounts of native modules.
 * @throws Error for an address that this version has no precompile for
 */
export function precompileTable(registered: readonly Address[]): PrecompileTable {
  const known = new Map(KNOWN.map((precompile) => [bytesKey(precompile.address), precompile]))
  return new Map([
    ...CLOSED.map((account) => [bytesKey(account.address), account] as const),
    ...registered.map((address) => {
      const key = bytesKey(address)
      const precompile = known.get(key)
      if (precompile === undefined) {
        throw new Error(`the genesis registers a precompile at ${toChecksumAddress(address)}, which this version lacks`)
      }
      return [key, precompile] as const
    }),
  ])
}
