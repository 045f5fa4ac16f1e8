import type { ModuleContext } from '../context.ts'
import { addToCommunityPool, getFeePool } from './feePool.ts'
import { earnedBy, getRewardShare, putRewardShare } from './rewardShares.ts'

/** Gives the community what a counted share earned since it was last settled: its validator is gone. */
export function forfeitShare({ world: { native } }: ModuleContext, consensusAddress: Uint8Array): void {
  const share = getRewardShare(native, consensusAddress)
  if (share === undefined) return
  const { accumulator } = getFeePool(native)
  addToCommunityPool(native, earnedBy(share, accumulator))
  putRewardShare(native, consensusAddress, { ...share, accumulator })
}
