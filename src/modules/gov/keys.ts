import type { Address } from '../../primitives/address.ts'
import { bigIntToBytes } from '../../primitives/bytes.ts'
import { addressesKey, moduleStoreKey } from '../storeKey.ts'

/** Keys of the gov module: prefixes of x/gov/types/keys.go. Times in keys are milliseconds, 8 bytes. */

const key = (prefix: number, ...parts: Uint8Array[]): Uint8Array =>
  moduleStoreKey('gov', Uint8Array.of(prefix), ...parts)
const idBytes = (id: bigint): Uint8Array => bigIntToBytes(id, 8)
const timeBytes = (timeMs: number): Uint8Array => bigIntToBytes(BigInt(timeMs), 8)

export const PROPOSALS_PREFIX = key(0x00)
/** Proposals that are voted on, by the end of voting: time | id. */
export const ACTIVE_QUEUE_PREFIX = key(0x01)
/** Ends of deposit periods, and (at time 0) what is left to clean up of proposals that ended: time | id. */
export const INACTIVE_QUEUE_PREFIX = key(0x02)
export const NEXT_PROPOSAL_ID_KEY = key(0x03)
/** Tallies that go on over several blocks: id. */
export const TALLIES_PREFIX = key(0x05)
/** Sum of all deposits. */
export const DEPOSITS_HELD_KEY = key(0x06)
export const DEPOSITS_PREFIX = key(0x10)
export const CONSTITUTION_KEY = key(0x31)
/** inside the module's store */
export const PARAMS_KEY = Uint8Array.of(0x30)

export const proposalKey = (id: bigint): Uint8Array => key(0x00, idBytes(id))
export const activeQueueKey = (endMs: number, id: bigint): Uint8Array => key(0x01, timeBytes(endMs), idBytes(id))
export const inactiveQueueKey = (endMs: number, id: bigint): Uint8Array => key(0x02, timeBytes(endMs), idBytes(id))
export const tallyKey = (id: bigint): Uint8Array => key(0x05, idBytes(id))
export const depositsKey = (id: bigint): Uint8Array => key(0x10, idBytes(id))
export const depositKey = (id: bigint, depositor: Address): Uint8Array => addressesKey(depositsKey(id), depositor)
export const votesKey = (id: bigint): Uint8Array => key(0x20, idBytes(id))
export const voteKey = (id: bigint, voter: Address): Uint8Array => addressesKey(votesKey(id), voter)
