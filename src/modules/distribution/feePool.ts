import type { Decimal } from '../../primitives/decimal.ts'
import { decimal, defineMessage, integer, type ValueOf } from '../../primitives/protoSchema.ts'
import type { NativeStore } from '../../state/world.ts'
import { FEE_POOL_KEY } from './keys.ts'

/** What all validators share: a block with fees writes this one record. */
const FeePoolRecord = defineMessage('coind.distribution.FeePoolRecord', {
  /** acoin that belong to the community */
  communityPool: decimal(1),
  /** what one unit of voting power that is in every last commit earned since the genesis, 10^-36 acoin */
  accumulator: integer(2),
})
export type FeePoolRecord = ValueOf<typeof FeePoolRecord>

export function getFeePool(native: Pick<NativeStore, 'get'>): FeePoolRecord {
  const value = native.get(FEE_POOL_KEY)
  return value === undefined ? FeePoolRecord.create() : FeePoolRecord.decode(value)
}

export function putFeePool(native: Pick<NativeStore, 'set'>, pool: FeePoolRecord): void {
  native.set(FEE_POOL_KEY, FeePoolRecord.encode(pool))
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
