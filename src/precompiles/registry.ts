import { MODULE_ACCOUNT_NAMES } from '../chain/genesis/genesisConstants.ts'
import type { PrecompileTable, StatefulPrecompile } from '../evm/precompile.ts'
import { bank } from '../modules/bank/precompile/bank.ts'
import { nativeToken } from '../modules/bank/precompile/nativeToken.ts'
import { distribution } from '../modules/distribution/precompile/distribution.ts'
import { governance } from '../modules/gov/precompile/governance.ts'
import { encodeErrorString } from '../modules/precompileFunctions/abi/codec.ts'
import { slashing } from '../modules/slashing/precompile/slashing.ts'
import { staking } from '../modules/staking/precompile/staking.ts'
import { type Address, moduleAddress, toBech32, toChecksumAddress } from '../primitives/address.ts'
import { bytesKey, EMPTY_BYTES } from '../primitives/bytes.ts'
import { bech32 } from './bech32.ts'

/** Every stateful precompile that this version knows. */
const KNOWN: readonly StatefulPrecompile[] = [nativeToken, bech32, staking, distribution, bank, governance, slashing]

/** No call may send coins to accounts of modules, whatever a genesis registers. */
const CLOSED: readonly StatefulPrecompile[] = MODULE_ACCOUNT_NAMES.map((name) => closedAccount(moduleAddress(name)))

/**
 * Returns the precompiles that a genesis registers, and the accounts of native modules.
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

/**
 * Returns the precompile for the account of a native module. A call with value reverts with the
 * error of MsgSend to that account, since the coins could not be moved out again. A call without
 * value does what a call to an account without code does.
 */
function closedAccount(address: Address): StatefulPrecompile {
  const refusal = encodeErrorString(`${toBech32(address)} is not allowed to receive funds: unauthorized`)
  return {
    address,
    isIdle: true,
    announcesWrites: true,
    run: ({ value, isDelegated }) =>
      value === 0n || isDelegated
        ? { status: 'success', output: EMPTY_BYTES, gasUsed: 0n }
        : { status: 'revert', output: refusal, gasUsed: 0n },
  }
}
