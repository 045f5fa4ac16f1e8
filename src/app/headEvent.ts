import type { PoolHeadUpdate } from '../mempool/types.ts'
import type { ChainHead } from './chainHead.ts'
import { mergePoolUpdates } from './poolUpdate.ts'

/** What becomes visible to other threads at once: a block, or in catch-up several. */
export interface HeadEvent {
  /** the newest block */
  readonly head: ChainHead
  /** the others are of all of them */
  readonly update: PoolHeadUpdate
  /** EVM gas */
  readonly gasUsed: bigint
  /** pieces of evidence */
  readonly evidenceCount: number
}

/** One headEvent for several, oldest first. */
export function mergeHeadEvents(headEvents: readonly HeadEvent[]): HeadEvent {
  return {
    head: headEvents.at(-1)!.head,
    update: mergePoolUpdates(headEvents.map(({ update }) => update)),
    gasUsed: headEvents.reduce((sum, { gasUsed }) => sum + gasUsed, 0n),
    evidenceCount: headEvents.reduce((sum, { evidenceCount }) => sum + evidenceCount, 0),
  }
}
