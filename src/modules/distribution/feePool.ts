import type { Decimal } from '../../primitives/decimal.ts'
import type { NativeStore } from '../../state/world.ts'
import { FEE_POOL_KEY } from './keys.ts'
import { packIntegers, unpackIntegers } from './packedIntegers.ts'

/** What all validators share: a block with fees writes this one record. */
export interface FeePool {
  /** acoin that belong to the community */
  readonly communityPool: Decimal
  /** what one unit of voting power that is in every last commit earned since the genesis, 10^-36 acoin */
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

/** The community's acoin. */
export function communityPool(native: Pick<NativeStore, 'get'>): Decimal {
  return getFeePool(native).communityPool
}

export function addToCommunityPool(native: Pick<NativeStore, 'get' | 'set'>, amount: Decimal): void {
  if (amount === 0n) return
  const pool = getFeePool(native)
  putFeePool(native, { ...pool, communityPool: pool.communityPool + amount })
}
