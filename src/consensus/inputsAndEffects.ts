import type { ConsensusBlock } from '../chain/comet/block.ts'
import type { Part } from '../chain/comet/partSet.ts'
import type { BlockId, Commit, Proposal, UnsignedProposal, UnsignedVote, Vote } from '../chain/comet/types.ts'
import type { DecidedBlock, FinalizeResult } from './application.ts'
import type { Step } from './roundStateView.ts'
import type { Misbehaviour, PeerId } from './transport.ts'

/** `from` of a peer's message that is replayed from the write-ahead log: it is checked again, but no peer is punished for it. */
export const REPLAY: PeerId = 'replay'

/** A timer of a step: started by the effect `schedule`, an input when it expires. `newHeight` ends the wait before round 0. */
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
      /** wall clock at its arrival, ms since the epoch, for PBTS */
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
  /** a `validate` effect has no answer: the application did not finish in time. The block may be checked again in a later round. */
  | { readonly kind: 'unchecked'; readonly height: number; readonly blockHash: Uint8Array }
  /** a decided block of the current height that a peer had */
  | {
      readonly kind: 'decision'
      readonly block: ConsensusBlock
      readonly commit: Commit
      readonly from: PeerId | undefined
    }
  /** the answer to a `finalize` effect: the next height may begin */
  | { readonly kind: 'finalized'; readonly height: number; readonly result: FinalizeResult }

/** The messages of other nodes. */
export type MessageInput = Extract<Input, { readonly kind: 'proposal' | 'part' | 'vote' }>

/**
 * An action of the engine for the reducer. Actions are done in the given order; answers come back
 * as inputs.
 */
export type Effect =
  /** replaces a timer of the same step; for `newHeight` the engine adds the pace of blocks to `delayMs` */
  | { readonly kind: 'schedule'; readonly timeout: Timeout; readonly delayMs: number }
  /** build a block of the current height; answered by `built` */
  | { readonly kind: 'build'; readonly height: number; readonly round: number; readonly lastCommit: Commit }
  /** ask the application about a block; answered by `validated` */
  | { readonly kind: 'validate'; readonly block: ConsensusBlock; readonly blockId: BlockId }
  /** log the parts, sign, log the proposal; it and the parts come back as inputs without `from` */
  | { readonly kind: 'signProposal'; readonly proposal: UnsignedProposal; readonly parts: readonly Part[] }
  /** sign and log; the vote comes back as an input. Its time is that of the clock, but at least `earliestMs`. */
  | {
      readonly kind: 'signVote'
      readonly vote: Omit<UnsignedVote, 'timestampMs'>
      readonly earliestMs: number
    }
  /** log commit and end of height, sync, then hand over to the application; answered by `finalized` */
  | { readonly kind: 'finalize'; readonly decided: DecidedBlock; readonly parts: readonly Part[] }
  /** two conflicting votes of one validator, both verified */
  | { readonly kind: 'equivocation'; readonly first: Vote; readonly second: Vote }
  /** more than a third of the power prevoted nil in the round of a new block that this node proposed */
  | { readonly kind: 'refused'; readonly height: number; readonly round: number; readonly block: ConsensusBlock }
  /** a proposal, part or vote was new and valid: log it and relay it to peers */
  | { readonly kind: 'accepted'; readonly input: Extract<Input, { readonly kind: 'proposal' | 'part' | 'vote' }> }
  /** height, round or step changed: announce it to peers */
  | { readonly kind: 'entered'; readonly height: number; readonly round: number; readonly step: Step }
  /** a peer sent a message that no honest peer sends: punish it */
  | { readonly kind: 'misbehaviour'; readonly peer: PeerId; readonly what: Misbehaviour; readonly reason: string }
  /** consensus cannot continue: more than two thirds voted for an invalid block, or decided two */
  | { readonly kind: 'halt'; readonly reason: string }
  /** for the operator's log: why a prevote is nil, why a round failed */
  | { readonly kind: 'log'; readonly message: string; readonly fields: Readonly<Record<string, unknown>> }
