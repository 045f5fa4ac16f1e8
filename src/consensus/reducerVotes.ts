import { isNilBlockId, SIGNED_MESSAGE_TYPES, type ValidatorSet, type Vote } from '../chain/consensus/types.ts'
import { voteSignBytes } from '../chain/consensus/vote.ts'
import { equalBytes } from '../primitives/bytes.ts'
import { isVotableId } from './candidateBlock.ts'
import { type MessageInput, STEPS } from './input.ts'
import { startRound } from './reducerRound.ts'
import type { RoundState } from './roundState.ts'
import type { AddedVote } from './voteSet.ts'

type VoteInput = Extract<MessageInput, { readonly kind: 'vote' }>

/** PREVOTE or PRECOMMIT of this height, a late precommit of the one before, or an early vote of the one after. */
export function onVote(rs: RoundState, input: VoteInput): void {
  const { height } = input.vote
  if (height === rs.height) onPresentVote(rs, input)
  else if (height === rs.early.height) onEarlyVote(rs, input)
  else if (height === rs.height - 1) onLateVote(rs, input)
}

function onPresentVote(rs: RoundState, input: VoteInput): void {
  const { vote, from } = input
  const { heightVotes, validators } = rs
  if (!heightVotes.follows(vote, from) || !isSound(rs, input, validators)) return
  if (!heightVotes.isNew(vote) || !isSigned(rs, input, validators)) return
  take(rs, input, heightVotes.add(vote, from))
  if (vote.validatorIndex !== rs.ownIndex) return
  restoreLock(rs, vote)
  if (isOwn(rs, input)) restoreStep(rs, vote)
}

/** For the last commit of the next block, until this node may have proposed it (CometBFT consensus/state.go, addVote). */
function onLateVote(rs: RoundState, input: VoteInput): void {
  const { vote } = input
  const { lastPrecommits, state, step } = rs
  if (step !== STEPS.newHeight || vote.type !== SIGNED_MESSAGE_TYPES.precommit) return
  if (lastPrecommits === undefined || vote.round !== lastPrecommits.round) return
  if (!isSound(rs, input, state.lastValidators) || !lastPrecommits.isNew(vote)) return
  if (isSigned(rs, input, state.lastValidators)) take(rs, input, lastPrecommits.add(vote))
}

function onEarlyVote(rs: RoundState, input: VoteInput): void {
  const { early } = rs
  if (!isSound(rs, input, early.validators) || !early.wantsVote(input.vote)) return
  if (isSigned(rs, input, early.validators)) early.addVote(input)
}

function take(rs: RoundState, input: VoteInput, { counted, contradicts }: AddedVote): void {
  if (counted) rs.emit({ kind: 'accepted', input })
  if (contradicts !== undefined) reportEquivocation(rs, contradicts, input.vote)
}

export function reportEquivocation(rs: RoundState, first: Vote, second: Vote): void {
  rs.emit({ kind: 'equivocation', first, second })
}

/** Cheap checks come first: an index and an address that fit, and a block that there can be. */
function isSound(rs: RoundState, { vote, from }: VoteInput, { validators }: ValidatorSet): boolean {
  const { validatorIndex, validatorAddress, blockId, height } = vote
  const validator = validators[validatorIndex]
  if (validator === undefined || !equalBytes(validator.address, validatorAddress)) {
    rs.blame(from, 'malformed', `vote of height ${height}: validator ${validatorIndex} is another one`)
    return false
  }
  if (isVotableId(blockId, rs.state.params.maxBytes)) return true
  rs.blame(from, 'malformed', `vote of height ${height} for no block that there can be`)
  return false
}

function isSigned(rs: RoundState, input: VoteInput, { validators }: ValidatorSet): boolean {
  const { vote, from } = input
  // The signer has just made it, or the log says that it did.
  if (isOwn(rs, input)) return true
  const { publicKey } = validators[vote.validatorIndex]!
  if (rs.verify(publicKey, voteSignBytes(rs.chain.chainId, vote), vote.signature)) return true
  rs.blame(from, 'bad signature', `vote of height ${vote.height}, round ${vote.round}`)
  return false
}

function isOwn({ address }: RoundState, { vote, from }: VoteInput): boolean {
  return from === undefined && address !== undefined && equalBytes(vote.validatorAddress, address)
}

/**
 * A precommit with this node's signature binds it, even if the log does not know of it and a peer has brought it: another
 * process with the same key has made it, or this one before its data was restored.
 */
function restoreLock(rs: RoundState, { type, round, blockId }: Vote): void {
  if (type !== SIGNED_MESSAGE_TYPES.precommit || isNilBlockId(blockId) || round <= rs.lockedRound) return
  rs.lockedRound = round
  rs.lockedBlockId = blockId
}

/** A vote in the log ends its step, whether or not all that led to it is there too. (Right after signing, that is so already.) */
function restoreStep(rs: RoundState, { type, round }: Vote): void {
  if (rs.step === STEPS.commit || round < rs.round) return
  if (round > rs.round || rs.step === STEPS.newHeight) startRound(rs, round)
  const step = type === SIGNED_MESSAGE_TYPES.prevote ? STEPS.prevote : STEPS.precommit
  if (rs.step < step) rs.enter(round, step)
}
