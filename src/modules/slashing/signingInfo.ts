import { bool, defineMessage, int64, timestamp, type ValueOf } from '../../primitives/protoSchema.ts'
import type { NativeStore } from '../../state/world.ts'
import { addressesKey } from '../storeKey.ts'
import { SIGNING_INFO_PREFIX } from './keys.ts'

/**
 * What is known of a validator's signing: the SDK's ValidatorSigningInfo without what changes by itself (the index offset
 * follows from the height) and without the number of missed blocks (see `missedBlocks.ts`).
 */
const SigningRecord = defineMessage('coind.slashing.SigningRecord', {
  /** of the block at whose end it last got bonded */
  startHeight: int64(1),
  /** nanoseconds since the epoch */
  jailedUntil: timestamp(2),
  tombstoned: bool(3),
})
export type SigningRecord = ValueOf<typeof SigningRecord>

export function getSigningRecord(
  native: Pick<NativeStore, 'get'>,
  consensusAddress: Uint8Array,
): SigningRecord | undefined {
  const value = native.get(addressesKey(SIGNING_INFO_PREFIX, consensusAddress))
  return value && SigningRecord.decode(value)
}

export function putSigningRecord(
  native: Pick<NativeStore, 'set'>,
  consensusAddress: Uint8Array,
  record: SigningRecord,
): void {
  native.set(addressesKey(SIGNING_INFO_PREFIX, consensusAddress), SigningRecord.encode(record))
}

/** Where a walk starts, a consensus address, itself included, and whether it goes backwards. */
export interface SigningWalk {
  readonly start?: Uint8Array
  readonly reverse?: boolean
}

/** All of them in order of consensus addresses. */
export function* signingRecords(
  native: Pick<NativeStore, 'range'>,
  { start, reverse = false }: SigningWalk = {},
): IterableIterator<readonly [consensusAddress: Uint8Array, record: SigningRecord]> {
  const options = { reverse, ...(start && { start: addressesKey(SIGNING_INFO_PREFIX, start) }) }
  for (const [key, value] of native.range(SIGNING_INFO_PREFIX, options)) {
    yield [key.slice(SIGNING_INFO_PREFIX.length + 1), SigningRecord.decode(value)]
  }
}

/** Place in its window of the block before `height`, by how many blocks passed since the validator was bonded. */
export function windowIndex({ startHeight }: SigningRecord, height: number, window: bigint): number {
  return Number((BigInt(height) - startHeight) % window)
}
