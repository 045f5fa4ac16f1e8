import type { Decimal } from '../../primitives/decimal.ts'
import type { NativeStore } from '../../state/world.ts'
import type { ModuleContext } from '../context.ts'
import { addressEntries, addressesKey } from '../storeKey.ts'
import { addToCommunityPool, getFeePool } from './feePool.ts'
import { packIntegers, REWARD_SHARE_PREFIX, unpackIntegers } from './keys.ts'

/**
 * A validator of the last commit: the power that fees are divided by, and the accumulator up to which its rewards have accrued.
 * Exactly the validators of the last commit have one.
 */
interface RewardShare {
  readonly power: bigint
  /** 10^-36 acoin */
  readonly accumulator: bigint
}

/**
 * Moves to the community pool the earnings of a reward share since the last accrual, since its
 * validator is removed.
 */
export function forfeitRewardShare({ world: { native } }: ModuleContext, consensusAddress: Uint8Array): void {
  const share = getRewardShare(native, consensusAddress)
  if (share === undefined) return
  const { accumulator } = getFeePool(native)
  addToCommunityPool(native, earnedBy(share, accumulator))
  putRewardShare(native, consensusAddress, { ...share, accumulator })
}

/** Called when a validator has another consensus key, with which it continues to earn. */
export function moveRewardShare(
  native: Pick<NativeStore, 'get' | 'set' | 'delete'>,
  from: Uint8Array,
  to: Uint8Array,
): void {
  const share = getRewardShare(native, from)
  if (share === undefined) return
  putRewardShare(native, to, share)
  native.delete(addressesKey(REWARD_SHARE_PREFIX, from))
}

export const EXTRA_PRECISION = 10n ** 18n

/** Returns the share's earnings up to `accumulator`, cut off after the 18th decimal. */
export function earnedBy(share: RewardShare, accumulator: bigint): Decimal {
  return ((accumulator - share.accumulator) * share.power) / EXTRA_PRECISION
}

export function getRewardShare(
  native: Pick<NativeStore, 'get'>,
  consensusAddress: Uint8Array,
): RewardShare | undefined {
  const value = native.get(addressesKey(REWARD_SHARE_PREFIX, consensusAddress))
  return value && decodeRewardShare(value)
}

export function putRewardShare(
  native: Pick<NativeStore, 'set'>,
  consensusAddress: Uint8Array,
  { power, accumulator }: RewardShare,
): void {
  native.set(addressesKey(REWARD_SHARE_PREFIX, consensusAddress), packIntegers(power, accumulator))
}

/** Yields all reward shares in order of consensus addresses. */
export function* rewardShares(
  native: Pick<NativeStore, 'range'>,
): IterableIterator<readonly [consensusAddress: Uint8Array, share: RewardShare]> {
  for (const [[address], value] of addressEntries(native, REWARD_SHARE_PREFIX)) {
    yield [address!, decodeRewardShare(value)]
  }
}

function decodeRewardShare(value: Uint8Array): RewardShare {
  const [power = 0n, accumulator = 0n] = unpackIntegers(value)
  return { power, accumulator }
}
