import type { EngineChain } from './engineChain.ts'
import { BlockPacer } from './enginePace.ts'
import type { ConsensusEnvironment } from './environment.ts'
import type { Timeout } from './input.ts'
import type { RoundStateView } from './roundStateView.ts'

/** One timer for each step; a new one takes the place of the old, and a new height of all. */
export class StepTimers {
  readonly #environment: Pick<ConsensusEnvironment, 'setTimer' | 'nowMs' | 'monotonicMs'>
  readonly #expired: (timeout: Timeout) => void
  readonly #pace: BlockPacer
  readonly #cancel = new Map<Timeout['step'], () => void>()

  constructor(
    chain: EngineChain,
    environment: Pick<ConsensusEnvironment, 'setTimer' | 'nowMs' | 'monotonicMs'>,
    expired: (timeout: Timeout) => void,
  ) {
    this.#environment = environment
    this.#expired = expired
    this.#pace = new BlockPacer(chain, environment)
  }

  /**
   * The wait before round 0, which is the pace of blocks.
   * @param isBehind others have decided this height already
   */
  scheduleHeight(timeout: Timeout, delayMs: number, view: RoundStateView, isBehind: boolean): void {
    this.clear()
    this.schedule(timeout, delayMs + this.#pace.delayMs(view, isBehind))
  }

  schedule(timeout: Timeout, delayMs: number): void {
    const { step, height } = timeout
    this.#cancel.get(step)?.()
    const cancel = this.#environment.setTimer(delayMs, () => {
      // A clock that does not honour a cancellation must not cancel its successor's.
      if (this.#cancel.get(step) !== cancel) return
      this.#cancel.delete(step)
      const untilGenesisMs = this.#pace.untilGenesisMs(height)
      if (step === 'newHeight' && untilGenesisMs > 0) this.schedule(timeout, untilGenesisMs)
      else this.#expired(timeout)
    })
    this.#cancel.set(step, cancel)
  }

  clear(): void {
    for (const cancel of this.#cancel.values()) cancel()
    this.#cancel.clear()
  }
}
