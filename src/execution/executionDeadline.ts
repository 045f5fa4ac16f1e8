import { ExecutionTimeout } from '../evm/engine.ts'
import type { Hash } from '../primitives/hash.ts'

/** The execution of a block, or of a transaction for one, was stopped because it took too long. */
export interface StoppedReport {
  readonly place: 'build' | 'check'
  readonly height: number
  /** undefined: a check, which always stops completely */
  readonly transaction: Hash | undefined
}

/**
 * The time at which the execution of a block that is built or checked must stop. Engines poll it
 * between slices of gas, and native modules while they work (`WorkMeter`). The caller reverts or
 * drops the stopped work. A decided block has no deadline.
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
