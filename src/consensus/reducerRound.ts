import { encodeBlock } from '../chain/consensus/block.ts'
import { EMPTY_COMMIT } from '../chain/consensus/types.ts'
import { type CandidateBlock, candidateOf } from './candidateBlock.ts'
import { castPrecommit, castPrevote } from './castVote.ts'
import { type Input, STEPS, type Timeout } from './input.ts'
import type { RoundState } from './roundState.ts'
import { timeoutMs } from './timeouts.ts'

/** Begins a height: its round 0 waits until the pace of blocks lets it start. */
export function enterNewHeight(rs: RoundState): void {
  rs.enter(0, STEPS.newHeight)
  rs.emit({ kind: 'schedule', timeout: { height: rs.height, round: 0, step: 'newHeight' }, delayMs: 0 })
}

/** StartRound(round) [L11-L21]. */
export function startRound(rs: RoundState, round: number): void {
  if (round !== rs.round) leaveRound(rs, round)
  rs.heightVotes.setRound(round)
  rs.enter(round, STEPS.propose) // [L12, L13]
  // The proposer too: building may take too long, or its signer may refuse.
  schedule(rs, 'propose') // [L21]
  if (rs.isProposer && rs.received === undefined) propose(rs) // [L14]
}

/** What was locked or valid stays; a proposal that came early for the new round is taken up. */
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

/** The valid value again, in the same bytes, or a new one [L15-L19]. */
function propose(rs: RoundState): void {
  const { height, round, validBlock } = rs
  if (validBlock !== undefined) {
    signProposal(rs, validBlock, rs.validRound) // [L16]
    return
  }
  const lastCommit = rs.lastPrecommits?.commit() ?? EMPTY_COMMIT
  rs.emit({ kind: 'build', height, round, lastCommit }) // [L18]
}

/** getValue() has returned [L18]. An answer that comes when the round is over, or prevoted already, is of no use. */
export function onBuilt(rs: RoundState, { round, block }: Extract<Input, { readonly kind: 'built' }>): void {
  if (block.header.height !== rs.height || round !== rs.round || rs.step !== STEPS.propose) return
  if (!rs.isProposer || rs.received !== undefined || rs.built !== undefined) return
  const bytes = encodeBlock(block)
  if (bytes.length > rs.state.params.maxBytes) {
    rs.note('block is not proposed: it is too large', { bytes: bytes.length })
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

export function schedule(rs: RoundState, step: Exclude<Timeout['step'], 'newHeight'>): void {
  const { height, round } = rs
  rs.emit({
    kind: 'schedule',
    timeout: { height, round, step },
    delayMs: timeoutMs(step, round, rs.chain.timing),
  })
}

/** One of another height, round or step has been overtaken. */
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
  rs.note('prevote is nil', { reason: whatIsMissing(rs) })
  castPrevote(rs, undefined)
}

/** OnTimeoutPrevote [L61-L64] */
function onTimeoutPrevote(rs: RoundState): void {
  if (rs.step !== STEPS.prevote) return
  rs.note('precommit is nil', { reason: 'no majority of prevotes for a known and valid block in time' })
  castPrecommit(rs, undefined)
}

/** OnTimeoutPrecommit [L65-L67] */
function onTimeoutPrecommit(rs: RoundState): void {
  rs.note('round failed', { reason: 'no majority of precommits in time' })
  startRound(rs, rs.round + 1)
}

/** Why this round's proposal was not prevoted when its time was over. */
function whatIsMissing({ received, candidate, isProposer }: RoundState): string {
  if (received === undefined) return isProposer ? 'no own proposal in time' : 'no proposal in time'
  if (candidate === undefined || !candidate.isComplete) return 'parts of the block are missing'
  if (candidate.status !== 'valid' && candidate.status !== 'invalid') return 'the application has not answered in time'
  const { polRound } = received.proposal
  return polRound < 0 ? 'another block has the prevotes' : `no majority of prevotes for it in round ${polRound}`
}
