import type { NativeStore } from '../../state/world.ts'
import { addressesKey } from '../storeKey.ts'
import { REWARD_SHARE_PREFIX } from './keys.ts'
import { packIntegers, unpackIntegers } from './packedIntegers.ts'

/**
 * A validator of the last commit: the power that fees are divided by, and where the accumulator stood when its share was
 * last put into its rewards. There is one for each validator of the last commit and for nobody else.
 */
export interface RewardShare {
  readonly power: bigint
  /** 10^-36 acoin */
  readonly accumulator: bigint
}

export function getRewardShare(
  native: Pick<NativeStore, 'get'>,
  consensusAddress: Uint8Array,
): RewardShare | undefined {
  const value = native.get(addressesKey(REWARD_SHARE_PREFIX, consensusAddress))
  return value && decode(value)
}

export function putRewardShare(
  native: Pick<NativeStore, 'set'>,
  consensusAddress: Uint8Array,
  { power, accumulator }: RewardShare,
): void {
  native.set(addressesKey(REWARD_SHARE_PREFIX, consensusAddress), packIntegers(power, accumulator))
}

export function deleteRewardShare(native: Pick<NativeStore, 'delete'>, consensusAddress: Uint8Array): void {
  native.delete(addressesKey(REWARD_SHARE_PREFIX, consensusAddress))
}

/** All of them in order of consensus addresses. */
export function* rewardShares(
  native: Pick<NativeStore, 'range'>,
): IterableIterator<readonly [consensusAddress: Uint8Array, share: RewardShare]> {
  for (const [key, value] of native.range(REWARD_SHARE_PREFIX)) {
    yield [key.slice(REWARD_SHARE_PREFIX.length + 1), decode(value)]
  }
}

const EXTRA_PRECISION = 10n ** 18n

/** What the share earned up to `accumulator`, cut off after the 18th decimal. */
export function earnedBy(share: RewardShare, accumulator: bigint): bigint {
  return ((accumulator - share.accumulator) * share.power) / EXTRA_PRECISION
}

/** By how much the accumulator rises when `amount` (Decimal) is divided among `totalPower`. */
export function accumulatorRise(amount: bigint, totalPower: bigint): bigint {
  return (amount * EXTRA_PRECISION) / totalPower
}

/** What is spent of an amount that raised the accumulator by `rise`, not less than all shares of it together. */
export function spentBy(rise: bigint, totalPower: bigint): bigint {
  return (rise * totalPower + EXTRA_PRECISION - 1n) / EXTRA_PRECISION
}

function decode(value: Uint8Array): RewardShare {
  const [power = 0n, accumulator = 0n] = unpackIntegers(value)
  return { power, accumulator }
}
