import type { Address } from '../../primitives/address.ts'
import { bytesToBigInt } from '../../primitives/bytes.ts'
import type { Decimal } from '../../primitives/decimal.ts'
import type { NativeStore } from '../../state/world.ts'
import { addressesKey } from '../storeKey.ts'
import { periodKey, SLASH_EVENT_PREFIX } from './keys.ts'
import { packIntegers, unpackIntegers } from './packedIntegers.ts'

/** That a validator was slashed at the end of a period: for clients, rewards don't need it. */
export interface SlashEvent {
  readonly period: bigint
  readonly height: number
  /** of its tokens that were burnt, rounded up */
  readonly fraction: Decimal
}

export function putSlashEvent(
  native: Pick<NativeStore, 'set'>,
  operator: Address,
  { period, height, fraction }: SlashEvent,
): void {
  native.set(slashKey(operator, period), packIntegers(BigInt(height), fraction))
}

/** The validator's slashes at the ends of `firstPeriod` and later ones, in order; with `reverse` it and earlier ones, backwards. */
export function* slashEventsFrom(
  native: Pick<NativeStore, 'range'>,
  operator: Address,
  firstPeriod: bigint,
  reverse = false,
): IterableIterator<SlashEvent> {
  const prefix = addressesKey(SLASH_EVENT_PREFIX, operator)
  for (const [key, value] of native.range(prefix, { start: slashKey(operator, firstPeriod), reverse })) {
    const [height = 0n, fraction = 0n] = unpackIntegers(value)
    yield { period: bytesToBigInt(key.subarray(prefix.length)), height: Number(height), fraction }
  }
}

export function deleteSlashEvents(native: Pick<NativeStore, 'range' | 'delete'>, operator: Address): void {
  for (const [key] of [...native.range(addressesKey(SLASH_EVENT_PREFIX, operator))]) native.delete(key)
}

function slashKey(operator: Address, period: bigint): Uint8Array {
  return periodKey(SLASH_EVENT_PREFIX, operator, period)
}
