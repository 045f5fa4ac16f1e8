import type { ConsensusBlock } from '../chain/comet/block.ts'
import type { Evidence } from '../chain/comet/types.ts'
import type { ProposalRequest, ProposedData } from './application.ts'
import { type ConsensusState, makeBlock } from './consensusState.ts'
import type { AskedSignature, ConsensusEnvironment, ConsensusSigner } from './environment.ts'
import type { Effect, Input } from './inputsAndEffects.ts'
import { type RoundStateView, STEPS } from './roundStateView.ts'

type SignEffect = Extract<Effect, { readonly kind: 'signProposal' | 'signVote' }>

/**
 * The outcome of a request: inputs of the reducer, or a question that must be sent after the log's
 * next sync.
 */
export type SignedInputs = readonly Input[] | AskedSignature<readonly Input[]>

/**
 * This node's own proposals and votes: the signer signs the messages that the reducer requests and
 * appends them to the log. Signed messages are sent after the log's next sync (outbox.ts).
 */
export class OwnMessages {
  readonly #signer: ConsensusSigner | undefined
  readonly #environment: Pick<ConsensusEnvironment, 'wal' | 'nowMs'>
  /**
   * unsigned requests of the current round: the signer abstained, or a remote one has not answered
   */
  #unsigned: SignEffect[] = []

  constructor(signer: ConsensusSigner | undefined, environment: Pick<ConsensusEnvironment, 'wal' | 'nowMs'>) {
    this.#signer = signer
    this.#environment = environment
  }

  /**
   * @returns the messages as inputs of the reducer; none when the signer abstained
   * @throws DoubleSignError, WalError
   */
  sign(effect: SignEffect): SignedInputs {
    if (this.#signer === undefined) return []
    const signed =
      effect.kind === 'signProposal' ? this.#propose(this.#signer, effect) : this.#vote(this.#signer, effect)
    if (signed === undefined) {
      this.#unsigned.push(effect)
      return []
    }
    // Earlier messages of the round can no longer be signed.
    this.#unsigned = []
    if (!isAsked(signed)) return signed
    this.#unsigned.push(effect)
    return mapAsked(signed, (inputs) => {
      this.#unsigned = this.#unsigned.filter((unsigned) => unsigned !== effect)
      return inputs
    })
  }

  /** The parts are logged first, so that a log with the proposal also has its block, wherever a crash has cut it off. */
  #propose(
    signer: ConsensusSigner,
    { proposal, parts }: Extract<SignEffect, { kind: 'signProposal' }>,
  ): SignedInputs | undefined {
    const { height, round } = proposal
    const environment = this.#environment
    for (const part of parts) environment.wal.append({ kind: 'part', height, round, part })
    return asInputs(signer.stageProposal(proposal), (signed) => [
      { kind: 'proposal', proposal: signed, receivedMs: environment.nowMs(), from: undefined },
      ...parts.map((part): Input => ({ kind: 'part', height, round, part, from: undefined })),
    ])
  }

  #vote(
    signer: ConsensusSigner,
    { vote, earliestMs }: Extract<SignEffect, { kind: 'signVote' }>,
  ): SignedInputs | undefined {
    const timestampMs = Math.max(this.#environment.nowMs(), earliestMs)
    return asInputs(signer.stageVote({ ...vote, timestampMs }), (signed) => [
      { kind: 'vote', vote: signed, from: undefined },
    ])
  }

  /**
   * Returns and forgets the unsigned requests of the current round. The caller may sign them now.
   */
  takeUnsigned(): readonly SignEffect[] {
    return this.#unsigned.splice(0)
  }

  /** Called when a round begins: requests of other rounds are dropped. */
  entered(height: number, round: number): void {
    this.#unsigned = this.#unsigned.filter((effect) => {
      const signed = effect.kind === 'signProposal' ? effect.proposal : effect.vote
      return signed.height === height && signed.round === round
    })
  }
}

function asInputs<T extends object>(
  staged: T | AskedSignature<T> | undefined,
  toInputs: (signed: T) => readonly Input[],
): SignedInputs | undefined {
  if (staged === undefined) return undefined
  return isAsked(staged) ? mapAsked(staged, toInputs) : toInputs(staged)
}

/** Returns the same question, with `map` applied to its answer. */
export function mapAsked<T, R>(asked: AskedSignature<T>, map: (signed: T) => R): AskedSignature<R> {
  return {
    send: (done) =>
      asked.send((complete) =>
        done(() => {
          const signed = complete()
          return signed === undefined ? undefined : map(signed)
        }),
      ),
  }
}

/** Whether a remote signer has to be asked for the message. */
export function isAsked<T extends object>(staged: T | AskedSignature<T>): staged is AskedSignature<T> {
  return 'send' in staged
}

type Build = Extract<Effect, { kind: 'build' }>

interface Proposing {
  readonly round: number
  readonly request: ProposalRequest
  readonly state: ConsensusState
}

/** Asks the application to build the blocks that this node proposes. */
export class BlockProposer {
  readonly #environment: Pick<ConsensusEnvironment, 'nowMs' | 'setTimer' | 'build'>
  readonly #genesisHash: Uint8Array
  readonly #signer: Pick<ConsensusSigner, 'address'>
  #proposing: Proposing | undefined
  #cancelWait: (() => void) | undefined

  constructor(
    environment: Pick<ConsensusEnvironment, 'nowMs' | 'setTimer' | 'build'>,
    genesisHash: Uint8Array,
    signer: Pick<ConsensusSigner, 'address'>,
  ) {
    this.#environment = environment
    this.#genesisHash = genesisHash
    this.#signer = signer
  }

  /**
   * PBTS: a block's time is that of its proposer's clock, and it must be later than the previous block's time. So a proposer whose
   * clock is slow waits. The only validator does not wait, because no other one checks its time: its block is one millisecond later
   * than the last one.
   */
  build(effect: Build, view: RoundStateView, state: ConsensusState, evidence: () => readonly Evidence[]): void {
    this.reset()
    const waitMs = state.lastBlockTimeMs - this.#environment.nowMs()
    if (waitMs > 0 && view.validators.validators.length > 1) {
      this.#cancelWait = this.#environment.setTimer(waitMs, () => {
        const { height, round, step } = view
        if (height === effect.height && round === effect.round && step <= STEPS.propose) {
          this.build(effect, view, state, evidence)
        }
      })
      return
    }
    const { height, round, lastCommit } = effect
    const request: ProposalRequest = {
      height,
      timeMs: Math.max(this.#environment.nowMs(), state.lastBlockTimeMs + 1),
      proposerAddress: this.#signer.address,
      parentConsensusHash: state.lastHeight === 0 ? this.#genesisHash : state.lastBlockId.hash,
      maxBytes: state.params.maxBytes,
      lastCommit,
      evidence: evidence(),
    }
    this.#proposing = { round, request, state }
    this.#environment.build(request, round)
  }

  /** @returns undefined when this is not the expected answer */
  built(height: number, round: number, data: ProposedData): ConsensusBlock | undefined {
    const proposing = this.#proposing
    if (proposing?.request.height !== height || proposing.round !== round) return undefined
    this.#proposing = undefined
    const { request, state } = proposing
    const { timeMs, proposerAddress, lastCommit } = request
    return makeBlock(state, { ...data, timeMs, proposerAddress, lastCommit })
  }

  /** Drops the request and its timer. */
  reset(): void {
    this.#cancelWait?.()
    this.#cancelWait = undefined
    this.#proposing = undefined
  }
}
