import type { Address } from '../../primitives/address.ts'
import type { Decimal } from '../../primitives/decimal.ts'
import type { NativeStore } from '../../state/world.ts'
import { addressesKey } from '../storeKey.ts'
import { REWARDS_PREFIX } from './keys.ts'
import { packIntegers, unpackIntegers } from './packedIntegers.ts'

/**
 * What the SDK keeps in three records of a validator (ValidatorOutstandingRewards, ValidatorAccumulatedCommission,
 * ValidatorCurrentRewards), which always change together. Amounts are acoin.
 */
export interface ValidatorRewards {
  /** all that it and its delegators may still withdraw */
  readonly outstanding: Decimal
  /** the validator's own part of it */
  readonly commission: Decimal
  /** delegators' part that came in during the current period */
  readonly current: Decimal
  /** number of the current period */
  readonly period: bigint
}

/** As stored: without what the accumulator has for it, see `accruedRewards`. */
export function getRewards(native: Pick<NativeStore, 'get'>, operator: Address): ValidatorRewards | undefined {
  const value = native.get(addressesKey(REWARDS_PREFIX, operator))
  return value && decode(value)
}

export function putRewards(native: Pick<NativeStore, 'set'>, operator: Address, rewards: ValidatorRewards): void {
  const { outstanding, commission, current, period } = rewards
  native.set(addressesKey(REWARDS_PREFIX, operator), packIntegers(outstanding, commission, current, period))
}

export function deleteRewards(native: Pick<NativeStore, 'delete'>, operator: Address): void {
  native.delete(addressesKey(REWARDS_PREFIX, operator))
}

/** All of them, in order of operators. */
export function* allRewards(
  native: Pick<NativeStore, 'range'>,
): IterableIterator<readonly [operator: Address, rewards: ValidatorRewards]> {
  for (const [key, value] of native.range(REWARDS_PREFIX)) {
    yield [key.slice(REWARDS_PREFIX.length + 1), decode(value)]
  }
}

function decode(value: Uint8Array): ValidatorRewards {
  const [outstanding = 0n, commission = 0n, current = 0n, period = 0n] = unpackIntegers(value)
  return { outstanding, commission, current, period }
}
