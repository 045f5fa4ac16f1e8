import { type ConsensusBlock, encodeBlock } from '../chain/comet/block.ts'
import { commitVote } from '../chain/comet/commit.ts'
import { EMPTY_COMMIT, equalBlockId, NIL_BLOCK_ID, SIGNED_MESSAGE_TYPES, type VoteType } from '../chain/comet/types.ts'
import { bytesToHex, equalBytes } from '../primitives/bytes.ts'
import { type CandidateBlock, candidateOf } from './candidateBlock.ts'
import { advanceState, type ConsensusState } from './consensusState.ts'
import type { Input, MessageInput, Timeout } from './inputsAndEffects.ts'
import { exceedsThird } from './quorum.ts'
import type { ReceivedProposal, RoundState } from './roundState.ts'
import { STEPS } from './roundStateView.ts'
import { isTimely, timeoutMs } from './timing.ts'

/*
 * Algorithm 1 of "The latest gossip on BFT consensus" (Tendermint, arXiv 1807.04938), in the paper's order. A mark like [L22] names
 * its line; 2f + 1 is more than two thirds of the voting power, f + 1 more than a third. An exported function that returns a boolean
 * is a rule: it acts if its condition holds, and returns whether it did. reducer.ts applies the rules until none acts.
 *
 * Deviations from the paper, each explained where it is made: votes name a block by its hash, and
 * its parts are sent separately from the proposal; a new block must be timely (PBTS); a round ends
 * early when a majority is no longer possible.
 */

/** Begins a height. Its round 0 starts when the wait for the block interval is over (the timer `newHeight`). */
export function enterNewHeight(rs: RoundState): void {
  rs.enter(0, STEPS.newHeight)
  rs.emit({ kind: 'schedule', timeout: { height: rs.height, round: 0, step: 'newHeight' }, delayMs: 0 })
}

/** StartRound(round) [L11-L21]. */
export function startRound(rs: RoundState, round: number): void {
  if (round !== rs.round) leaveRound(rs, round)
  rs.heightVotes.setRound(round)
  rs.enter(round, STEPS.propose) // [L12, L13]
  // Also for the proposer: building may take too long, or its signer may refuse.
  schedule(rs, 'propose') // [L21]
  if (rs.isProposer && rs.received === undefined) propose(rs) // [L14]
}

/**
 * Resets the state of the round, except the lock and the valid block. A proposal for the new round
 * that came early is used now.
 */
function leaveRound(rs: RoundState, round: number): void {
  if (rs.candidate?.isComplete) rs.remember(rs.candidate)
  const { upcoming } = rs
  rs.clearRound()
  if (upcoming === undefined || upcoming.received.proposal.round > round) return
  rs.upcoming = undefined
  if (upcoming.received.proposal.round !== round) return
  rs.received = upcoming.received
  rs.candidate = upcoming.candidate
}

/** Proposes the valid block again, in the same bytes, or asks the application for a new one [L15-L19]. */
function propose(rs: RoundState): void {
  const { height, round, validBlock } = rs
  if (validBlock !== undefined) {
    signProposal(rs, validBlock, rs.validRound) // [L16]
    return
  }
  const lastCommit = rs.lastPrecommits?.commit() ?? EMPTY_COMMIT
  rs.emit({ kind: 'build', height, round, lastCommit }) // [L18]
}

/** getValue() has returned [L18]. An answer that comes after the round, or after its prevote, is dropped. */
export function onBuilt(rs: RoundState, { round, block }: Extract<Input, { readonly kind: 'built' }>): void {
  if (block.header.height !== rs.height || round !== rs.round || rs.step !== STEPS.propose) return
  if (!rs.isProposer || rs.received !== undefined || rs.built !== undefined) return
  const bytes = encodeBlock(block)
  if (bytes.length > rs.state.params.maxBytes) {
    rs.log('block is not proposed: it is too large', { bytes: bytes.length })
    return
  }
  const candidate = candidateOf(block, bytes)
  candidate.markValid()
  rs.built = candidate
  signProposal(rs, candidate, -1)
}

/** broadcast PROPOSAL [L19] */
function signProposal(rs: RoundState, { blockId, block, parts }: CandidateBlock, polRound: number): void {
  const { height, round } = rs
  const timestampMs = block!.header.timeMs
  rs.emit({ kind: 'signProposal', proposal: { height, round, polRound, blockId, timestampMs }, parts })
}

