import { encodeBlock } from '../chain/consensus/block.ts'
import { commitVote, verifyCommit } from '../chain/consensus/commit.ts'
import { type Commit, equalBlockId, type Vote } from '../chain/consensus/types.ts'
import { bytesToHex } from '../primitives/bytes.ts'
import { candidateOf } from './candidateBlock.ts'
import { advanceState, type ConsensusState } from './consensusState.ts'
import { type Input, type MessageInput, STEPS } from './input.ts'
import { enterNewHeight, schedule, startRound } from './reducerRound.ts'
import { reportEquivocation } from './reducerVotes.ts'
import type { RoundState } from './roundState.ts'

/**
 * upon PROPOSAL(h_p, r, v, *) and 2f + 1 PRECOMMIT(h_p, r, id(v)) while decision_p[h_p] = nil [L49-L54], in two moves: the votes
 * end all rounds; then, when the block is here and valid, it is executed. That 2f + 1 precommitted it says that it was proposed.
 */
export function decide(rs: RoundState): boolean {
  const [precommits, ...others] = rs.heightVotes.decisions()
  if (precommits === undefined) return false
  const blockId = precommits.majorityBlock()!
  const contrary = others.find((other) => !equalBlockId(other.majorityBlock()!, blockId))
  if (contrary !== undefined) {
    rs.halt(
      `two blocks are decided: ${bytesToHex(blockId.hash)} in round ${precommits.round}, ${bytesToHex(contrary.majorityBlock()!.hash)} in round ${contrary.round}`,
    )
    return true
  }
  if (rs.step !== STEPS.commit) {
    rs.candidate = rs.candidateFor(blockId)
    rs.commitRound = precommits.round
    rs.enter(rs.round, STEPS.commit)
    return true
  }
  const { candidate } = rs
  if (rs.decided !== undefined || candidate?.block === undefined || candidate.status === 'invalid') return false
  const seenCommit = rs.heightVotes.precommits(rs.commitRound)!.commit()
  rs.decided = { block: candidate.block, blockId: candidate.blockId, seenCommit } // [L51]
  rs.emit({ kind: 'finalize', decided: rs.decided, parts: candidate.parts })
  return true
}

/** More than two thirds are for a block for which nobody honest votes: more than a third is faulty, or this node is. */
export function refuseInvalid(rs: RoundState): boolean {
  const { candidate, round, commitRound } = rs
  if (candidate?.status !== 'invalid') return false
  const { blockId, reason } = candidate
  const prevoted = rs.heightVotes.prevotes(round)?.hasMajorityFor(blockId)
  if (!prevoted && !rs.heightVotes.precommits(commitRound)?.hasMajorityFor(blockId)) return false
  rs.halt(`more than two thirds of the power are for the invalid block ${bytesToHex(blockId.hash)}: ${reason}`)
  return true
}

/**
 * upon 2f + 1 PRECOMMIT(h_p, round_p, *) for the first time [L47, L48]. The timeout is as good as over when they are all for nil,
 * or when the votes that are still out cannot make a majority any more.
 */
export function awaitPrecommits(rs: RoundState): boolean {
  const precommits = rs.heightVotes.precommits(rs.round)
  if (rs.step < STEPS.propose || rs.step >= STEPS.commit || precommits === undefined) return false
  if (precommits.hasNilMajority() || !precommits.majorityIsPossible()) {
    const reason = precommits.hasNilMajority()
      ? 'two thirds of the precommits are nil'
      : 'no majority of precommits is possible'
    rs.note('round failed', { reason })
    startRound(rs, rs.round + 1) // [L67]
    return true
  }
  if (rs.precommitTimeoutScheduled || !precommits.hasQuorumOfAny()) return false
  rs.precommitTimeoutScheduled = true
  schedule(rs, 'precommit')
  return true
}

/**
 * upon f + 1 <*, h_p, round, *, *> with round > round_p [L55, L56]. Before round 0, every round is a later one: who is paced
 * slowly follows.
 */
export function skipRounds(rs: RoundState): boolean {
  if (rs.step >= STEPS.commit) return false
  const round = rs.heightVotes.roundOfThird(rs.step === STEPS.newHeight ? -1 : rs.round)
  if (round === undefined) return false
  if (round > 0) rs.note('round is skipped', { to: round, reason: 'a third of the power is in a later one' })
  startRound(rs, round)
  return true
}

/** A block with the commit that decided it, from a peer that is further: the precommits are as good as any. */
export function onDecision(
  rs: RoundState,
  { block, commit, from }: Extract<Input, { readonly kind: 'decision' }>,
): void {
  const { height, validators } = rs
  if (rs.decided !== undefined || commit.height !== height || block.header.height !== height) return
  const { blockId } = commit
  const verdict = verifyCommit({ chainId: rs.chain.chainId, height, blockId, validators }, commit, rs.verify)
  if (!verdict.valid) {
    rs.blame(from, 'bad signature', `commit of block ${height}: ${verdict.reason}`)
    return
  }
  const candidate = candidateOf(block, encodeBlock(block))
  if (!equalBlockId(candidate.blockId, blockId)) {
    rs.blame(from, 'invalid block', `block ${height} is not the one that its commit names`)
    return
  }
  addCommit(rs, commit)
  if (rs.halted) return
  if (rs.candidate !== undefined && equalBlockId(rs.candidate.blockId, blockId)) {
    if (!rs.candidate.isComplete) rs.candidate = candidate
  } else rs.remember(candidate)
}

/** Who has not voted in this round comes first, so that a vote that contradicts an earlier one finds the block's tally. */
function addCommit(rs: RoundState, commit: Commit): void {
  const votes = commit.signatures.flatMap((_, index) => commitVote(commit, index) ?? [])
  const known = rs.heightVotes.precommits(commit.round)
  const isNew = ({ validatorIndex }: Vote) => !known?.has(validatorIndex)
  for (const vote of [...votes.filter(isNew), ...votes.filter((vote) => !isNew(vote))]) {
    if (!rs.heightVotes.isNew(vote)) continue
    const { contradicts } = rs.heightVotes.add(vote, undefined)
    if (contradicts !== undefined) reportEquivocation(rs, contradicts, vote)
  }
  if (rs.heightVotes.precommits(commit.round)!.hasMajorityFor(commit.blockId)) return
  rs.halt(`two blocks are decided in round ${commit.round}: another one than ${bytesToHex(commit.blockId.hash)} before`)
}

/** The decided block is executed: h_p <- h_p + 1 [L52-L54]. @returns what came early for the new height */
export function onFinalized(
  rs: RoundState,
  { height, result }: Extract<Input, { readonly kind: 'finalized' }>,
): readonly MessageInput[] {
  if (rs.decided === undefined || height !== rs.height) return []
  let state: ConsensusState
  try {
    state = advanceState(rs.state, rs.decided, result)
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause
    rs.halt(`the application changes the validators in an impossible way: ${cause.message}`)
    return []
  }
  const early = rs.advance(state, rs.heightVotes.precommits(rs.commitRound)!)
  enterNewHeight(rs)
  return early.inputs
}
