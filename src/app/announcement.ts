import type { PoolHeadUpdate } from '../mempool/types.ts'
import type { ChainHead } from './chainHead.ts'
import { mergePoolUpdates } from './poolUpdate.ts'

/** What becomes visible to other threads at once: a block, or in catch-up several. */
export interface Announcement {
  /** the newest block */
  readonly head: ChainHead
  /** the others are of all of them */
  readonly update: PoolHeadUpdate
  /** EVM gas */
  readonly gasUsed: bigint
  /** pieces of evidence */
  readonly evidenceCount: number
}

/** One announcement for several, oldest first. */
export function mergeAnnouncements(announcements: readonly Announcement[]): Announcement {
  return {
    head: announcements.at(-1)!.head,
    update: mergePoolUpdates(announcements.map(({ update }) => update)),
    gasUsed: announcements.reduce((sum, { gasUsed }) => sum + gasUsed, 0n),
    evidenceCount: announcements.reduce((sum, { evidenceCount }) => sum + evidenceCount, 0),
  }
}
