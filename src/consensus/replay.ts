import { bytesKey } from '../primitives/bytes.ts'
import { type Effect, type Input, type MessageInput, REPLAY } from './inputsAndEffects.ts'
import { beginHeight, step } from './reducer.ts'
import type { RoundState } from './roundState.ts'
import type { AskedEntry, WalEntry } from './walEntry.ts'

/** Returns the log's entry for a message that a peer sent. */
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
  const unanswered = new Unanswered(rounds.height)
  for (const [index, entry] of entries.entries()) {
    if (entry.kind === 'asked') unanswered.askedFor(entry, entries.slice(0, index))
  }
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
 * Effects of the replay whose answer is not in the log. They are carried out after the replay, in
 * their order. Messages to peers are not repeated: gossip finds out which ones they lack.
 */
class Unanswered {
  readonly #effects = new Map<string, Effect>()
  readonly #height: number
  /** position of the newest own message in the log */
  #signed: OwnPosition = { round: -1, step: 0 }
  /**
   * position of the newest question to a remote signer: earlier messages can no longer be signed
   */
  #asked: OwnPosition = { round: -1, step: 0 }
  /** proposals that a remote signer was asked to sign, by round: nothing else is built there */
  readonly #askedProposals = new Map<number, Effect>()

  constructor(height: number) {
    this.#height = height
  }

  /** Records a question in the log. @param before the entries before it, which have the block of a proposal */
  askedFor({ request }: AskedEntry, before: readonly WalEntry[]): void {
    const { height } = request.kind === 'vote' ? request.vote : request.proposal
    if (height !== this.#height) return
    if (request.kind === 'vote') {
      const { round, type } = request.vote
      this.#asked = newer(this.#asked, { round, step: type })
      return
    }
    const { proposal } = request
    const { round } = proposal
    const parts = before.flatMap((entry) => (entry.kind === 'part' && entry.round === round ? [entry.part] : []))
    this.#askedProposals.set(round, { kind: 'signProposal', proposal, parts })
    this.#asked = newer(this.#asked, { round, step: 0 })
  }

  /** Records an input of the log, before the reducer gets it. */
  answer(input: Input): void {
    switch (input.kind) {
      // A late message for the height before says nothing about this one.
      case 'proposal':
        if (input.from === undefined && input.proposal.height === this.#height) this.#sign(input.proposal.round, 0)
        break
      case 'vote':
        if (input.from === undefined && input.vote.height === this.#height) {
          this.#sign(input.vote.round, input.vote.type)
        }
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

  /** Adds the effects of the last input. */
  add(effects: readonly Effect[]): void {
    for (const emitted of effects) {
      const effect = emitted.kind === 'build' ? (this.#askedProposals.get(emitted.round) ?? emitted) : emitted
      const key = keyOf(effect)
      if (key === undefined) continue
      this.#effects.delete(key)
      this.#effects.set(key, effect)
    }
  }

  #sign(round: number, step: number): void {
    this.#signed = newer(this.#signed, { round, step })
  }

  /** @param round the round at the end of the replay: nothing is built or signed for earlier rounds */
  remaining(round: number): readonly Effect[] {
    return [...this.#effects.values()].filter((effect) => {
      switch (effect.kind) {
        case 'build':
          return effect.round === round && this.#maySign(round, 0)
        case 'signProposal':
          return effect.proposal.round === round && this.#maySign(round, 0)
        case 'signVote':
          return effect.vote.round === round && this.#maySign(round, effect.vote.type)
        default:
          return true
      }
    })
  }

  #maySign(round: number, step: number): boolean {
    return isBefore(this.#signed, { round, step }) && !isBefore({ round, step }, this.#asked)
  }
}

/** Of an own message in the height; the step is 0 for the proposal, otherwise the type of the vote. */
interface OwnPosition {
  readonly round: number
  readonly step: number
}

function isBefore(a: OwnPosition, b: OwnPosition): boolean {
  return a.round < b.round || (a.round === b.round && a.step < b.step)
}

function newer(a: OwnPosition, b: OwnPosition): OwnPosition {
  return isBefore(a, b) ? b : a
}

/**
 * Returns the key of an effect: of two effects with the same key the later one counts. Undefined:
 * the effect is not carried out after a replay.
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
      const { validatorIndex, height, round, type } = effect.second
      return `equivocation/${validatorIndex}/${height}/${round}/${type}`
    }
    case 'build':
    case 'finalize':
    case 'halt':
      return effect.kind
    case 'refused':
    case 'accepted':
    case 'entered':
    case 'misbehaviour':
    case 'log':
      return undefined
  }
}
