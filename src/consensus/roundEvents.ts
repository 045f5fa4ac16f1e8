import type { BlockId, Vote } from '../chain/comet/types.ts'
import { validatorIndexOf } from '../chain/comet/validatorSet.ts'
import type { Effect, Input } from './inputsAndEffects.ts'
import type { RoundState } from './roundState.ts'
import { STEPS, type Step } from './roundStateView.ts'

/** Where consensus is. */
interface RoundPosition {
  readonly height: number
  readonly round: number
  readonly step: Step
}

/** Events of a round, by CometBFT's names (types/events.go). */
export type RoundEvent =
  /** a round begins */
  | (RoundPosition & {
      readonly kind: 'NewRound'
      readonly proposer: { readonly address: Uint8Array; readonly index: number }
    })
  /** height, round or step is another one */
  | (RoundPosition & { readonly kind: 'NewRoundStep' })
  /** the node has the whole block that was proposed, or has the round's votes */
  | (RoundPosition & { readonly kind: 'CompleteProposal'; readonly blockId: BlockId })
  /** a valid vote that the node did not have before, its own too */
  | { readonly kind: 'Vote'; readonly vote: Vote }

/** Takes the events while a client wants them. */
export interface RoundEventSink {
  isWanted(): boolean
  publish(event: RoundEvent): void
}

/**
 * Reports rounds and votes to the sink, from the engine's effects. It does no work without a sink,
 * or while the sink wants no events.
 */
export class RoundReporter {
  readonly #sink: RoundEventSink | undefined
  readonly #push: (run: () => void) => void
  /** By the effects that were carried out: one input may lead through several steps, and the round state is in the last of them. */
  #position: RoundPosition | undefined
  /** the newest round whose complete proposal was reported */
  #completed: Pick<RoundPosition, 'height' | 'round'> | undefined

  /**
   * @param push runs a function once all earlier log entries are on stable storage: clients see no
   * vote that a crash could undo
   */
  constructor(sink: RoundEventSink | undefined, push: (run: () => void) => void) {
    this.#sink = sink
    this.#push = push
  }

  entered(rounds: RoundState, { height, round, step }: Extract<Effect, { readonly kind: 'entered' }>): void {
    this.#position = { height, round, step }
    if (this.#sink?.isWanted() !== true) return
    if (step === STEPS.propose && height === rounds.height) {
      const { address } = rounds.proposerOf(round)
      const proposer = { address, index: validatorIndexOf(rounds.validators, address) }
      this.#report({ kind: 'NewRound', height, round, step: STEPS.newRound, proposer })
    }
    this.#report({ kind: 'NewRoundStep', height, round, step })
    this.#reportProposal(rounds)
  }

  accepted(rounds: RoundState, input: Extract<Input, { readonly kind: 'proposal' | 'part' | 'vote' }>): void {
    if (this.#sink?.isWanted() !== true) return
    if (input.kind === 'vote') this.#report({ kind: 'Vote', vote: input.vote })
    else this.#reportProposal(rounds)
  }

  /** The last of proposal and parts may come first, or before the round: so this is asked after each of them, and when a step begins. */
  #reportProposal({ height, round, step, candidate }: RoundState): void {
    if (candidate?.isComplete !== true) return
    if (this.#completed?.height === height && this.#completed.round === round) return
    this.#completed = { height, round }
    const position = this.#position ?? { height, round, step }
    this.#report({ kind: 'CompleteProposal', ...position, blockId: candidate.blockId })
  }

  #report(event: RoundEvent): void {
    this.#push(() => this.#sink?.publish(event))
  }
}
