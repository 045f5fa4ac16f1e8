import type { EvidenceParams } from '../genesis/chainConfig.ts'
import { SETTLED_BLOCKS } from '../segments/moveBlocks.ts'

/*
 * How long a node needs header, commit and validators of a block. A node that keeps all blocks keeps these for ever. One with
 * BLOCK_HISTORY drops them when nothing needs them any more (src/chain/retention/dropHeaders.ts), and one that began with a snapshot fetches those
 * below its first block that are needed (src/chain/retention/missingBlocks.ts).
 */

/** What a node keeps, as far as it decides on headers. */
export interface HeaderRules {
  /** blocks that are kept whole; 0: all, so that no header is dropped */
  readonly blockHistory: number
  /** The newest so many are kept for the node's own work, whatever else is: `Infinity` keeps all. */
  readonly ownBlocks: number
  readonly evidence: Pick<EvidenceParams, 'maxAgeBlocks' | 'maxAgeMs'>
  /** TRUST_PERIOD: light clients that begin with a header of this age are served every one after it */
  readonly trustPeriodMs: number
}

/** Blocks in a snapshot, up to the one whose state it has (src/snapshot/manifest.ts). */
const SNAPSHOT_BLOCKS = 1_024

/** @param snapshots SNAPSHOT_INTERVAL (0: none are made) and SNAPSHOT_KEEP */
export function headerRules(options: {
  readonly pruning: 'archive' | number
  readonly blockHistory: number
  readonly snapshots: { readonly interval: number; readonly keep: number }
  readonly evidence: HeaderRules['evidence']
  readonly trustPeriodMs: number
}): HeaderRules {
  const { pruning, blockHistory, snapshots, evidence, trustPeriodMs } = options
  const { interval, keep } = snapshots
  // While the next one is made, all that are kept are still there.
  const snapshotBlocks = interval === 0 ? 0 : interval * (keep + 1) + SNAPSHOT_BLOCKS
  const stateBlocks = pruning === 'archive' ? Number.POSITIVE_INFINITY : pruning
  return {
    blockHistory,
    ownBlocks: Math.max(SETTLED_BLOCKS, snapshotBlocks, stateBlocks),
    evidence,
    trustPeriodMs,
  }
}

/** Height and time of a block: header.time in milliseconds. */
interface BlockAge {
  readonly height: number
  readonly timeMs: number
}

/**
 * Whether header, commit and validators of a block are needed while `head` is the newest one. Of no block below one that is not needed
 * they are, since both heights and times rise from block to block. With BLOCK_HISTORY=0 this says what is needed at least.
 */
export function isHeaderNeeded({ height, timeMs }: BlockAge, head: BlockAge, rules: HeaderRules): boolean {
  const age = { blocks: head.height - height, milliseconds: head.timeMs - timeMs }
  return (
    age.blocks <= Math.max(rules.blockHistory, rules.ownBlocks) ||
    age.milliseconds <= rules.trustPeriodMs ||
    !isEvidenceExpired({ height, timeMs }, head, rules.evidence)
  )
}

/**
 * However few blocks there are, evidence expires at this many times its maximum age in time: what was staked at the fault can have left
 * long ago, and nodes need not keep headers for longer.
 */
const LONGEST_AGE = 2

/**
 * Evidence about a block expires when it is older than both maximum ages (CometBFT evidence/verify.go), or than twice the one in time:
 * on a chain that is slower than planned, the one in blocks comes far later.
 */
export function isEvidenceExpired(
  { height, timeMs }: BlockAge,
  head: BlockAge,
  { maxAgeBlocks, maxAgeMs }: HeaderRules['evidence'],
): boolean {
  const ageMs = head.timeMs - timeMs
  return (head.height - height > maxAgeBlocks && ageMs > maxAgeMs) || ageMs > LONGEST_AGE * maxAgeMs
}
