import type { Address } from '../../primitives/address.ts'
import { decimal, defineMessage, uint64, type ValueOf } from '../../primitives/protoSchema.ts'
import type { NativeStore } from '../../state/world.ts'
import { addressKey, REWARDS_PREFIX } from './keys.ts'

/**
 * What the SDK keeps in three records of a validator (ValidatorOutstandingRewards, ValidatorAccumulatedCommission,
 * ValidatorCurrentRewards), which always change together. Amounts are acoin.
 */
const ValidatorRewards = defineMessage('coind.distribution.ValidatorRewards', {
  /** all that it and its delegators may still withdraw */
  outstanding: decimal(1),
  /** the validator's own part of it */
  commission: decimal(2),
  /** delegators' part that came in during the current period */
  current: decimal(3),
  /** number of the current period */
  period: uint64(4),
})
export type ValidatorRewards = ValueOf<typeof ValidatorRewards>

/** As stored: without what the accumulator has for it, see `settledRewards`. */
export function getRewards(native: Pick<NativeStore, 'get'>, operator: Address): ValidatorRewards | undefined {
  const value = native.get(addressKey(REWARDS_PREFIX, operator))
  return value && ValidatorRewards.decode(value)
}

export function putRewards(native: Pick<NativeStore, 'set'>, operator: Address, rewards: ValidatorRewards): void {
  native.set(addressKey(REWARDS_PREFIX, operator), ValidatorRewards.encode(rewards))
}

export function deleteRewards(native: Pick<NativeStore, 'delete'>, operator: Address): void {
  native.delete(addressKey(REWARDS_PREFIX, operator))
}

/** All of them, in order of operators. */
export function* allRewards(
  native: Pick<NativeStore, 'range'>,
): IterableIterator<readonly [operator: Address, rewards: ValidatorRewards]> {
  for (const [key, value] of native.range(REWARDS_PREFIX)) {
    yield [key.slice(REWARDS_PREFIX.length + 1), ValidatorRewards.decode(value)]
  }
}
