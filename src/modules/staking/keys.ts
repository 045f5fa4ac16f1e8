import type { Address } from '../../primitives/address.ts'
import { bigIntToBytes, concatBytes } from '../../primitives/bytes.ts'
import { moduleStoreKey } from '../storeKey.ts'

/*
 * Keys of the staking module: the SDK's first bytes (x/staking/types/keys.go), then addresses, each after its length, as in the SDK.
 * The parameters are under 0x51, see params.ts. From 0x61 on they are ours.
 */

const prefix = (first: number): Uint8Array => moduleStoreKey('staking', Uint8Array.of(first))

/** operator -> voting power that consensus knows */
export const LAST_POWERS = prefix(0x11)
/** -> their sum */
export const LAST_TOTAL_POWER = prefix(0x12)
/** operator -> validator */
export const VALIDATORS = prefix(0x21)
/** consensus address -> operator */
export const OPERATORS_BY_CONSENSUS_ADDRESS = prefix(0x22)
/** power, operator -> operator; see {@link powerKey} */
export const POWER_INDEX = prefix(0x23)
/** delegator, operator -> shares */
export const DELEGATIONS = prefix(0x31)
/** delegator, operator -> entries */
export const UNBONDING_DELEGATIONS = prefix(0x32)
/** operator, delegator */
export const UNBONDING_DELEGATIONS_BY_VALIDATOR = prefix(0x33)
/** delegator, source, destination -> entries */
export const REDELEGATIONS = prefix(0x34)
/** source, delegator, destination */
export const REDELEGATIONS_BY_SOURCE = prefix(0x35)
/** delegator, destination, source */
export const REDELEGATIONS_BY_DESTINATION = prefix(0x36)
/** -> the last unbonding ID */
export const UNBONDING_ID = prefix(0x37)
/** time, kind, addresses; see queue.ts */
export const QUEUE = prefix(0x41)
/** operator; present while it may not rotate its key again */
export const ROTATED_OPERATORS = prefix(0x92)
/** consensus address -> why no validator may take that key; see keyRotation.ts */
export const LOCKED_KEYS = prefix(0x93)
/** operator -> rotation that is not applied yet */
export const PENDING_ROTATIONS = prefix(0x94)
/** present while the validator set may have to change */
export const SET_CHANGED = prefix(0x61)
/** operator, delegator */
export const DELEGATIONS_BY_VALIDATOR = prefix(0x71)
/** operator, height, delegator; see heightIndex.ts */
export const UNBONDING_BY_HEIGHT = prefix(0x72)
/** source, height, delegator, destination */
export const REDELEGATIONS_BY_HEIGHT = prefix(0x73)

/** operator, height / 64 -> sums of stake that left; see departures.ts */
export const DEPARTED_LEAVES = prefix(0x74)
/** operator, height / 16,384 -> their sum */
export const DEPARTED_BRANCHES = prefix(0x75)
/** -> slashes that some unbondings and redelegations do not have yet; see settle.ts */
export const PENDING_SLASHES = prefix(0x76)

/** The value of entries that only need a key: indexes, queues and flags. */
export const PRESENT: Uint8Array = Uint8Array.of(1)

/** Keys sort by power, and equal powers by descending operator: read backwards, the strongest with the lowest address comes first. */
export function powerKey(power: bigint, operator: Address): Uint8Array {
  return concatBytes(
    POWER_INDEX,
    bigIntToBytes(power, 8),
    Uint8Array.of(operator.length),
    operator.map((byte) => 0xff - byte),
  )
}
