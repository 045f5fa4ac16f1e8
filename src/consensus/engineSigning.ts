import type { Effect } from './effect.ts'
import type { ConsensusEnvironment, ConsensusSigner } from './environment.ts'
import type { Input } from './input.ts'

type SignEffect = Extract<Effect, { readonly kind: 'signProposal' | 'signVote' }>

/** Signs what the reducer asks for; the signer and this put it into the log. */
export class OwnMessages {
  readonly #signer: ConsensusSigner | undefined
  readonly #environment: Pick<ConsensusEnvironment, 'log' | 'nowMs'>
  /** what the signer abstained from in the present round */
  #abstained: SignEffect[] = []

  constructor(signer: ConsensusSigner | undefined, environment: Pick<ConsensusEnvironment, 'log' | 'nowMs'>) {
    this.#signer = signer
    this.#environment = environment
  }

  /**
   * @returns the messages, for the reducer; they must not leave before the log's next sync. None when nothing was signed.
   * @throws DoubleSignError, WalError
   */
  sign(effect: SignEffect): readonly Input[] {
    if (this.#signer === undefined) return []
    const inputs =
      effect.kind === 'signProposal' ? this.#propose(this.#signer, effect) : this.#vote(this.#signer, effect)
    if (inputs.length === 0) this.#abstained.push(effect)
    return inputs
  }

  /** Parts first: a log that holds the proposal then holds its block, wherever a crash cut it. */
  #propose(signer: ConsensusSigner, { proposal, parts }: Extract<SignEffect, { kind: 'signProposal' }>): Input[] {
    const { height, round } = proposal
    const environment = this.#environment
    for (const part of parts) environment.log.append({ kind: 'part', height, round, part })
    const signed = signer.stageProposal(proposal)
    if (signed === undefined) return []
    return [
      { kind: 'proposal', proposal: signed, receivedMs: environment.nowMs(), from: undefined },
      ...parts.map((part): Input => ({ kind: 'part', height, round, part, from: undefined })),
    ]
  }

  #vote(signer: ConsensusSigner, { vote, earliestMs }: Extract<SignEffect, { kind: 'signVote' }>): Input[] {
    const timestampMs = Math.max(this.#environment.nowMs(), earliestMs)
    const signed = signer.stageVote({ ...vote, timestampMs })
    return signed === undefined ? [] : [{ kind: 'vote', vote: signed, from: undefined }]
  }

  /** The signer was asked in vain for what this gives, and the round is still the same. */
  takeAbstained(): readonly SignEffect[] {
    return this.#abstained.splice(0)
  }

  /** What was left out in other rounds is not signed any more. */
  entered(height: number, round: number): void {
    this.#abstained = this.#abstained.filter((effect) => {
      const signed = effect.kind === 'signProposal' ? effect.proposal : effect.vote
      return signed.height === height && signed.round === round
    })
  }
}
