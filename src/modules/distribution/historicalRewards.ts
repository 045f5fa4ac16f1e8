import type { Address } from '../../primitives/address.ts'
import { bytesToBigInt } from '../../primitives/bytes.ts'
import type { NativeStore } from '../../state/world.ts'
import { addressesKey } from '../storeKey.ts'
import { HISTORICAL_PREFIX, periodKey } from './keys.ts'
import { packIntegers, unpackIntegers } from './packedIntegers.ts'

/** 1, as a ratio of acoin and shares is kept: shares may be worth very little after slashes, and still their parts count. */
export const RATIO_ONE: bigint = 10n ** 54n

/**
 * What one share of a validator earned from the validator's beginning up to the end of a period: the SDK's
 * ValidatorHistoricalRewards for shares instead of tokens. It stays as long as somebody refers to it: the current period (to
 * the one before), and delegations that started then.
 */
export interface HistoricalRewards {
  /** 10^-54 acoin a share */
  readonly ratio: bigint
  readonly references: number
}

/** @throws Error (a bug) when nobody referred to that period any more */
export function getHistorical(native: Pick<NativeStore, 'get'>, operator: Address, period: bigint): HistoricalRewards {
  const value = native.get(periodKey(HISTORICAL_PREFIX, operator, period))
  if (value === undefined) throw new Error(`there are no historical rewards of period ${period}`)
  return decode(value)
}

export function putHistorical(
  native: Pick<NativeStore, 'set'>,
  operator: Address,
  period: bigint,
  { ratio, references }: HistoricalRewards,
): void {
  native.set(periodKey(HISTORICAL_PREFIX, operator, period), packIntegers(ratio, BigInt(references)))
}

export function addReference(native: Pick<NativeStore, 'get' | 'set'>, operator: Address, period: bigint): void {
  const historical = getHistorical(native, operator, period)
  putHistorical(native, operator, period, { ...historical, references: historical.references + 1 })
}

/** The record goes with its last reference. @returns the ratio that it had */
export function dropReference(
  native: Pick<NativeStore, 'get' | 'set' | 'delete'>,
  operator: Address,
  period: bigint,
): bigint {
  const historical = getHistorical(native, operator, period)
  if (historical.references <= 1) native.delete(periodKey(HISTORICAL_PREFIX, operator, period))
  else putHistorical(native, operator, period, { ...historical, references: historical.references - 1 })
  return historical.ratio
}

/** Those of a validator in order of periods. */
export function* historicalOf(
  native: Pick<NativeStore, 'range'>,
  operator: Address,
): IterableIterator<readonly [period: bigint, historical: HistoricalRewards]> {
  const prefix = addressesKey(HISTORICAL_PREFIX, operator)
  for (const [key, value] of native.range(prefix)) {
    yield [bytesToBigInt(key.subarray(prefix.length)), decode(value)]
  }
}

export function deleteHistoricalOf(native: Pick<NativeStore, 'range' | 'delete'>, operator: Address): void {
  const prefix = addressesKey(HISTORICAL_PREFIX, operator)
  for (const [key] of [...native.range(prefix)]) native.delete(key)
}

function decode(value: Uint8Array): HistoricalRewards {
  const [ratio = 0n, references = 0n] = unpackIntegers(value)
  return { ratio, references: Number(references) }
}