/** Decodes a complete block and checks it against the rules of consensus. */
export function examineCandidate(rs: RoundState): boolean {
  const { candidate } = rs
  if (candidate?.status !== 'unchecked') return false
  candidate.examine(rs.state.params.maxBytes, (block) => rs.checkBlock(block))
  if (candidate.reason === undefined && candidate.block !== undefined) compareLastCommit(rs, candidate.block)
  return true
}

/**
 * Compares the last commit in a block, whose signatures were verified, with the precommits that
 * this node has. This exposes a validator that sent different precommits to different nodes,
 * whichever validator proposes the block.
 */
function compareLastCommit(rs: RoundState, { lastCommit }: ConsensusBlock): void {
  const { lastPrecommits } = rs
  if (lastPrecommits === undefined || lastCommit.round !== lastPrecommits.round) return
  for (const index of lastCommit.signatures.keys()) {
    const vote = commitVote(lastCommit, index)
    if (vote === undefined || !lastPrecommits.has(index) || !lastPrecommits.isNew(vote)) continue
    const { contradicts } = lastPrecommits.add(vote)
    if (contradicts !== undefined) rs.emit({ kind: 'equivocation', first: contradicts, second: vote })
  }
}

/**
 * Asks the application about the block, which also starts its execution while votes are exchanged. A new block that this node built
 * itself is not asked about. A check that did not end in time is made again in a later round that proposes the same block: timeouts
 * grow from round to round, and validators that are locked on the block vote for no other one.
 */
export function validateCandidate(rs: RoundState): boolean {
  const { candidate, received, step } = rs
  if (candidate?.status !== 'possible' || step === STEPS.commit || candidate.askedRound >= rs.round) return false
  const proposal = received?.proposal
  if (received?.own && proposal!.polRound < 0 && equalBlockId(proposal!.blockId, candidate.blockId)) {
    candidate.markValid()
    return true
  }
  candidate.markAsked(rs.round)
  rs.emit({ kind: 'validate', block: candidate.block!, blockId: candidate.blockId })
  return true
}

/**
 * upon PROPOSAL(h_p, round_p, v, -1) while step_p = propose [L22-L27], and
 * upon PROPOSAL(h_p, round_p, v, vr) and 2f + 1 PREVOTE(h_p, vr, id(v)) while step_p = propose and 0 <= vr < round_p [L28-L33].
 *
 * The rule waits until the block is complete and the application has checked it. If that takes longer than timeoutPropose, the timeout
 * prevotes nil.
 */
export function prevoteProposal(rs: RoundState): boolean {
  const { received, candidate } = rs
  if (rs.step !== STEPS.propose || received === undefined || candidate === undefined) return false
  const { blockId, polRound } = received.proposal
  if (!candidate.isComplete || !equalBlockId(candidate.blockId, blockId)) return false
  if (polRound >= 0 && !rs.heightVotes.prevotes(polRound)?.hasMajorityFor(blockId)) return false

  const reason = reasonAgainst(rs, received, candidate)
  if (reason !== undefined) {
    rs.log('prevote is nil', { reason, block: bytesToHex(blockId.hash) })
    castPrevote(rs, undefined) // [L26, L32]
    return true
  }
  if (candidate.status !== 'valid') return false
  castPrevote(rs, candidate) // [L24, L30]
  return true
}

/**
 * Returns why the proposal's block must not be prevoted, whatever the application says; undefined:
 * there is no reason.
 */
function reasonAgainst(rs: RoundState, received: ReceivedProposal, candidate: CandidateBlock): string | undefined {
  if (candidate.status === 'invalid') return candidate.reason
  return timeIsWrong(rs, received, candidate) ?? turnIsWrong(rs, received, candidate) ?? lockForbids(rs, received)
}

/** PBTS: a new block must be timely. A block that had 2f + 1 prevotes in an earlier round was timely then. */
function timeIsWrong(rs: RoundState, received: ReceivedProposal, { block }: CandidateBlock): string | undefined {
  const { proposal, receivedMs, own } = received
  const { timestampMs, round, polRound } = proposal
  if (timestampMs !== block!.header.timeMs) return "the proposal's time is not the block's"
  if (polRound >= 0 || own || isTimely(timestampMs, receivedMs, round, rs.chain.timing)) return undefined
  return `the proposal is not timely: it is of ${timestampMs} and came at ${receivedMs}`
}

