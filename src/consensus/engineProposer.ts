import type { ConsensusBlock } from '../chain/consensus/block.ts'
import type { Evidence } from '../chain/consensus/types.ts'
import type { ProposalRequest, ProposedData } from './application.ts'
import { type ConsensusState, makeBlock } from './consensusState.ts'
import type { Effect } from './effect.ts'
import type { ConsensusEnvironment } from './environment.ts'
import { STEPS } from './input.ts'
import type { RoundStateView } from './roundStateView.ts'

type Build = Extract<Effect, { kind: 'build' }>

interface Proposing {
  readonly round: number
  readonly request: ProposalRequest
  readonly state: ConsensusState
}

/** Has the application make the blocks that this node proposes. */
export class BlockProposer {
  readonly #environment: Pick<ConsensusEnvironment, 'nowMs' | 'setTimer' | 'build'>
  readonly #genesisHash: Uint8Array
  readonly #address: Uint8Array
  #proposing: Proposing | undefined
  #cancelWait: (() => void) | undefined

  constructor(
    environment: Pick<ConsensusEnvironment, 'nowMs' | 'setTimer' | 'build'>,
    genesisHash: Uint8Array,
    address: Uint8Array,
  ) {
    this.#environment = environment
    this.#genesisHash = genesisHash
    this.#address = address
  }

  /**
   * PBTS: a block's time is its proposer's clock and later than that of the block before, so a proposer whose clock is behind
   * waits. Alone nobody would have to judge the time: then the chain goes on, a millisecond a block.
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
      proposerAddress: this.#address,
      parentConsensusHash: state.lastHeight === 0 ? this.#genesisHash : state.lastBlockId.hash,
      maxBytes: state.params.maxBytes,
      lastCommit,
      evidence: evidence(),
    }
    this.#proposing = { round, request, state }
    this.#environment.build(request, round)
  }

  /** @returns undefined when this is not the answer that is waited for */
  built(height: number, round: number, data: ProposedData): ConsensusBlock | undefined {
    const proposing = this.#proposing
    if (proposing?.request.height !== height || proposing.round !== round) return undefined
    this.#proposing = undefined
    const { request, state } = proposing
    const { timeMs, proposerAddress, lastCommit } = request
    return makeBlock(state, { ...data, timeMs, proposerAddress, lastCommit })
  }

  /** Waits for nothing more. */
  reset(): void {
    this.#cancelWait?.()
    this.#cancelWait = undefined
    this.#proposing = undefined
  }
}
