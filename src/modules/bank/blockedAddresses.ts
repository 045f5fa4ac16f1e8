import { NATIVE_TOKEN_ADDRESS, STATIC_PRECOMPILES } from '../../chain/genesisConstants.ts'
import { type Address, moduleAddress } from '../../primitives/address.ts'
import { bytesKey, hexToBytes } from '../../primitives/bytes.ts'
import { MODULE_ACCOUNT_NAMES } from '../moduleAccounts.ts'

const MODULE_KEYS: ReadonlySet<string> = new Set(MODULE_ACCOUNT_NAMES.map((name) => bytesKey(moduleAddress(name))))
/** Where stateful precompiles live: coins sent there would be lost. */
const PRECOMPILE_KEYS: ReadonlySet<string> = new Set(
  [NATIVE_TOKEN_ADDRESS, ...STATIC_PRECOMPILES].map((address) => bytesKey(hexToBytes(address))),
)

/** Whether users may send no coins there: a module's account or a stateful precompile. */
export function isBlockedAddress(address: Address): boolean {
  const key = bytesKey(address)
  return MODULE_KEYS.has(key) || PRECOMPILE_KEYS.has(key)
}

/**
 * Whether an account may not be granted anything: the SDK refuses who may receive nothing, unless there is the account already. Those of
 * modules always are: governance may act for somebody who granted it.
 */
export function isBlockedGrantee(address: Address): boolean {
  return PRECOMPILE_KEYS.has(bytesKey(address))
}
