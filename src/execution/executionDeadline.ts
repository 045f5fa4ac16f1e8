import { ExecutionTimeout } from '../evm/engine.ts'
import type { Hash } from '../primitives/hash.ts'

/** The execution of a block, or of a transaction for one, was stopped because it took too long. */
export interface StoppedReport {
  readonly place: 'build' | 'check'
  readonly height: number
  /** undefined: in a check, which stops as a whole */
  readonly transaction: Hash | undefined
}

/**
 * When the execution of a block that is built or checked has to stop: engines poll it between slices of gas, and native modules while they
 * work (`WorkMeter`). What it stops is undone by the caller or dropped. A decided block has none.
 */
export class ExecutionDeadline {
  readonly #now: () => number
  #atMs = Number.POSITIVE_INFINITY

  /** @param now milliseconds, monotonic */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Milliseconds from now; infinite: no end. */
  setIn(milliseconds: number): void {
    this.#atMs = this.#now() + milliseconds
  }

  /** @throws ExecutionTimeout when it has passed */
  readonly poll = (): void => {
    if (this.#now() >= this.#atMs)
      throw new ExecutionTimeout('execution takes too long for the time to build or check a block')
  }
}
