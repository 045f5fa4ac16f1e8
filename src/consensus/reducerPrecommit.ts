import { equalBlockId } from '../chain/consensus/types.ts'
import { castPrecommit } from './castVote.ts'
import { STEPS } from './input.ts'
import { schedule } from './reducerRound.ts'
import type { RoundState } from './roundState.ts'

/** A round is under way: it has begun and nothing is decided. */
function isInRound({ step }: RoundState): boolean {
  return step >= STEPS.propose && step < STEPS.commit
}

/**
 * 2f + 1 prevotes of this round are for a block: that is the one to collect, whatever was proposed here. The paper has no
 * such rule: its proposals carry the value.
 */
export function collectPrevoted(rs: RoundState): boolean {
  if (!isInRound(rs)) return false
  const blockId = rs.heightVotes.prevotes(rs.round)?.majorityBlock()
  if (blockId === undefined || (rs.candidate !== undefined && equalBlockId(rs.candidate.blockId, blockId))) return false
  rs.candidate = rs.candidateFor(blockId)
  return true
}

/**
 * upon PROPOSAL(h_p, round_p, v, *) and 2f + 1 PREVOTE(h_p, round_p, id(v)) while valid(v) and step_p >= prevote for the
 * first time [L36-L43]. The votes themselves say that v was proposed; {@link collectPrevoted} has made it the candidate.
 */
export function acceptPrevoted(rs: RoundState): boolean {
  const { candidate, round } = rs
  if (!isInRound(rs) || rs.step < STEPS.prevote || rs.validRound === round) return false
  if (candidate?.status !== 'valid' || !rs.heightVotes.prevotes(round)?.hasMajorityFor(candidate.blockId)) return false
  rs.validBlock = candidate // [L42]
  rs.validRound = round // [L43]
  if (rs.step === STEPS.prevote) {
    rs.lockedBlockId = candidate.blockId // [L38]
    rs.lockedRound = round // [L39]
    castPrecommit(rs, candidate) // [L40, L41]
  }
  return true
}

/** upon 2f + 1 PREVOTE(h_p, round_p, nil) while step_p = prevote [L44-L46]. A lock stays. */
export function precommitNil(rs: RoundState): boolean {
  if (rs.step !== STEPS.prevote || !rs.heightVotes.prevotes(rs.round)?.hasNilMajority()) return false
  rs.note('precommit is nil', { reason: 'two thirds of the prevotes are nil' })
  castPrecommit(rs, undefined)
  return true
}

/**
 * upon 2f + 1 PREVOTE(h_p, round_p, *) while step_p = prevote for the first time [L34, L35]. Where the votes that are still out
 * cannot make a majority any more, the timeout is as good as over; that it may be early is part of the model.
 */
export function awaitPrevotes(rs: RoundState): boolean {
  const prevotes = rs.heightVotes.prevotes(rs.round)
  if (rs.step !== STEPS.prevote || prevotes === undefined) return false
  if (!prevotes.majorityIsPossible()) {
    rs.note('precommit is nil', { reason: 'no majority of prevotes is possible' })
    castPrecommit(rs, undefined) // [L61]
    return true
  }
  if (rs.prevoteTimeoutScheduled || !prevotes.hasQuorumOfAny()) return false
  rs.prevoteTimeoutScheduled = true
  schedule(rs, 'prevote')
  return true
}
