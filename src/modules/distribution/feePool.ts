import { type Address, toBech32 } from '../../primitives/address.ts'
import { type Decimal, decimalOf } from '../../primitives/decimal.ts'
import type { NativeStore } from '../../state/world.ts'
import { isBlockedAddress, sendCoins } from '../bank/send.ts'
import type { ModuleContext } from '../context.ts'
import { DISTRIBUTION } from '../moduleAccounts.ts'
import { type SdkError, sdkError } from '../sdkError.ts'
import { distributionError } from './errors.ts'
import { FEE_POOL_KEY, packIntegers, unpackIntegers } from './keys.ts'

/** The amounts that all validators share: a block with fees writes this one record. */
interface FeePool {
  /** acoin that belong to the community */
  readonly communityPool: Decimal
  /**
   * earnings since the genesis of one unit of voting power that is in every last commit, 10^-36
   * acoin; see rewards.ts
   */
  readonly accumulator: bigint
}

export function getFeePool(native: Pick<NativeStore, 'get'>): FeePool {
  const value = native.get(FEE_POOL_KEY)
  const [communityPool = 0n, accumulator = 0n] = value === undefined ? [] : unpackIntegers(value)
  return { communityPool, accumulator }
}

export function putFeePool(native: Pick<NativeStore, 'set'>, { communityPool, accumulator }: FeePool): void {
  native.set(FEE_POOL_KEY, packIntegers(communityPool, accumulator))
}

/** Returns the community's acoin. */
export function communityPool(native: Pick<NativeStore, 'get'>): Decimal {
  return getFeePool(native).communityPool
}

export function addToCommunityPool(native: Pick<NativeStore, 'get' | 'set'>, amount: Decimal): void {
  if (amount === 0n) return
  const pool = getFeePool(native)
  putFeePool(native, { ...pool, communityPool: pool.communityPool + amount })
}

/** Executes MsgFundCommunityPool: pays `amount` acoin to the community pool. */
export function fundCommunityPool(context: ModuleContext, from: Address, amount: bigint): SdkError | undefined {
  const failure = sendCoins(context, from, DISTRIBUTION, amount)
  if (failure !== undefined) return failure
  addToCommunityPool(context.world.native, decimalOf(amount))
  return undefined
}

/**
 * Executes MsgCommunityPoolSpend, when governance has decided it: pays `amount` acoin of the
 * community's to `to`.
 */
export function communityPoolSpend(context: ModuleContext, to: Address, amount: bigint): SdkError | undefined {
  if (isBlockedAddress(to)) {
    return sdkError('unauthorized', `${toBech32(to)} is not allowed to receive external funds`)
  }
  const { native } = context.world
  if (communityPool(native) < decimalOf(amount)) return distributionError('badDistribution')
  addToCommunityPool(native, -decimalOf(amount))
  return sendCoins(context, DISTRIBUTION, to, amount)
}
