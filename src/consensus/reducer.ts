import type { Effect, Input } from './inputsAndEffects.ts'
import { onDecision, onPart, onProposal, onUnchecked, onValidated, onVote } from './reducerMessages.ts'
import {
  acceptPrevoted,
  awaitPrecommits,
  awaitPrevotes,
  collectPrevoted,
  decide,
  enterNewHeight,
  examineCandidate,
  onBuilt,
  onFinalized,
  onTimeout,
  precommitNil,
  prevoteProposal,
  refuseInvalid,
  reportRefusal,
  skipRounds,
  validateCandidate,
} from './reducerRules.ts'
import type { RoundState } from './roundState.ts'

/** Acts if its condition holds. @returns whether it did */
type Rule = (rs: RoundState) => boolean

/**
 * The rules are tried in this order; after each rule that acted, again from the first one. The reasons for the order:
 * 1. Is the block valid? The other rules need its status.
 * 2. Is a block decided? Then no other rule of the round matters.
 * 3. Do the proposal and the votes require this node to prevote, lock or precommit?
 * 4. Is the step or the round over? Last, so that a vote that is still possible is cast first.
 */
const RULES: readonly Rule[] = [
  // 1.
  examineCandidate,
  refuseInvalid,
  // 2.
  decide, // L49
  // 3.
  collectPrevoted,
  validateCandidate,
  prevoteProposal, // L22, L28
  acceptPrevoted, // L36
  precommitNil, // L44
  reportRefusal,
  // 4.
  awaitPrevotes, // L34
  awaitPrecommits, // L47
  skipRounds, // L55
]

/** Begins the height of a new state. @returns its effects: the timer until round 0 */
export function beginHeight(rs: RoundState): readonly Effect[] {
  enterNewHeight(rs)
  return rs.takeEffects()
}

/**
 * Consensus as a reducer: takes one input, changes `rs`, and returns the effects that the engine
 * must carry out in their order. It has no clock, disk or network. The same inputs have the same
 * effects; the replay of the log relies on that. No message of a peer can make it throw.
 */
export function step(rs: RoundState, input: Input): readonly Effect[] {
  if (rs.halted) return []
  take(rs, input)
  applyRules(rs)
  return rs.takeEffects()
}

function applyRules(rs: RoundState): void {
  while (!rs.halted && RULES.some((rule) => rule(rs)));
}

function take(rs: RoundState, input: Input): void {
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
    case 'unchecked':
      onUnchecked(rs, input)
      return
    case 'decision':
      onDecision(rs, input)
      return
    case 'finalized':
      for (const early of onFinalized(rs, input)) {
        if (!rs.halted) take(rs, early)
        applyRules(rs)
      }
  }
}
