import { bytesKey } from '../primitives/bytes.ts'
import { type Effect, type Input, type MessageInput, REPLAY } from './inputsAndEffects.ts'
import { beginHeight, step } from './reducer.ts'
import type { RoundState } from './roundState.ts'
import type { WalEntry } from './walEntry.ts'

/** The log's entry for a message that a peer sent. */
export function entryOf(input: MessageInput): WalEntry {
  switch (input.kind) {
    case 'proposal':
      return { kind: 'receivedProposal', proposal: input.proposal, receivedMs: input.receivedMs }
    case 'vote':
      return { kind: 'receivedVote', vote: input.vote }
    case 'part': {
      const { height, round, part } = input
      return { kind: 'part', height, round, part }
    }
  }
}

/**
 * Replays the log's entries of the open height: this restores the round state of the moment when the process ended, locks included.
 * @returns the effects that still have to be carried out
 */
export function replayHeight(rounds: RoundState, entries: readonly WalEntry[]): readonly Effect[] {
  const unanswered = new Unanswered()
  unanswered.add(beginHeight(rounds))
  for (const input of replayInputs(entries)) {
    unanswered.answer(input)
    unanswered.add(step(rounds, input))
  }
  return unanswered.remaining(rounds.round)
}

/**
 * Turns the log's entries back into inputs, in their order. The parts of an own block are in the log before its proposal, but the
 * reducer accepts them only after it, so they are repeated then.
 */
function* replayInputs(entries: readonly WalEntry[]): Iterable<Input> {
  const parts: Extract<Input, { kind: 'part' }>[] = []
  for (const entry of entries) {
    switch (entry.kind) {
      case 'part': {
        const { height, round, part } = entry
        const input = { kind: 'part', height, round, part, from: REPLAY } as const
        parts.push(input)
        yield input
        break
      }
      case 'proposal': {
        const { proposal } = entry
        yield { kind: 'proposal', proposal, receivedMs: proposal.timestampMs, from: undefined }
        for (const part of parts) if (part.round === proposal.round) yield part
        break
      }
      case 'receivedProposal':
        yield { kind: 'proposal', proposal: entry.proposal, receivedMs: entry.receivedMs, from: REPLAY }
        break
      case 'vote':
        yield { kind: 'vote', vote: entry.vote, from: undefined }
        break
      case 'receivedVote':
        yield { kind: 'vote', vote: entry.vote, from: REPLAY }
        break
      case 'timeout':
      case 'validated':
        yield entry
    }
  }
}

/**
 * Effects of the replay whose answer is not in the log. They are carried out after the replay, in their order. Messages to peers are
 * not repeated: gossip finds out what they lack.
 */
class Unanswered {
  readonly #effects = new Map<string, Effect>()
  /** position of the newest own message in the log */
  #signed = { round: -1, step: 0 }

  /** Records an input of the log, before the reducer gets it. */
  answer(input: Input): void {
    switch (input.kind) {
      case 'proposal':
        if (input.from === undefined) this.#sign(input.proposal.round, 0)
        break
      case 'vote':
        if (input.from === undefined) this.#sign(input.vote.round, input.vote.type)
        break
      case 'timeout': {
        const { height, round, step } = input.timeout
        const effect = this.#effects.get(`schedule/${step}`)
        if (effect?.kind !== 'schedule') break
        const { timeout } = effect
        if (timeout.height === height && timeout.round === round) this.#effects.delete(`schedule/${step}`)
        break
      }
      case 'validated':
        this.#effects.delete(`validate/${bytesKey(input.blockHash)}`)
    }
  }

  /** Adds the effects of that input. */
  add(effects: readonly Effect[]): void {
    for (const effect of effects) {
      const key = keyOf(effect)
      if (key === undefined) continue
      this.#effects.delete(key)
      this.#effects.set(key, effect)
    }
  }

  #sign(round: number, step: number): void {
    if (round > this.#signed.round || (round === this.#signed.round && step > this.#signed.step)) {
      this.#signed = { round, step }
    }
  }

  /** @param round the round at the end of the replay: nothing is built or signed for earlier rounds */
  remaining(round: number): readonly Effect[] {
    return [...this.#effects.values()].filter((effect) => {
      switch (effect.kind) {
        case 'build':
          return effect.round === round && !this.#hasSigned(round, 0)
        case 'signProposal':
          return effect.proposal.round === round && !this.#hasSigned(round, 0)
        case 'signVote':
          return effect.vote.round === round && !this.#hasSigned(round, effect.vote.type)
        default:
          return true
      }
    })
  }

  #hasSigned(round: number, step: number): boolean {
    return this.#signed.round > round || (this.#signed.round === round && this.#signed.step >= step)
  }
}

/**
 * The key of an effect: of two effects with the same key the later one counts. Undefined: the effect is not carried out after a
 * replay.
 */
function keyOf(effect: Effect): string | undefined {
  switch (effect.kind) {
    case 'schedule':
      return `schedule/${effect.timeout.step}`
    case 'validate':
      return `validate/${bytesKey(effect.blockId.hash)}`
    case 'signProposal':
      return `proposal/${effect.proposal.round}`
    case 'signVote':
      return `vote/${effect.vote.round}/${effect.vote.type}`
    case 'equivocation': {
      const { validatorIndex, round, type } = effect.second
      return `equivocation/${validatorIndex}/${round}/${type}`
    }
    case 'build':
    case 'finalize':
    case 'halt':
      return effect.kind
    case 'accepted':
    case 'entered':
    case 'misbehaviour':
    case 'log':
      return undefined
  }
}
