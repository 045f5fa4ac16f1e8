import type { Address } from '../../primitives/address.ts'
import { bytesToBigInt } from '../../primitives/bytes.ts'
import type { Decimal } from '../../primitives/decimal.ts'
import type { NativeStore } from '../../state/world.ts'
import type { ReadContext } from '../context.ts'
import { addressesKey } from '../storeKey.ts'
import { packIntegers, periodKey, SLASH_EVENT_PREFIX, unpackIntegers } from './keys.ts'

/** A validator was slashed at the end of a period. Only queries read it; rewards do not need it. */
interface SlashEvent {
  readonly period: bigint
  readonly height: number
  /** the part of its tokens that was burnt, rounded up */
  readonly fraction: Decimal
}

/**
 * The most slashes of a validator that are stored: a new one removes the oldest. They are all deleted at once with their validator, which
 * takes some 2,200 gas of work for each.
 */
export const MAX_SLASH_EVENTS = 100

export function putSlashEvent(
  native: Pick<NativeStore, 'range' | 'set' | 'delete'>,
  operator: Address,
  { period, height, fraction }: SlashEvent,
): void {
  const keys = [...native.range(addressesKey(SLASH_EVENT_PREFIX, operator))].map(([key]) => key)
  for (const key of keys.slice(0, Math.max(keys.length + 1 - MAX_SLASH_EVENTS, 0))) native.delete(key)
  native.set(slashKey(operator, period), packIntegers(BigInt(height), fraction))
}

/**
 * Yields the validator's slashes at the ends of `firstPeriod` and later periods, in order; with
 * `reverse` of earlier periods, backwards.
 */
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

/** Returns a validator's slashes at heights from `startHeight` to `endHeight`, in order. */
export function slashEvents(
  { world: { native } }: ReadContext,
  operator: Address,
  startHeight: number,
  endHeight: number,
): readonly SlashEvent[] {
  const events = [...slashEventsFrom(native, operator, 0n)]
  return events.filter(({ height }) => height >= startHeight && height <= endHeight)
}

export function deleteSlashEvents(native: Pick<NativeStore, 'range' | 'delete'>, operator: Address): void {
  for (const [key] of [...native.range(addressesKey(SLASH_EVENT_PREFIX, operator))]) native.delete(key)
}

function slashKey(operator: Address, period: bigint): Uint8Array {
  return periodKey(SLASH_EVENT_PREFIX, operator, period)
}
