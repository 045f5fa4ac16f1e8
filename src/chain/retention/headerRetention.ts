import type { EvidenceParams } from '../genesis/chainConfig.ts'
import { MIN_UNPACKED_BLOCKS } from '../segments/moveBlocks.ts'

/*
 * Decides how long a node needs the header, commit and validators of a block. A node that retains
 * all blocks retains these permanently. A node with BLOCK_HISTORY drops them when they are no
 * longer needed (src/chain/retention/dropHeaders.ts). A node that started from a snapshot fetches
 * the needed ones below its first block (src/chain/retention/completeBlocks.ts).
 */

/** Retention settings that decide on headers. */
export interface HeaderRules {
  /** number of newest blocks that are retained whole; 0: all, so that no header is dropped */
  readonly blockHistory: number
  /** number of newest headers retained for the node's own work in any case; `Infinity`: all */
  readonly ownBlocks: number
  readonly evidence: Pick<EvidenceParams, 'maxAgeBlocks' | 'maxAgeMs'>
  /** TRUST_PERIOD: light clients that start with a header of this age can get every later header */
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
  // While the next snapshot is made, all retained ones still exist.
  const snapshotBlocks = interval === 0 ? 0 : interval * (keep + 1) + SNAPSHOT_BLOCKS
  const stateBlocks = pruning === 'archive' ? Number.POSITIVE_INFINITY : pruning
  return {
    blockHistory,
    ownBlocks: Math.max(MIN_UNPACKED_BLOCKS, snapshotBlocks, stateBlocks),
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
 * Whether header, commit and validators of a block are needed while `head` is the newest one. If
 * they are not needed, neither are those of any block below, since both heights and times rise from
 * block to block. With BLOCK_HISTORY=0 this is the minimum that is needed.
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
 * Evidence expires at this multiple of its maximum age in time, however few blocks there are: the
 * stake at the time of the fault may have left long ago, and nodes need not retain headers for
 * longer.
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
