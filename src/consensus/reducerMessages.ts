import { encodeBlock } from '../chain/comet/block.ts'
import { commitVote, verifyCommit } from '../chain/comet/commit.ts'
import {
  type Commit,
  equalBlockId,
  isNilBlockId,
  type Proposal,
  SIGNED_MESSAGE_TYPES,
  type Validator,
  type ValidatorSet,
  type Vote,
} from '../chain/comet/types.ts'
import { proposalSignBytes, voteSignBytes } from '../chain/comet/vote.ts'
import { bytesToHex, equalBytes } from '../primitives/bytes.ts'
import { candidateOf, isCandidateId, isMalformedPart, isVotableId } from './candidateBlock.ts'
import type { Input, MessageInput } from './inputsAndEffects.ts'
import { startRound } from './reducerRules.ts'
import type { ReceivedProposal, RoundState } from './roundState.ts'
import { STEPS } from './roundStateView.ts'
import type { AddedVote } from './voteSet.ts'

/*
 * Handles the messages of nodes and the application's answers. Each message is checked before it changes the round state. A message
 * that no honest peer sends (malformed, wrong signature, a block that is not the decided one) is dropped, and the effect
 * `misbehaviour` reports its sender: the engine asks the transport to punish the peer.
 */

type ProposalInput = Extract<MessageInput, { readonly kind: 'proposal' }>
type PartInput = Extract<MessageInput, { readonly kind: 'part' }>
type VoteInput = Extract<MessageInput, { readonly kind: 'vote' }>

/**
 * PROPOSAL(h_p, r, id(v), vr) of this round or the next. The first one with its proposer's signature is used. A second one for the
 * same round is dropped without a check, because there is no punishment for it.
 */
export function onProposal(rs: RoundState, input: ProposalInput): void {
  const { proposal } = input
  const { height, round } = proposal
  if (height === rs.early.height) {
    onEarlyProposal(rs, input)
    return
  }
  if (height !== rs.height || rs.step === STEPS.commit) return
  const isNext = round === rs.round + 1
  if (!isNext && round !== rs.round) return
  if ((isNext ? rs.upcoming : rs.received) !== undefined) return
  if (!isSoundProposal(rs, input, rs.proposerOf(round))) return

  const own = isOwnProposal(rs, input)
  const received: ReceivedProposal = { proposal, receivedMs: input.receivedMs, own }
  const candidate = rs.candidateFor(proposal.blockId)
  if (isNext) rs.upcoming = { received, candidate }
  else {
    rs.received = received
    // A candidate exists already if a block has this round's prevotes.
    rs.candidate ??= candidate
  }
  rs.emit({ kind: 'accepted', input })
}

function onEarlyProposal(rs: RoundState, input: ProposalInput): void {
  const { early } = rs
  if (early.wantsProposal(input.proposal) && isSoundProposal(rs, input, early.proposerOf(0))) early.addProposal(input)
}

function isOwnProposal(rs: RoundState, { proposal, from }: ProposalInput): boolean {
  return from === undefined && rs.isValidator && rs.proposerOf(proposal.round).address === ownAddress(rs)
}

function ownAddress(rs: RoundState): Uint8Array {
  return rs.validators.validators[rs.ownIndex]!.address
}

/** Every honest node checks this before it relays a proposal, so a failure is the sender's fault. */
function isSoundProposal(rs: RoundState, { proposal, from }: ProposalInput, { publicKey }: Validator): boolean {
  const reason = malformation(proposal, rs.state.params.maxBytes)
  if (reason !== undefined) {
    rs.reportMisbehaviour(from, 'malformed', reason)
    return false
  }
  if (rs.verify(publicKey, proposalSignBytes(rs.chain.chainId, proposal), proposal.signature)) return true
  rs.reportMisbehaviour(from, 'bad signature', `proposal of height ${proposal.height}, round ${proposal.round}`)
  return false
}

function malformation({ round, polRound, blockId }: Proposal, maxBytes: number): string | undefined {
  if (polRound < -1 || polRound >= round) return `proposal of round ${round} names the proof-of-lock round ${polRound}`
  if (!isCandidateId(blockId, maxBytes)) return 'proposal names no block that there can be'
  return undefined
}

/**
 * A part of the candidate block of this round or the next, or of the decided block. An honest peer may send a part of another block,
 * so it is not reported.
 */
