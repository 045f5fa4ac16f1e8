import { NIL_BLOCK_ID, SIGNED_MESSAGE_TYPES, type VoteType } from '../chain/consensus/types.ts'
import type { CandidateBlock } from './candidateBlock.ts'
import { STEPS } from './input.ts'
import type { RoundState } from './roundState.ts'

/** Prevotes this block, or nil, and ends the step propose. */
export function castPrevote(rs: RoundState, candidate: CandidateBlock | undefined): void {
  rs.enter(rs.round, STEPS.prevote)
  castVote(rs, SIGNED_MESSAGE_TYPES.prevote, candidate)
}

/** Precommits this block, or nil, and ends the step prevote. */
export function castPrecommit(rs: RoundState, candidate: CandidateBlock | undefined): void {
  rs.enter(rs.round, STEPS.precommit)
  castVote(rs, SIGNED_MESSAGE_TYPES.precommit, candidate)
}

/** The step has changed before: whatever the signer says, this round and step ask it only once. */
function castVote(rs: RoundState, type: VoteType, candidate: CandidateBlock | undefined): void {
  if (!rs.isValidator) return
  rs.emit({
    kind: 'signVote',
    vote: {
      type,
      height: rs.height,
      round: rs.round,
      blockId: candidate?.blockId ?? NIL_BLOCK_ID,
      validatorAddress: rs.address!,
      validatorIndex: rs.ownIndex,
    },
    earliestMs: candidate?.block?.header.timeMs ?? rs.state.lastBlockTimeMs,
  })
}
