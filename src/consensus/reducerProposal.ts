import { equalBlockId, type Proposal, type Validator } from '../chain/consensus/types.ts'
import { proposalSignBytes } from '../chain/consensus/vote.ts'
import { isCandidateId, isMalformedPart } from './candidateBlock.ts'
import { type Input, type MessageInput, STEPS } from './input.ts'
import type { ReceivedProposal, RoundState } from './roundState.ts'

type ProposalInput = Extract<MessageInput, { readonly kind: 'proposal' }>
type PartInput = Extract<MessageInput, { readonly kind: 'part' }>

/**
 * PROPOSAL(h_p, r, id(v), vr) of this round or the next. The first one that its proposer has signed is taken; another one of the
 * same round is not punished, so it is not even looked at.
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
  if (!isSound(rs, input, rs.proposerOf(round))) return

  const own = isOwn(rs, input)
  const received: ReceivedProposal = { proposal, receivedMs: input.receivedMs, own }
  const candidate = rs.candidateFor(proposal.blockId)
  if (isNext) rs.upcoming = { received, candidate }
  else {
    rs.received = received
    // A block that has this round's prevotes is collected already.
    rs.candidate ??= candidate
  }
  rs.emit({ kind: 'accepted', input })
}

function onEarlyProposal(rs: RoundState, input: ProposalInput): void {
  const { early } = rs
  if (early.wantsProposal(input.proposal) && isSound(rs, input, early.proposerOf(0))) early.addProposal(input)
}

function isOwn(rs: RoundState, { proposal, from }: ProposalInput): boolean {
  return from === undefined && rs.isValidator && rs.proposerOf(proposal.round).address === ownAddress(rs)
}

function ownAddress(rs: RoundState): Uint8Array {
  return rs.validators.validators[rs.ownIndex]!.address
}

/** What every honest node finds in order, so that whoever passes on anything else is to blame. */
function isSound(rs: RoundState, { proposal, from }: ProposalInput, { publicKey }: Validator): boolean {
  const reason = malformation(proposal, rs.state.params.maxBytes)
  if (reason !== undefined) {
    rs.blame(from, 'malformed', reason)
    return false
  }
  if (rs.verify(publicKey, proposalSignBytes(rs.chain.chainId, proposal), proposal.signature)) return true
  rs.blame(from, 'bad signature', `proposal of height ${proposal.height}, round ${proposal.round}`)
  return false
}

function malformation({ round, polRound, blockId }: Proposal, maxBytes: number): string | undefined {
  if (polRound < -1 || polRound >= round) return `proposal of round ${round} names the proof-of-lock round ${polRound}`
  if (!isCandidateId(blockId, maxBytes)) return 'proposal names no block that there can be'
  return undefined
}

/** A part of the block that a round, or the decision, is about. Parts of other blocks may be honest: nobody is to blame. */
export function onPart(rs: RoundState, input: PartInput): void {
  const { height, round, part, from } = input
  if (height !== rs.height && height !== rs.early.height) return
  if (isMalformedPart(part)) {
    rs.blame(from, 'malformed', 'block part')
    return
  }
  if (height === rs.early.height) {
    rs.early.addPart(input)
    return
  }
  const candidate = round === rs.round || rs.step === STEPS.commit ? rs.candidate : upcomingCandidate(rs, round)
  if (candidate === undefined) return
  // Parts of the block that this node built are there before they are its proposal's.
  const isOwn = from === undefined && candidate.part(part.index) === part
  if (isOwn || candidate.add(part)) rs.emit({ kind: 'accepted', input })
}

function upcomingCandidate({ upcoming }: RoundState, round: number) {
  return upcoming?.received.proposal.round === round ? upcoming.candidate : undefined
}

/** The application's answer: valid(v), or why not. */
export function onValidated(
  rs: RoundState,
  { height, blockHash, reason }: Extract<Input, { readonly kind: 'validated' }>,
): void {
  // What more than two thirds have decided is executed, whatever it says.
  if (height !== rs.height || rs.decided !== undefined) return
  for (const candidate of rs.candidates()) {
    if (!candidate.isAwaited(blockHash)) continue
    if (reason === undefined) candidate.markValid()
    else candidate.markInvalid(`the application refuses it: ${reason}`)
  }
}

/** A rule: a complete block is decoded and held against the rules of consensus. */
export function examineCandidate(rs: RoundState): boolean {
  const { candidate } = rs
  if (candidate?.status !== 'unchecked') return false
  candidate.examine(rs.state.params.maxBytes, (block) => rs.checkBlock(block))
  return true
}

/**
 * A rule: the application judges the block while votes travel; that also starts its execution. What this node proposed as new
 * it has built, hence executed, itself.
 */
export function validateCandidate(rs: RoundState): boolean {
  const { candidate, received, step } = rs
  if (candidate?.status !== 'possible' || step === STEPS.commit) return false
  const proposal = received?.proposal
  if (received?.own && proposal!.polRound < 0 && equalBlockId(proposal!.blockId, candidate.blockId)) {
    candidate.markValid()
    return true
  }
  candidate.markAsked()
  rs.emit({ kind: 'validate', block: candidate.block!, blockId: candidate.blockId })
  return true
}
