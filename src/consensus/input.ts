import type { ConsensusBlock } from '../chain/consensus/block.ts'
import type { Part } from '../chain/consensus/partSet.ts'
import type { Commit, Proposal, Vote } from '../chain/consensus/types.ts'
import type { FinalizeResult } from './application.ts'

/** A peer as consensus knows it: an opaque name (the node ID in production). */
export type PeerId = string

/** As whose the write-ahead log's messages of peers come back: they were accepted once, but are checked again. */
export const REPLAY: PeerId = 'replay'

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

/** A timer that consensus asked for, and the input when it expires. `newHeight` ends the wait before round 0. */
export interface Timeout {
  readonly height: number
  readonly round: number
  readonly step: 'newHeight' | 'propose' | 'prevote' | 'precommit'
}

/**
 * Everything that can change the state of consensus. `from` is the peer that sent it; undefined: this node itself. The
 * reducer does not trust peers: it checks everything, signatures included.
 */
export type Input =
  | {
      readonly kind: 'proposal'
      readonly proposal: Proposal
      /** wall clock at its arrival, ms since the epoch: PBTS judges by it */
      readonly receivedMs: number
      readonly from: PeerId | undefined
    }
  | {
      readonly kind: 'part'
      readonly height: number
      readonly round: number
      readonly part: Part
      readonly from: PeerId | undefined
    }
  | { readonly kind: 'vote'; readonly vote: Vote; readonly from: PeerId | undefined }
  | { readonly kind: 'timeout'; readonly timeout: Timeout }
  /** the answer to a `build` effect */
  | { readonly kind: 'built'; readonly round: number; readonly block: ConsensusBlock }
  /** the application's answer to a `validate` effect; `reason` undefined: accepted */
  | {
      readonly kind: 'validated'
      readonly height: number
      readonly blockHash: Uint8Array
      readonly reason: string | undefined
    }
  /** a decided block of the present height that a peer had */
  | {
      readonly kind: 'decision'
      readonly block: ConsensusBlock
      readonly commit: Commit
      readonly from: PeerId | undefined
    }
  /** the answer to a `finalize` effect: the next height may begin */
  | { readonly kind: 'finalized'; readonly height: number; readonly result: FinalizeResult }

/** What other nodes send. */
export type MessageInput = Extract<Input, { readonly kind: 'proposal' | 'part' | 'vote' }>
