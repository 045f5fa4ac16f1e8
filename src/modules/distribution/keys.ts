import { bigIntToBytes, concatBytes } from '../../primitives/bytes.ts'
import { addressesKey, moduleStoreKey } from '../storeKey.ts'

/**
 * Prefixes of the module's keys: the SDK's (x/distribution/types/keys.go) where it has such a record; the last two are ours.
 */
export const FEE_POOL_KEY: Uint8Array = moduleStoreKey('distribution', Uint8Array.of(0x00))
/** delegator -> address that its rewards go to */
export const WITHDRAW_ADDRESS_PREFIX: Uint8Array = moduleStoreKey('distribution', Uint8Array.of(0x03))
/** operator, delegator -> starting info */
export const STARTING_INFO_PREFIX: Uint8Array = moduleStoreKey('distribution', Uint8Array.of(0x04))
/** operator, period -> historical rewards */
export const HISTORICAL_PREFIX: Uint8Array = moduleStoreKey('distribution', Uint8Array.of(0x05))
/** operator -> rewards of the validator */
export const REWARDS_PREFIX: Uint8Array = moduleStoreKey('distribution', Uint8Array.of(0x06))
/** operator, period -> slash event */
export const SLASH_EVENT_PREFIX: Uint8Array = moduleStoreKey('distribution', Uint8Array.of(0x08))
export const PARAMS_KEY: Uint8Array = Uint8Array.of(0x09)
/** consensus address -> counted share */
export const REWARD_SHARE_PREFIX: Uint8Array = moduleStoreKey('distribution', Uint8Array.of(0x0a))
/** digest of the votes that the counted shares were made of */
export const REWARD_SHARES_DIGEST_KEY: Uint8Array = moduleStoreKey('distribution', Uint8Array.of(0x0b))

/** `prefix`, a validator and a period, which sorts as a number. */
export function periodKey(prefix: Uint8Array, operator: Uint8Array, period: bigint): Uint8Array {
  return concatBytes(addressesKey(prefix, operator), bigIntToBytes(period, 8))
}
