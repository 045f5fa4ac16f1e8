import type { Address } from '../../primitives/address.ts'
import { bigIntToBytes, concatBytes } from '../../primitives/bytes.ts'
import { moduleStoreKey } from '../storeKey.ts'

/**
 * Keys of the staking module: the SDK's first bytes (x/staking/types/keys.go), then addresses after their length, as there.
 */
const prefix = (first: number): Uint8Array => moduleStoreKey('staking', Uint8Array.of(first))

export const LAST_POWERS = prefix(0x11)
export const LAST_TOTAL_POWER = prefix(0x12)
export const VALIDATORS = prefix(0x21)
export const OPERATORS_BY_CONSENSUS_ADDRESS = prefix(0x22)
export const POWER_INDEX = prefix(0x23)
export const DELEGATIONS = prefix(0x31)
export const UNBONDING_DELEGATIONS = prefix(0x32)
export const UNBONDING_DELEGATIONS_BY_VALIDATOR = prefix(0x33)
export const REDELEGATIONS = prefix(0x34)
export const REDELEGATIONS_BY_SOURCE = prefix(0x35)
export const REDELEGATIONS_BY_DESTINATION = prefix(0x36)
export const UNBONDING_ID = prefix(0x37)
/** see queue.ts */
export const QUEUE = prefix(0x41)
/** PARAMS_KEY is 0x51, see params.ts */
export const SET_CHANGED = prefix(0x61)
export const DELEGATIONS_BY_VALIDATOR = prefix(0x71)
/** see heightIndex.ts */
export const UNBONDING_BY_HEIGHT = prefix(0x72)
export const REDELEGATIONS_BY_HEIGHT = prefix(0x73)

/** Keys sort by power, and equal powers by falling operator: read backwards, the strongest and lowest comes first. */
export function powerKey(power: bigint, operator: Address): Uint8Array {
  return concatBytes(
    POWER_INDEX,
    bigIntToBytes(power, 8),
    Uint8Array.of(operator.length),
    operator.map((byte) => 0xff - byte),
  )
}