/** A new block names its proposer, who earns its fees. A block with 2f + 1 prevotes may be proposed again by another validator. */
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
    rs.log('two blocks have two thirds of the prevotes of one round: a third of the power has voted twice', {
      lockedRound,
      locked: bytesToHex(lockedBlockId.hash),
      proposed: bytesToHex(blockId.hash),
    })
  }
  return undefined
}

/** Prevotes this block, or nil (undefined). The step propose ends with it. */
function castPrevote(rs: RoundState, candidate: CandidateBlock | undefined): void {
  rs.enter(rs.round, STEPS.prevote)
  castVote(rs, SIGNED_MESSAGE_TYPES.prevote, candidate)
}

/** Precommits this block, or nil (undefined). The step prevote ends with it. */
function castPrecommit(rs: RoundState, candidate: CandidateBlock | undefined): void {
  rs.enter(rs.round, STEPS.precommit)
  castVote(rs, SIGNED_MESSAGE_TYPES.precommit, candidate)
}

/** The step has changed already, so the signer is asked only once for each round and step, whatever it answers. */
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

/**
 * upon 2f + 1 PREVOTE(h_p, round_p, *) while step_p = prevote for the first time [L34, L35]. When a majority is no longer possible
 * with the missing votes, this node does not wait for the timeout. The paper's model allows that: a timeout may come early.
 */
export function awaitPrevotes(rs: RoundState): boolean {
  const prevotes = rs.heightVotes.prevotes(rs.round)
  if (rs.step !== STEPS.prevote || prevotes === undefined) return false
  if (!prevotes.majorityIsPossible()) {
    rs.log('precommit is nil', { reason: 'no majority of prevotes is possible' })
    castPrecommit(rs, undefined) // [L61]
    return true
  }
  if (rs.prevoteTimeoutScheduled || !prevotes.hasQuorumOfAny()) return false
  rs.prevoteTimeoutScheduled = true
  schedule(rs, 'prevote')
  return true
}

/**
 * 2f + 1 prevotes of this round are for one block: collect its parts, even if this node received a proposal for another block. The
 * paper needs no such rule, because its proposals contain the value itself.
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
 * first time [L36-L43]. 2f + 1 prevotes show that v was proposed; {@link collectPrevoted} has made it the candidate.
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
  rs.log('precommit is nil', { reason: 'two thirds of the prevotes are nil' })
  castPrecommit(rs, undefined)
  return true
}

/**
 * More than a third of the power prevoted nil although this node proposed a new block: it came too late, or took too long to check.
 * The proposer makes smaller blocks then. This changes nothing else.
 */
export function reportRefusal(rs: RoundState): boolean {
  const { height, round, received, candidate } = rs
  if (rs.refusalReported || received?.own !== true || received.proposal.polRound >= 0) return false
  const prevotes = rs.heightVotes.prevotes(round)
  if (prevotes === undefined || !exceedsThird(prevotes.powerFor(NIL_BLOCK_ID), rs.validators)) return false
  if (candidate?.block === undefined || !equalBlockId(candidate.blockId, received.proposal.blockId)) return false
  rs.refusalReported = true
  rs.emit({ kind: 'refused', height, round, block: candidate.block })
  return true
}

/** A round has begun and nothing is decided yet. */
function isInRound({ step }: RoundState): boolean {
  return step >= STEPS.propose && step < STEPS.commit
}

/**
 * upon 2f + 1 PRECOMMIT(h_p, round_p, *) for the first time [L47, L48]. When 2f + 1 are for nil, or a majority is no longer possible
 * with the missing votes, the next round starts without waiting for the timeout.
 */
export function awaitPrecommits(rs: RoundState): boolean {
  const precommits = rs.heightVotes.precommits(rs.round)
  if (rs.step < STEPS.propose || rs.step >= STEPS.commit || precommits === undefined) return false
  if (precommits.hasNilMajority() || !precommits.majorityIsPossible()) {
    const reason = precommits.hasNilMajority()
      ? 'two thirds of the precommits are nil'
      : 'no majority of precommits is possible'
    rs.log('round failed', { reason })
    startRound(rs, rs.round + 1) // [L67]
    return true
  }
  if (rs.precommitTimeoutScheduled || !precommits.hasQuorumOfAny()) return false
  rs.precommitTimeoutScheduled = true
  schedule(rs, 'precommit')
  return true
}

