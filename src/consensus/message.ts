import type { Part } from '../chain/consensus/partSet.ts'
import type { Proposal, Vote } from '../chain/consensus/types.ts'
import type { Step } from './input.ts'

/** Bits by index; a set with `size` places. */
export interface BitSet {
  readonly size: number
  /** least significant bit first, ceil(size / 8) bytes, unused bits 0 */
  readonly bytes: Uint8Array
}

/** Where a node stands and what it has, so that its peers send what it lacks. */
export interface StatusMessage {
  readonly kind: 'status'
  readonly height: number
  readonly round: number
  readonly step: Step
  /** whether it has the proposal of that round */
  readonly hasProposal: boolean
  /** parts of the block it collects; undefined: it knows of no block */
  readonly parts: { readonly total: number; readonly hash: Uint8Array; readonly have: BitSet } | undefined
  /** by validator index, of that round */
  readonly prevotes: BitSet
  readonly precommits: BitSet
  /** round of the proof of lock that its proposal names, and whose prevotes of it, for its block, are there; undefined: none */
  readonly pol: { readonly round: number; readonly prevotes: BitSet } | undefined
  /** precommits of the height before, in the round of its commit; undefined at the first height */
  readonly lastCommit: { readonly round: number; readonly precommits: BitSet } | undefined
  /** indices of this height's validators that this node exchanges messages with directly, itself included */
  readonly directValidators: BitSet
}

/** What nodes send one another on the consensus stream. */
export type ConsensusMessage =
  | StatusMessage
  | { readonly kind: 'proposal'; readonly proposal: Proposal }
  | { readonly kind: 'part'; readonly height: number; readonly round: number; readonly part: Part }
  | { readonly kind: 'vote'; readonly vote: Vote }
