import type { Address } from '../../primitives/address.ts'
import { bytesToBigInt } from '../../primitives/bytes.ts'
import { defineMessage, integer, uint32, type ValueOf } from '../../primitives/protoSchema.ts'
import type { NativeStore } from '../../state/world.ts'
import { addressKey, HISTORICAL_PREFIX, periodBytes } from './keys.ts'

/**
 * What one acoin of stake that a validator had from its start earned up to the end of a period (the SDK's
 * ValidatorHistoricalRewards with twice the decimals). It stays as long as somebody refers to it: the current period (to the
 * one before), delegations that started then, and slashes at its end.
 */
const HistoricalRewards = defineMessage('coind.distribution.HistoricalRewards', {
  /** 10^-36 acoin per acoin */
  ratio: integer(1),
  references: uint32(2),
})
export type HistoricalRewards = ValueOf<typeof HistoricalRewards>

/** @throws Error (a bug) when nobody referred to that period any more */
export function getHistorical(native: Pick<NativeStore, 'get'>, operator: Address, period: bigint): HistoricalRewards {
  const value = native.get(historicalKey(operator, period))
  if (value === undefined) throw new Error(`there are no historical rewards of period ${period}`)
  return HistoricalRewards.decode(value)
}

export function putHistorical(
  native: Pick<NativeStore, 'set'>,
  operator: Address,
  period: bigint,
  historical: HistoricalRewards,
): void {
  native.set(historicalKey(operator, period), HistoricalRewards.encode(historical))
}

export function addReference(native: Pick<NativeStore, 'get' | 'set'>, operator: Address, period: bigint): void {
  const historical = getHistorical(native, operator, period)
  putHistorical(native, operator, period, { ...historical, references: historical.references + 1 })
}

/** The record goes with its last reference. */
export function dropReference(
  native: Pick<NativeStore, 'get' | 'set' | 'delete'>,
  operator: Address,
  period: bigint,
): void {
  const historical = getHistorical(native, operator, period)
  if (historical.references <= 1) native.delete(historicalKey(operator, period))
  else putHistorical(native, operator, period, { ...historical, references: historical.references - 1 })
}

/** Those of a validator in order of periods. */
export function* historicalOf(
  native: Pick<NativeStore, 'range'>,
  operator: Address,
): IterableIterator<readonly [period: bigint, historical: HistoricalRewards]> {
  const prefix = addressKey(HISTORICAL_PREFIX, operator)
  for (const [key, value] of native.range(prefix)) {
    yield [bytesToBigInt(key.subarray(prefix.length)), HistoricalRewards.decode(value)]
  }
}

export function deleteHistoricalOf(native: Pick<NativeStore, 'range' | 'delete'>, operator: Address): void {
  const prefix = addressKey(HISTORICAL_PREFIX, operator)
  for (const [key] of [...native.range(prefix)]) native.delete(key)
}

function historicalKey(operator: Address, period: bigint): Uint8Array {
  const prefix = addressKey(HISTORICAL_PREFIX, operator)
  const key = new Uint8Array(prefix.length + 8)
  key.set(prefix)
  key.set(periodBytes(period), prefix.length)
  return key
}