/**
 * upon PROPOSAL(h_p, r, v, *) and 2f + 1 PRECOMMIT(h_p, r, id(v)) while decision_p[h_p] = nil [L49-L54], in two steps:
 * 1. The precommits end all rounds: the step is `commit`, and this node collects the block's parts. 2f + 1 precommits show that
 *    the block was proposed.
 * 2. When the block is complete and follows the rules, the effect `finalize` has it logged and executed.
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

/** More than two thirds voted for a block that breaks the rules: more than a third is faulty, or this node is. It halts. */
export function refuseInvalid(rs: RoundState): boolean {
  const { candidate, round, commitRound } = rs
  if (candidate?.status !== 'invalid') return false
  const { blockId, reason } = candidate
  const prevoted = rs.heightVotes.prevotes(round)?.hasMajorityFor(blockId)
  if (!prevoted && !rs.heightVotes.precommits(commitRound)?.hasMajorityFor(blockId)) return false
  rs.halt(`more than two thirds of the power are for the invalid block ${bytesToHex(blockId.hash)}: ${reason}`)
  return true
}

/** The decided block is executed: h_p <- h_p + 1 [L52-L54]. @returns messages for the new height that came early */
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

/**
 * upon f + 1 <*, h_p, round, *, *> with round > round_p [L55, L56]. A node that still waits before round 0 joins any round in this
 * way, so that a node with a longer wait follows the others.
 */
export function skipRounds(rs: RoundState): boolean {
  if (rs.step >= STEPS.commit) return false
  const round = rs.heightVotes.roundOfThird(rs.step === STEPS.newHeight ? -1 : rs.round)
  if (round === undefined) return false
  if (round > 0) rs.log('round is skipped', { to: round, reason: 'a third of the power is in a later one' })
  startRound(rs, round)
  return true
}

/** Starts the timer of a step of the current round. */
function schedule(rs: RoundState, step: Exclude<Timeout['step'], 'newHeight'>): void {
  const { height, round } = rs
  rs.emit({
    kind: 'schedule',
    timeout: { height, round, step },
    delayMs: timeoutMs(step, round, rs.chain.timing),
  })
}

/** A timer has expired. A timer of another height or round, or of a step that is over, changes nothing. */
export function onTimeout(rs: RoundState, { height, round, step }: Timeout): void {
  if (height !== rs.height || rs.step === STEPS.commit) return
  if (step === 'newHeight') {
    if (rs.step === STEPS.newHeight) startRound(rs, 0)
    return
  }
  if (round !== rs.round || rs.step === STEPS.newHeight) return
  if (step === 'propose') onTimeoutPropose(rs)
  else if (step === 'prevote') onTimeoutPrevote(rs)
  else onTimeoutPrecommit(rs)
}

/** OnTimeoutPropose [L57-L60] */
function onTimeoutPropose(rs: RoundState): void {
  if (rs.step !== STEPS.propose) return
  rs.log('prevote is nil', { reason: whatIsMissing(rs) })
  castPrevote(rs, undefined)
}

/** OnTimeoutPrevote [L61-L64] */
function onTimeoutPrevote(rs: RoundState): void {
  if (rs.step !== STEPS.prevote) return
  rs.log('precommit is nil', { reason: 'no majority of prevotes for a known and valid block in time' })
  castPrecommit(rs, undefined)
}

/** OnTimeoutPrecommit [L65-L67] */
function onTimeoutPrecommit(rs: RoundState): void {
  rs.log('round failed', { reason: 'no majority of precommits in time' })
  startRound(rs, rs.round + 1)
}

/** For the log: why this node had not prevoted this round's proposal when the timeout expired. */
function whatIsMissing({ received, candidate, isProposer }: RoundState): string {
  if (received === undefined) return isProposer ? 'no own proposal in time' : 'no proposal in time'
  if (candidate === undefined || !candidate.isComplete) return 'parts of the block are missing'
  if (candidate.status !== 'valid' && candidate.status !== 'invalid') return 'the application has not answered in time'
  const { polRound } = received.proposal
  return polRound < 0 ? 'another block has the prevotes' : `no majority of prevotes for it in round ${polRound}`
}
