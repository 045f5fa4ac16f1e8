import type { Part } from '../chain/comet/partSet.ts'
import type { BlockId, PartSetHeader, Proposal, RankedValidatorSet, Vote, VoteType } from '../chain/comet/types.ts'
import type { BitSet } from './bitSet.ts'

/** Steps of a height in their order (arXiv 1807.04938; the numbers are CometBFT's, cs types/round_state.go). */
export const STEPS = {
  newHeight: 1,
  newRound: 2,
  propose: 3,
  prevote: 4,
  prevoteWait: 5,
  precommit: 6,
  precommitWait: 7,
  commit: 8,
} as const

export type Step = (typeof STEPS)[keyof typeof STEPS]

/** Votes of one round and type, as gossip and RPC see them. */
export interface VoteSetView {
  readonly round: number
  readonly type: VoteType
  /** the validators whose vote is known, by index */
  bits(): BitSet
  /** the validators whose vote for this block is known; one that voted for several blocks counts for each */
  bitsFor(blockId: BlockId): BitSet
  /** the vote of this validator to relay: that for the majority's block if there is one, else the first */
  vote(index: number): Vote | undefined
  voteFor(index: number, blockId: BlockId): Vote | undefined
  /** the block (or nil) with votes of more than two thirds of the power; undefined: none yet */
  majority(): BlockId | undefined
  /** voting power of all known votes */
  power(): bigint
}

/** Parts of the block that is being collected, or that is complete. */
export interface PartsView {
  readonly header: PartSetHeader
  has(index: number): boolean
  part(index: number): Part | undefined
}

/** The current height as gossip and RPC see it; only the reducer changes it. */
export interface RoundStateView {
  readonly height: number
  readonly round: number
  readonly step: Step
  readonly validators: RankedValidatorSet
  readonly proposal: Proposal | undefined
  readonly parts: PartsView | undefined
  votes(round: number, type: VoteType): VoteSetView | undefined
  /** more than two thirds have voted in this round, but not for the same: each further vote may make a majority */
  readonly isContested: boolean
  /** round of the precommits that decided the block; -1 before the decision */
  readonly commitRound: number
  readonly lockedRound: number
  readonly lockedBlockId: BlockId | undefined
  readonly validRound: number
  readonly validBlockId: BlockId | undefined
  /** precommits of the previous height; undefined at the first height */
  readonly lastPrecommits: VoteSetView | undefined
  /** prevotes of the round that decided it; undefined where this node did not take part */
  readonly lastPrevotes: VoteSetView | undefined
}