export function onPart(rs: RoundState, input: PartInput): void {
  const { height, round, part, from } = input
  if (height !== rs.height && height !== rs.early.height) return
  if (isMalformedPart(part)) {
    rs.reportMisbehaviour(from, 'malformed', 'block part')
    return
  }
  if (height === rs.early.height) {
    rs.early.addPart(input)
    return
  }
  const candidate = round === rs.round || rs.step === STEPS.commit ? rs.candidate : upcomingCandidate(rs, round)
  if (candidate === undefined) return
  // Parts of a block that this node built are in the candidate before the proposal is made.
  const isBuiltHere = from === undefined && candidate.part(part.index) === part
  if (isBuiltHere || candidate.add(part)) rs.emit({ kind: 'accepted', input })
}

function upcomingCandidate({ upcoming }: RoundState, round: number) {
  return upcoming?.received.proposal.round === round ? upcoming.candidate : undefined
}

/** PREVOTE or PRECOMMIT of this height, a late precommit of the last height, or an early vote of the next height. */
export function onVote(rs: RoundState, input: VoteInput): void {
  const { height } = input.vote
  if (height === rs.height) onPresentVote(rs, input)
  else if (height === rs.early.height) onEarlyVote(rs, input)
  else if (height === rs.height - 1) onLateVote(rs, input)
}

function onPresentVote(rs: RoundState, input: VoteInput): void {
  const { vote, from } = input
  const { heightVotes, validators } = rs
  if (!heightVotes.follows(vote, from) || !isSoundVote(rs, input, validators)) return
  if (!heightVotes.isNew(vote) || !isSignedVote(rs, input, validators)) return
  takeVote(rs, input, heightVotes.add(vote, from))
  if (vote.validatorIndex !== rs.ownIndex) return
  restoreLock(rs, vote)
  if (isOwnVote(rs, input)) restoreStep(rs, vote)
}

/**
 * A late precommit is for the last commit of the next block, which this node may propose as soon as the wait ends (CometBFT
 * consensus/state.go, addVote). Afterwards, and of prevotes, only a vote that contradicts a known one is of use: as evidence.
 */
function onLateVote(rs: RoundState, input: VoteInput): void {
  const { vote } = input
  const { lastPrecommits, lastPrevotes, state, step } = rs
  const isPrecommit = vote.type === SIGNED_MESSAGE_TYPES.precommit
  const votes = isPrecommit ? lastPrecommits : lastPrevotes
  if (votes === undefined || vote.round !== votes.round) return
  const isForCommit = isPrecommit && step === STEPS.newHeight
  if (!isSoundVote(rs, input, state.lastValidators) || !votes.isNew(vote)) return
  if (!isForCommit && !votes.has(vote.validatorIndex)) return
  if (!isSignedVote(rs, input, state.lastValidators)) return
  const added = votes.add(vote)
  takeVote(rs, input, isForCommit ? added : { ...added, counted: false })
}

function onEarlyVote(rs: RoundState, input: VoteInput): void {
  const { early } = rs
  if (!isSoundVote(rs, input, early.validators) || !early.wantsVote(input.vote)) return
  if (isSignedVote(rs, input, early.validators)) early.addVote(input)
}

function takeVote(rs: RoundState, input: VoteInput, { counted, contradicts }: AddedVote): void {
  if (counted) rs.emit({ kind: 'accepted', input })
  if (contradicts !== undefined) rs.emit({ kind: 'equivocation', first: contradicts, second: input.vote })
}

/**
 * Does the cheap checks before the signature: index and address belong together, a block can have
 * this block ID, and the time is not before the chain's genesis. An earlier vote is not evidence,
 * since the key may have signed it for another chain; so it does not count either.
 */
function isSoundVote(rs: RoundState, { vote, from }: VoteInput, { validators }: ValidatorSet): boolean {
  const { validatorIndex, validatorAddress, blockId, height, timestampMs } = vote
  const validator = validators[validatorIndex]
  if (validator === undefined || !equalBytes(validator.address, validatorAddress)) {
    rs.reportMisbehaviour(from, 'malformed', `vote of height ${height}: validator ${validatorIndex} is another one`)
    return false
  }
  if (timestampMs < rs.chain.genesisTimeMs) {
    rs.reportMisbehaviour(from, 'malformed', `vote of height ${height} from before the genesis`)
    return false
  }
  if (isVotableId(blockId, rs.state.params.maxBytes)) return true
  rs.reportMisbehaviour(from, 'malformed', `vote of height ${height} for no block that there can be`)
  return false
}

function isSignedVote(rs: RoundState, input: VoteInput, { validators }: ValidatorSet): boolean {
  const { vote, from } = input
  // The signer has just made it, or the log says that it did.
  if (isOwnVote(rs, input)) return true
  const { publicKey } = validators[vote.validatorIndex]!
  if (rs.verify(publicKey, voteSignBytes(rs.chain.chainId, vote), vote.signature)) return true
  rs.reportMisbehaviour(from, 'bad signature', `vote of height ${vote.height}, round ${vote.round}`)
  return false
}

