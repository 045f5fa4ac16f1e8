import { type BlockId, type RankedValidatorSet, SIGNED_MESSAGE_TYPES, type Vote } from '../../../chain/comet/types.ts'
import { proposerAt } from '../../../chain/comet/validatorSet.ts'
import type { RoundStateView, VoteSetView } from '../../../consensus/roundStateView.ts'
import { bytesToUpperHex, equalBytes } from '../../../primitives/bytes.ts'
import { base64, blockIdJson, formatTime, validatorSetJson } from './values.ts'

/** Most rounds that are shown, the newest ones: a height without a decision may have many. */
const MAX_ROUNDS = 16
const FINGERPRINT_BYTES = 6
const NIL_VOTE = 'nil-Vote'
const TYPE_NAMES = {
  [SIGNED_MESSAGE_TYPES.prevote]: 'SIGNED_MSG_TYPE_PREVOTE(Prevote)',
  [SIGNED_MESSAGE_TYPES.precommit]: 'SIGNED_MSG_TYPE_PRECOMMIT(Precommit)',
}

/** When the height started and when the previous one was decided, wall clock in milliseconds. */
export interface HeightTimes {
  readonly startMs: number
  readonly commitMs: number
}

/** The state of the round in both forms that clients know. */
export interface RoundStateJson {
  readonly simple: Readonly<Record<string, unknown>>
  readonly full: Readonly<Record<string, unknown>>
}

/** Formats both forms, which share the votes: these are most of the work. */
export function roundStateJson(state: RoundStateView, times: HeightTimes) {
  const votes = roundVotesJson(state)
  return { simple: simpleJson(state, times, votes), full: fullJson(state, times, votes) } satisfies RoundStateJson
}

type RoundVotes = ReturnType<typeof roundVotesJson>

/**
 * Formats consensus/types.RoundStateSimple, for operators who look for a validator that does not
 * vote.
 */
function simpleJson(state: RoundStateView, { startMs }: HeightTimes, votes: RoundVotes) {
  const proposer = proposerAt(state.validators, state.round)
  return {
    'height/round/step': `${state.height}/${state.round}/${state.step}`,
    start_time: formatTime(startMs),
    proposal_block_hash: isComplete(state) ? bytesToUpperHex(state.proposal?.blockId.hash ?? new Uint8Array(0)) : '',
    locked_block_hash: hashJson(state.lockedBlockId),
    valid_block_hash: hashJson(state.validBlockId),
    height_vote_set: votes,
    proposer: {
      address: bytesToUpperHex(proposer.address),
      index: state.validators.validators.findIndex(({ address }) => equalBytes(address, proposer.address)),
    },
  }
}

/** Formats consensus/types.RoundState. Blocks are left out: `block` shows decided ones. */
function fullJson(state: RoundStateView, { startMs, commitMs }: HeightTimes, votes: RoundVotes) {
  const { proposal, parts, lastPrecommits } = state
  return {
    height: String(state.height),
    round: state.round,
    step: state.step,
    start_time: formatTime(startMs),
    commit_time: formatTime(commitMs),
    validators: validatorSetJson(state.validators),
    proposal:
      proposal === undefined
        ? null
        : {
            Type: SIGNED_MESSAGE_TYPES.proposal,
            height: String(proposal.height),
            round: proposal.round,
            pol_round: proposal.polRound,
            block_id: blockIdJson(proposal.blockId),
            timestamp: formatTime(proposal.timestampMs),
            signature: base64(proposal.signature),
          },
    proposal_block: null,
    proposal_block_parts:
      parts === undefined
        ? null
        : { 'count/total': `${countParts(state)}/${parts.header.total}`, parts_bit_array: partBits(state) },
    locked_round: state.lockedRound,
    locked_block: null,
    locked_block_parts: null,
    valid_round: state.validRound,
    valid_block: null,
    valid_block_parts: null,
    votes,
    commit_round: state.commitRound,
    last_commit: lastPrecommits === undefined ? null : lastCommitJson(lastPrecommits),
    triggered_timeout_precommit: false,
  }
}

/** Formats consensus/types.HeightVoteSet. */
function roundVotesJson(state: RoundStateView) {
  const rounds = []
  for (let round = Math.max(0, state.round - MAX_ROUNDS + 1); round <= state.round; round++) {
    const prevotes = state.votes(round, SIGNED_MESSAGE_TYPES.prevote)
    const precommits = state.votes(round, SIGNED_MESSAGE_TYPES.precommit)
    const prevoteTexts = voteTexts(prevotes, state.validators)
    const precommitTexts = voteTexts(precommits, state.validators)
    rounds.push({
      round,
      prevotes: prevoteTexts,
      prevotes_bit_array: voteBits(prevotes, prevoteTexts, state.validators),
      precommits: precommitTexts,
      precommits_bit_array: voteBits(precommits, precommitTexts, state.validators),
    })
  }
  return rounds
}

/**
 * Formats the precommits of the previous height, whose validators may differ from this height's.
 */
function lastCommitJson(votes: VoteSetView) {
  const { size } = votes.bits()
  const texts = Array.from({ length: size }, (_, index) => voteText(votes.vote(index)))
  return { votes: texts, votes_bit_array: `BA{${size}:${marks(texts)}}`, peer_maj_23s: {} }
}

function voteTexts(votes: VoteSetView | undefined, { validators }: RankedValidatorSet): readonly string[] {
  return validators.map((_, index) => voteText(votes?.vote(index)))
}

/** Formats types.VoteSet.BitArrayString: which validators voted, and their share of the power. */
function voteBits(
  votes: VoteSetView | undefined,
  texts: readonly string[],
  { totalPower }: RankedValidatorSet,
): string {
  const power = votes?.power() ?? 0n
  const share = (Number(power) / Number(totalPower)).toFixed(2)
  return `BA{${texts.length}:${marks(texts)}} ${power}/${totalPower} = ${share}`
}

function marks(texts: readonly string[]): string {
  return texts.map((text) => (text === NIL_VOTE ? '_' : 'x')).join('')
}

/** Formats types.Vote.String. */
function voteText(vote: Vote | undefined): string {
  if (vote === undefined) return NIL_VOTE
  const { validatorIndex, validatorAddress, height, round, type, blockId, signature, timestampMs } = vote
  const shown = [blockId.hash, signature, new Uint8Array(0)].map(fingerprint).join(' ')
  const step = `${height}/${String(round).padStart(2, '0')}/${TYPE_NAMES[type]}`
  return `Vote{${validatorIndex}:${fingerprint(validatorAddress)} ${step} ${shown} @ ${formatTime(timestampMs)}}`
}

function fingerprint(bytes: Uint8Array): string {
  return bytesToUpperHex(bytes.subarray(0, FINGERPRINT_BYTES)).padEnd(FINGERPRINT_BYTES * 2, '0')
}

function isComplete(state: RoundStateView): boolean {
  return state.parts !== undefined && countParts(state) === state.parts.header.total
}

function countParts({ parts }: RoundStateView): number {
  return parts === undefined ? 0 : [...Array(parts.header.total).keys()].filter((index) => parts.has(index)).length
}

function partBits({ parts }: RoundStateView): string {
  return [...Array(parts?.header.total ?? 0).keys()].map((index) => (parts!.has(index) ? 'x' : '_')).join('')
}

function hashJson(id: BlockId | undefined): string {
  return id === undefined ? '' : bytesToUpperHex(id.hash)
}
