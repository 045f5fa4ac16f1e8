import type { SignedTransaction } from '../../chain/block/transaction.ts'
import { bytesKey } from '../../primitives/bytes.ts'

/** Contracts whose calls are remembered; the oldest are forgotten. */
const MOST_CONTRACTS = 1_024
/** Number of calls in a block from which on the block shows whether guesses about them pay. */
const TELLING_CALLS = 16
/** Blocks in which calls are not offered after guesses about them did not pay: the first time, and at most. */
const FIRST_REST = 4
const LONGEST_REST = 256
/** How fast the mean time of an execution follows. */
const BELIEF = 1 / 16
/**
 * A time above this multiple of the mean is due to a thread that had to wait, not to the execution.
 */
const MOST_TIMES_MEAN = 8
/** Extra processor time that each speculator may cost, as a share of an execution in order. */
const MOST_EXTRA = 0.1

/**
 * Measured costs of the calls to one contract. Times are milliseconds by the clock: they choose the
 * thread, and no result depends on them.
 */
export interface CallCosts {
  /** the mean of an execution in its turn; 0 before the first */
  executionMs: number
  /**
   * in the current block: calls, right guesses, and the times of executions, of guesses, and of the
   * executor's work for guesses
   */
  calls: number
  adopted: number
  executedMs: number
  speculatedMs: number
  overheadMs: number
  /** the block from which on they are offered again, and how many blocks the last rest took */
  offeredFrom: number
  rest: number
}

/**
 * Learns which calls are worth a guess on this machine, and for how much processor time: guesses about short calls save less than
 * they cost, and where other work needs the processors they save nothing.
 */
export class Benefit {
  readonly #contracts = new Map<string, CallCosts>()
  readonly #present = new Set<CallCosts>()
  readonly #mostExtra: number
  #block = 0

  /** @param speculators number of threads that execute alongside the executor */
  constructor(speculators: number) {
    this.#mostExtra = MOST_EXTRA * speculators
  }

  /** Returns the measured costs of calls to the transaction's recipient. */
  costsOf({ transaction: { to } }: SignedTransaction): CallCosts {
    const key = to === undefined ? '' : bytesKey(to)
    let costs = this.#contracts.get(key)
    if (costs === undefined) {
      if (this.#contracts.size >= MOST_CONTRACTS) this.#contracts.delete(this.#contracts.keys().next().value!)
      costs = {
        executionMs: 0,
        calls: 0,
        adopted: 0,
        executedMs: 0,
        speculatedMs: 0,
        overheadMs: 0,
        offeredFrom: 0,
        rest: FIRST_REST / 2,
      }
      this.#contracts.set(key, costs)
    }
    return costs
  }

  /** Whether guesses about such calls are worth a try in this block. */
  isWorthwhile({ offeredFrom }: CallCosts): boolean {
    return this.#block >= offeredFrom
  }

  /** Called when a guess was made, right or wrong. @param overheadMs of the executor for it */
  guessed(costs: CallCosts, isAdopted: boolean, speculatedMs: number, overheadMs: number): void {
    this.#present.add(costs)
    costs.calls++
    if (isAdopted) costs.adopted++
    costs.speculatedMs += speculatedMs
    costs.overheadMs += overheadMs
  }

  /**
   * Called when an offered call was executed in its turn.
   * @param overheadMs for the guesses of others
   */
  executed(costs: CallCosts, executedMs: number, overheadMs: number): void {
    this.#present.add(costs)
    const { executionMs } = costs
    const time = executionMs === 0 ? executedMs : Math.min(executedMs, executionMs * MOST_TIMES_MEAN)
    costs.executionMs = executionMs === 0 ? time : executionMs + (time - executionMs) * BELIEF
    costs.calls++
    costs.executedMs += time
    costs.overheadMs += overheadMs
  }

  /** Ends a block. */
  endBlock(): void {
    this.#block++
    for (const costs of this.#present) {
      if (costs.calls >= TELLING_CALLS) this.#judge(costs)
      costs.calls = 0
      costs.adopted = 0
      costs.executedMs = 0
      costs.speculatedMs = 0
      costs.overheadMs = 0
    }
    this.#present.clear()
  }

  #judge(costs: CallCosts): void {
    const { executionMs, adopted, executedMs, speculatedMs, overheadMs } = costs
    const spared = adopted * executionMs
    const extra = speculatedMs + overheadMs - spared
    if (overheadMs < spared && extra <= this.#mostExtra * (executedMs + spared)) {
      costs.rest = FIRST_REST / 2
      return
    }
    costs.rest = Math.min(costs.rest * 2, LONGEST_REST)
    costs.offeredFrom = this.#block + costs.rest
  }
}
