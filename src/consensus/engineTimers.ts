import type { ConsensusEnvironment } from './environment.ts'
import type { Timeout } from './input.ts'

/** One timer for each step; a new one takes the place of the old. */
export class StepTimers {
  readonly #setTimer: ConsensusEnvironment['setTimer']
  readonly #expired: (timeout: Timeout) => void
  readonly #cancel = new Map<Timeout['step'], () => void>()

  constructor(setTimer: ConsensusEnvironment['setTimer'], expired: (timeout: Timeout) => void) {
    this.#setTimer = setTimer
    this.#expired = expired
  }

  schedule(timeout: Timeout, delayMs: number): void {
    this.#cancel.get(timeout.step)?.()
    const cancel = this.#setTimer(delayMs, () => {
      // A clock that does not honour a cancellation must not cancel its successor's.
      if (this.#cancel.get(timeout.step) !== cancel) return
      this.#cancel.delete(timeout.step)
      this.#expired(timeout)
    })
    this.#cancel.set(timeout.step, cancel)
  }

  clear(): void {
    for (const cancel of this.#cancel.values()) cancel()
    this.#cancel.clear()
  }
}
