import type { Address } from '../../primitives/address.ts'
import { concatBytes } from '../../primitives/bytes.ts'
import type { Decimal } from '../../primitives/decimal.ts'
import { decimal, defineMessage, uint64 } from '../../primitives/protoSchema.ts'
import type { NativeStore } from '../../state/world.ts'
import { addressKey, periodBytes, SLASH_EVENT_PREFIX } from './keys.ts'

const SlashRecord = defineMessage('coind.distribution.SlashRecord', { height: uint64(1), fraction: decimal(2) })

/** That a validator was slashed at the end of a period. */
export interface SlashEvent {
  /** refers to the historical rewards at its end */
  readonly period: bigint
  readonly height: number
  /** by which stakes fell */
  readonly fraction: Decimal
}

export function putSlashEvent(
  native: Pick<NativeStore, 'set'>,
  operator: Address,
  { period, height, fraction }: SlashEvent,
): void {
  native.set(slashKey(operator, period), SlashRecord.encode({ height: BigInt(height), fraction }))
}

/** The validator's slashes at the ends of `firstPeriod` and later ones, in order; with `reverse` it and earlier ones, backwards. */
export function* slashEventsFrom(
  native: Pick<NativeStore, 'range'>,
  operator: Address,
  firstPeriod: bigint,
  reverse = false,
): IterableIterator<SlashEvent> {
  const prefix = addressKey(SLASH_EVENT_PREFIX, operator)
  for (const [key, value] of native.range(prefix, { start: slashKey(operator, firstPeriod), reverse })) {
    const { height, fraction } = SlashRecord.decode(value)
    const period = new DataView(key.buffer, key.byteOffset + prefix.length).getBigUint64(0)
    yield { period, height: Number(height), fraction }
  }
}

export function deleteSlashEvents(native: Pick<NativeStore, 'range' | 'delete'>, operator: Address): void {
  for (const [key] of [...native.range(addressKey(SLASH_EVENT_PREFIX, operator))]) native.delete(key)
}

function slashKey(operator: Address, period: bigint): Uint8Array {
  return concatBytes(addressKey(SLASH_EVENT_PREFIX, operator), periodBytes(period))
}
