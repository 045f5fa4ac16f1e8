import type { Effect } from './effect.ts'
import type { Input } from './input.ts'
import { awaitPrecommits, decide, onDecision, onFinalized, refuseInvalid, skipRounds } from './reducerCommit.ts'
import { acceptPrevoted, awaitPrevotes, collectPrevoted, precommitNil } from './reducerPrecommit.ts'
import { prevoteProposal } from './reducerPrevote.ts'
import { examineCandidate, onPart, onProposal, onValidated, validateCandidate } from './reducerProposal.ts'
import { enterNewHeight, onBuilt, onTimeout } from './reducerRound.ts'
import { onVote } from './reducerVotes.ts'
import { RoundState, type RoundStateOptions } from './roundState.ts'

/*
 * Tendermint's consensus, "The latest gossip on BFT consensus" (arXiv 1807.04938), algorithm 1. A mark like [L22] names its
 * line. Deviations, each where it is made: votes name blocks that travel apart from proposals; a new block must be timely
 * (PBTS); rounds end early when nothing can come of them any more.
 */

/** Something that happens as soon as its condition holds. @returns whether it did */
type Rule = (rs: RoundState) => boolean

/** In this order, from the first again after each that acted: what a block is, then what votes demand, then what ends a round. */
const RULES: readonly Rule[] = [
  examineCandidate,
  refuseInvalid,
  decide, // L49
  collectPrevoted,
  validateCandidate,
  prevoteProposal, // L22, L28
  acceptPrevoted, // L36
  precommitNil, // L44
  awaitPrevotes, // L34
  awaitPrecommits, // L47
  skipRounds, // L55
]

/** The state at the beginning of the height after `options.state`. */
export function createRoundState(options: RoundStateOptions): RoundState {
  return new RoundState(options)
}

/** The effects of beginning that height: the timer until its round 0. */
export function beginHeight(rs: RoundState): readonly Effect[] {
  enterNewHeight(rs)
  return rs.takeEffects()
}

/**
 * Takes one input in, and does all that follows from it, to `rs` and as effects. The same inputs give the same effects, which
 * is what replaying a log relies on. Nothing that a peer sends makes it throw.
 */
export function step(rs: RoundState, input: Input): readonly Effect[] {
  if (rs.halted) return []
  takeIn(rs, input)
  applyRules(rs)
  return rs.takeEffects()
}

function applyRules(rs: RoundState): void {
  while (!rs.halted && RULES.some((rule) => rule(rs)));
}

function takeIn(rs: RoundState, input: Input): void {
  switch (input.kind) {
    case 'proposal':
      onProposal(rs, input)
      return
    case 'part':
      onPart(rs, input)
      return
    case 'vote':
      onVote(rs, input)
      return
    case 'timeout':
      onTimeout(rs, input.timeout)
      return
    case 'built':
      onBuilt(rs, input)
      return
    case 'validated':
      onValidated(rs, input)
      return
    case 'decision':
      onDecision(rs, input)
      return
    case 'finalized':
      for (const early of onFinalized(rs, input)) {
        if (!rs.halted) takeIn(rs, early)
        applyRules(rs)
      }
  }
}
