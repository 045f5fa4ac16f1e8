import type { EngineChain } from './engineChain.ts'
import type { ConsensusEnvironment } from './environment.ts'
import { type PaceAnchor, paceHeight } from './pace.ts'
import type { RoundStateView } from './roundStateView.ts'

/** A schedule that is this far behind begins anew (the machine slept, the disk stalled, validators were away). */
const MAX_LAG_MS = 10_000

/** For late precommits, which earn their validators the reward of the block. */
const MIN_GAP_MS = 10

/** Longer waits for the genesis are cut into such pieces, so that a clock that is set meanwhile is noticed. */
const MAX_WAIT_MS = 60_000

/** How long a height waits before its first round. */
export class BlockPacer {
  readonly #chain: EngineChain
  readonly #environment: Pick<ConsensusEnvironment, 'nowMs' | 'monotonicMs'>
  #anchor: PaceAnchor | undefined

  constructor(chain: EngineChain, environment: Pick<ConsensusEnvironment, 'nowMs' | 'monotonicMs'>) {
    this.#chain = chain
    this.#environment = environment
  }

  /** Milliseconds until the genesis time is past, or a part of them; 0 afterwards. No block's time may be before it. */
  untilGenesisMs(height: number): number {
    if (height > 1) return 0
    const waitMs = this.#chain.genesisTimeMs + 1 - this.#environment.nowMs()
    return Math.min(Math.max(waitMs, 0), MAX_WAIT_MS)
  }

  /** @param isBehind others have decided this height already */
  delayMs(view: Pick<RoundStateView, 'height' | 'validators' | 'lastPrecommits'>, isBehind: boolean): number {
    if (isBehind) return 0
    const { height } = view
    const { intervalMs } = this.#chain
    const isAlone = view.validators.validators.length === 1
    const rules = { intervalMs, maxLagMs: MAX_LAG_MS, followsOthers: !isAlone }
    const { delayMs, anchor } = paceHeight(this.#anchor, height, this.#environment.monotonicMs(), rules)
    this.#anchor = anchor
    const paced = isAlone ? delayMs : Math.max(delayMs, MIN_GAP_MS)
    return Math.max(paced, this.untilGenesisMs(height))
  }
}
