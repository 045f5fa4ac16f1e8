import { equalBlockId } from '../chain/consensus/types.ts'
import { bytesToHex, equalBytes } from '../primitives/bytes.ts'
import type { CandidateBlock } from './candidateBlock.ts'
import { castPrevote } from './castVote.ts'
import { STEPS } from './input.ts'
import { isTimely } from './pbts.ts'
import type { ReceivedProposal, RoundState } from './roundState.ts'

/**
 * upon PROPOSAL(h_p, round_p, v, -1) while step_p = propose [L22-L27], and
 * upon PROPOSAL(h_p, round_p, v, vr) and 2f + 1 PREVOTE(h_p, vr, id(v)) while step_p = propose and 0 <= vr < round_p [L28-L33].
 *
 * A proposal is there when its block is. While the application has not said whether it is valid, nothing happens: at the latest
 * timeoutPropose ends the wait with a prevote of nil.
 */
export function prevoteProposal(rs: RoundState): boolean {
  const { received, candidate } = rs
  if (rs.step !== STEPS.propose || received === undefined || candidate === undefined) return false
  const { blockId, polRound } = received.proposal
  if (!candidate.isComplete || !equalBlockId(candidate.blockId, blockId)) return false
  if (polRound >= 0 && !rs.heightVotes.prevotes(polRound)?.hasMajorityFor(blockId)) return false

  const reason = reasonAgainst(rs, received, candidate)
  if (reason !== undefined) {
    rs.note('prevote is nil', { reason, block: bytesToHex(blockId.hash) })
    castPrevote(rs, undefined) // [L26, L32]
    return true
  }
  if (candidate.status !== 'valid') return false
  castPrevote(rs, candidate) // [L24, L30]
  return true
}

/** Why the proposal's block must not be prevoted, whatever the application says of it. */
function reasonAgainst(rs: RoundState, received: ReceivedProposal, candidate: CandidateBlock): string | undefined {
  if (candidate.status === 'invalid') return candidate.reason
  return timeIsWrong(rs, received, candidate) ?? turnIsWrong(rs, received, candidate) ?? lockForbids(rs, received)
}

/** A block that has had 2f + 1 prevotes was timely then; a new one must be now. */
function timeIsWrong(rs: RoundState, received: ReceivedProposal, { block }: CandidateBlock): string | undefined {
  const { proposal, receivedMs, own } = received
  const { timestampMs, round, polRound } = proposal
  if (timestampMs !== block!.header.timeMs) return "the proposal's time is not the block's"
  if (polRound >= 0 || own || isTimely(timestampMs, receivedMs, round, rs.chain.timing)) return undefined
  return `the proposal is not timely: it is of ${timestampMs} and came at ${receivedMs}`
}

/** A block names the one who built it, so that nobody else is paid for it; only a block with prevotes is proposed by others. */
function turnIsWrong(rs: RoundState, { proposal }: ReceivedProposal, { block }: CandidateBlock): string | undefined {
  if (proposal.polRound >= 0) return undefined
  const { address } = rs.proposerOf(proposal.round)
  return equalBytes(block!.header.proposerAddress, address) ? undefined : 'the block names another proposer'
}

/** lockedRound_p = -1 or lockedValue_p = v [L23]; lockedRound_p <= vr or lockedValue_p = v [L29]. */
function lockForbids(rs: RoundState, { proposal }: ReceivedProposal): string | undefined {
  const { lockedRound, lockedBlockId } = rs
  const { blockId, polRound } = proposal
  if (lockedBlockId === undefined || equalBlockId(lockedBlockId, blockId)) return undefined
  if (lockedRound > polRound) return `locked on ${bytesToHex(lockedBlockId.hash)} in round ${lockedRound}`
  if (lockedRound === polRound) {
    rs.note('two blocks have two thirds of the prevotes of one round: a third of the power has voted twice', {
      lockedRound,
      locked: bytesToHex(lockedBlockId.hash),
      proposed: bytesToHex(blockId.hash),
    })
  }
  return undefined
}
