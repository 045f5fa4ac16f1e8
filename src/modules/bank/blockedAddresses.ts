import { type Address, moduleAddress } from '../../primitives/address.ts'
import { bytesKey, hexToBytes } from '../../primitives/bytes.ts'
import { MODULE_ACCOUNT_NAMES } from '../moduleAccounts.ts'

/** Where stateful precompiles live: coins sent there would be lost. */
const PRECOMPILES = [
  '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE',
  '0x0000000000000000000000000000000000000400',
  '0x0000000000000000000000000000000000000800',
  '0x0000000000000000000000000000000000000801',
  '0x0000000000000000000000000000000000000804',
  '0x0000000000000000000000000000000000000805',
  '0x0000000000000000000000000000000000000806',
] as const

const BLOCKED: ReadonlySet<string> = new Set(
  [...MODULE_ACCOUNT_NAMES.map(moduleAddress), ...PRECOMPILES.map(hexToBytes)].map(bytesKey),
)

/** Whether users may send no coins there: a module's account or a stateful precompile. */
export function isBlockedAddress(address: Address): boolean {
  return BLOCKED.has(bytesKey(address))
}
