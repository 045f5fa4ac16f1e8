import type { Address } from '../../primitives/address.ts'
import { bytesToBigInt } from '../../primitives/bytes.ts'
import type { NativeStore } from '../../state/world.ts'
import type { ModuleContext } from '../context.ts'
import type { Validator } from '../staking/validators.ts'
import { addressesKey } from '../storeKey.ts'
import { addToCommunityPool } from './feePool.ts'
import { HISTORICAL_PREFIX, packIntegers, periodKey, REWARDS_PREFIX, unpackIntegers } from './keys.ts'
import { accrueRewards, putRewards, type ValidatorRewards } from './rewards.ts'

/** 1 in the unit of ratios: shares may be worth very little after slashes, and small parts of acoin still count. */
export const RATIO_ONE: bigint = 10n ** 54n

/**
 * Earnings of one share of a validator from the validator's beginning up to the end of a period:
 * the SDK's ValidatorHistoricalRewards for shares instead of tokens. It is deleted with its last
 * reference. The current period refers to the one before, and each delegation to the period after
 * which it started.
 */
interface HistoricalRewards {
  /** 10^-54 acoin a share */
  readonly ratio: bigint
  readonly references: number
}

/** Creates the records of a new validator (x/distribution/keeper/validator.go, InitializeValidator). */
export function beginFirstPeriod({ world: { native } }: ModuleContext, operator: Address): void {
  putHistorical(native, operator, 0n, { ratio: 0n, references: 1 })
  putRewards(native, operator, { outstanding: 0n, commission: 0n, current: 0n, period: 1n })
}

/**
 * Ends the validator's period (x/distribution/keeper/validator.go, IncrementValidatorPeriod): the
 * period's rewards are divided by the shares, and the next period begins. Without shares the
 * rewards go to the community pool.
 * @returns the number of the period that ended; its historical rewards have the new period's reference
 */
export function endPeriod(context: ModuleContext, validator: Validator): bigint {
  const { native } = context.world
  const { operator, delegatorShares } = validator
  const rewards = accrueRewards(context, validator)
  const { period } = rewards
  const ratio = dropReference(native, operator, period - 1n) + currentRatio(rewards, validator)
  putHistorical(native, operator, period, { ratio, references: 1 })
  let { outstanding } = rewards
  if (delegatorShares === 0n) {
    addToCommunityPool(native, rewards.current)
    outstanding -= rewards.current
  }
  putRewards(native, operator, { outstanding, commission: rewards.commission, current: 0n, period: period + 1n })
  return period
}

/** Returns the current rewards for each of the validator's shares, 10^-54 acoin. */
export function currentRatio(
  { current }: ValidatorRewards,
  { delegatorShares }: Pick<Validator, 'delegatorShares'>,
): bigint {
  return delegatorShares === 0n ? 0n : (current * RATIO_ONE) / delegatorShares
}

/** Deletes all records of a validator's rewards. */
export function deleteRewards(native: Pick<NativeStore, 'range' | 'delete'>, operator: Address): void {
  native.delete(addressesKey(REWARDS_PREFIX, operator))
  for (const [key] of [...native.range(addressesKey(HISTORICAL_PREFIX, operator))]) native.delete(key)
}

/** @throws Error (a bug) when that period no longer has references */
export function getHistorical(native: Pick<NativeStore, 'get'>, operator: Address, period: bigint): HistoricalRewards {
  const value = native.get(periodKey(HISTORICAL_PREFIX, operator, period))
  if (value === undefined) throw new Error(`there are no historical rewards of period ${period}`)
  return decodeHistorical(value)
}

function putHistorical(
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

/** Removes a reference, and the record with its last one. @returns the ratio that it had */
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

/** Yields the historical rewards of a validator in order of periods. */
export function* historicalOf(
  native: Pick<NativeStore, 'range'>,
  operator: Address,
): IterableIterator<readonly [period: bigint, historical: HistoricalRewards]> {
  const prefix = addressesKey(HISTORICAL_PREFIX, operator)
  for (const [key, value] of native.range(prefix)) {
    yield [bytesToBigInt(key.subarray(prefix.length)), decodeHistorical(value)]
  }
}

function decodeHistorical(value: Uint8Array): HistoricalRewards {
  const [ratio = 0n, references = 0n] = unpackIntegers(value)
  return { ratio, references: Number(references) }
}
