import type { ModuleContext } from '../context.ts'
import { earnedBy, getCountedShare, putCountedShare } from './countedShares.ts'
import { addToCommunityPool, getFeePool } from './feePool.ts'

/** Gives the community what a counted share earned since it was last settled: its validator is gone. */
export function forfeitShare({ world: { native } }: ModuleContext, consensusAddress: Uint8Array): void {
  const share = getCountedShare(native, consensusAddress)
  if (share === undefined) return
  const { accumulator } = getFeePool(native)
  addToCommunityPool(native, earnedBy(share, accumulator))
  putCountedShare(native, consensusAddress, { ...share, accumulator })
}