function isOwnVote({ address }: RoundState, { vote, from }: VoteInput): boolean {
  return from === undefined && address !== undefined && equalBytes(vote.validatorAddress, address)
}

/**
 * A precommit with this node's signature is a lock, even when a peer sends it and it is not in the log. Another process with the same
 * key made it, or this node did before its data was restored from a copy.
 */
function restoreLock(rs: RoundState, { type, round, blockId }: Vote): void {
  if (type !== SIGNED_MESSAGE_TYPES.precommit || isNilBlockId(blockId) || round <= rs.lockedRound) return
  rs.lockedRound = round
  rs.lockedBlockId = blockId
}

/**
 * A replayed own vote ends its step, also when the messages that led to it are not in the log. For a vote that was just signed this
 * changes nothing: its step has ended already.
 */
function restoreStep(rs: RoundState, { type, round }: Vote): void {
  if (rs.step === STEPS.commit || round < rs.round) return
  if (round > rs.round || rs.step === STEPS.newHeight) startRound(rs, round)
  const step = type === SIGNED_MESSAGE_TYPES.prevote ? STEPS.prevote : STEPS.precommit
  if (rs.step < step) rs.enter(round, step)
}

/** A block with the commit that decided it, from a peer that is ahead. Its precommits count like all others. */
export function onDecision(
  rs: RoundState,
  { block, commit, from }: Extract<Input, { readonly kind: 'decision' }>,
): void {
  const { height, validators } = rs
  if (rs.decided !== undefined || commit.height !== height || block.header.height !== height) return
  const { blockId } = commit
  const verdict = verifyCommit({ chainId: rs.chain.chainId, height, blockId, validators }, commit, rs.verify)
  if (!verdict.valid) {
    rs.reportMisbehaviour(from, 'bad signature', `commit of block ${height}: ${verdict.reason}`)
    return
  }
  const candidate = candidateOf(block, encodeBlock(block))
  if (!equalBlockId(candidate.blockId, blockId)) {
    rs.reportMisbehaviour(from, 'invalid block', `block ${height} is not the one that its commit names`)
    return
  }
  addCommit(rs, commit)
  if (rs.halted) return
  if (rs.candidate !== undefined && equalBlockId(rs.candidate.blockId, blockId)) {
    if (!rs.candidate.isComplete) rs.candidate = candidate
  } else rs.remember(candidate)
}

/**
 * Adds the commit's precommits. Validators whose precommit is not known yet come first, so that the block has a tally when a vote that
 * conflicts with an earlier one is added.
 */
function addCommit(rs: RoundState, commit: Commit): void {
  const votes = commit.signatures.flatMap((_, index) => commitVote(commit, index) ?? [])
  const known = rs.heightVotes.precommits(commit.round)
  const isNew = ({ validatorIndex }: Vote) => !known?.has(validatorIndex)
  for (const vote of [...votes.filter(isNew), ...votes.filter((vote) => !isNew(vote))]) {
    if (!rs.heightVotes.isNew(vote)) continue
    const { contradicts } = rs.heightVotes.add(vote, undefined)
    if (contradicts !== undefined) rs.emit({ kind: 'equivocation', first: contradicts, second: vote })
  }
  if (rs.heightVotes.precommits(commit.round)!.hasMajorityFor(commit.blockId)) return
  rs.halt(`two blocks are decided in round ${commit.round}: another one than ${bytesToHex(commit.blockId.hash)} before`)
}

/** The application's answer: valid(v), or why not. */
export function onValidated(
  rs: RoundState,
  { height, blockHash, reason }: Extract<Input, { readonly kind: 'validated' }>,
): void {
  // A block that more than two thirds have decided is executed, whatever the answer is.
  if (height !== rs.height || rs.decided !== undefined) return
  for (const candidate of rs.candidates()) {
    if (!candidate.isAwaited(blockHash)) continue
    if (reason === undefined) candidate.markValid()
    else candidate.markInvalid(`the application refuses it: ${reason}`)
  }
}

/** The application did not finish its check in time: it is asked again if a later round needs the block. */
export function onUnchecked(
  rs: RoundState,
  { height, blockHash }: Extract<Input, { readonly kind: 'unchecked' }>,
): void {
  if (height !== rs.height) return
  for (const candidate of rs.candidates()) if (candidate.isAwaited(blockHash)) candidate.markUnchecked()
}
