/** Share of the time budget by which a transaction may exceed it. */
const OVERRUN_SHARE = 0.25
/** Share of the time budget for the rest of a block in which a transaction was stopped. */
const SECOND_SHARE = 0.5
/**
 * Share of the remaining time that one transaction may take after one stop; its square after two
 * stops, and so on. A transaction that would take longer at the pace of the stopped ones is not
 * started: several of them would take the time of all others, and they pay nothing.
 */
const AFTER_STOP_SHARE = 0.25
/**
 * Shares of the time budget that transactions may take which are undone because too little precompile gas is left, and so pay nothing. Beyond
 * it they are included as they are: they fail where they hit the limit, and pay. Small ones, which take little time, have a larger share.
 */
const UNDONE_SHARE = 0.1
const SMALL_UNDONE_SHARE = 0.25
const SMALL_GAS = 1_000_000n
/** Share of the time budget that large transactions may take which cannot start, and so pay nothing. Beyond it, only small ones are tried. */
const FAILED_SHARE = 0.1
/** So much gas shows the pace of a block. */
const PACE_GAS = 1_000_000n

/**
 * The time budget for filling a block, and the time that its transactions have used. Transactions
 * are tried one after another: call `start`, then `suffices` and `limitMs` before an execution,
 * then the method for its outcome. Gas limits are undefined for native transactions.
 */
export class BuildTime {
  readonly #budgetMs: number
  readonly #now: () => number
  #deadlineMs: number
  #hasTried = false
  /** when the current transaction began, and how long it may take */
  #startMs = 0
  #limitMs = 0
  /** time that EVM transactions of the block took */
  #usedMs = 0
  /** time of transactions that were undone because too little precompile gas was left */
  #undoneMs = 0
  /** time of large transactions that could not start */
  #failedMs = 0
  #stops = 0
  /** the least pace of the slowest transaction that was stopped */
  #stoppedMsPerGas = 0

  /** @param now milliseconds, monotonic */
  constructor(budgetMs: number, now: () => number) {
    this.#budgetMs = budgetMs
    this.#now = now
    this.#deadlineMs = now() + budgetMs
  }

  /**
   * Whether no further transaction is started. One is tried in any case: otherwise, when the
   * mempool's answer alone takes the whole budget, blocks would stay empty and never show that
   * there is time.
   */
  isOver(): boolean {
    return this.#hasTried && this.#now() >= this.#deadlineMs
  }

  /** Starts with the next transaction. */
  start(): void {
    this.#startMs = this.#now()
    const leftMs = this.#deadlineMs - this.#startMs + this.#budgetMs * OVERRUN_SHARE
    this.#limitMs = this.#hasTried ? leftMs * AFTER_STOP_SHARE ** this.#stops : this.#budgetMs * (1 + OVERRUN_SHARE)
  }

  /** Whether there is time for the current transaction. @param usedGas of the block's EVM transactions so far */
  suffices(gasLimit: bigint | undefined, usedGas: bigint): boolean {
    if (gasLimit === undefined) return true
    const isAsSlowAsStopped = Number(gasLimit) * this.#stoppedMsPerGas > this.#limitMs
    return !isAsSlowAsStopped && !isTooLong(gasLimit, { gas: usedGas, ms: this.#usedMs }, this.#limitMs)
  }

  /** Milliseconds after which the current transaction, which is executed now, is to be stopped. */
  execute(): number {
    this.#hasTried = true
    return this.#limitMs
  }

  /** Whether the current transaction may be undone, and so pay nothing, when too little precompile gas is left for it. */
  mayUndo(gasLimit: bigint | undefined): boolean {
    const isSmall = gasLimit !== undefined && gasLimit <= SMALL_GAS
    return this.#undoneMs <= this.#budgetMs * (isSmall ? SMALL_UNDONE_SHARE : UNDONE_SHARE)
  }

  /** Whether a large transaction may be tried. */
  mayTryLarge(): boolean {
    return this.#failedMs <= this.#budgetMs * FAILED_SHARE
  }

  /**
   * Called when the current transaction, an EVM one, is in the block. Others use none of the gas
   * that the pace is measured by.
   */
  included(): void {
    this.#usedMs += this.#elapsedMs()
  }

  /** Called when the current transaction was undone because too little precompile gas was left. */
  undone(): void {
    this.#undoneMs += this.#elapsedMs()
  }

  /** Called when the current transaction, a large one, is not in the block for another reason. */
  failed(): void {
    this.#failedMs += this.#elapsedMs()
  }

  /** The current transaction was stopped. The first stop leaves time for others, which pay for theirs. @returns milliseconds that it had */
  stopped(gasLimit: bigint | undefined): number {
    if (this.#stops === 0) this.#deadlineMs = Math.max(this.#deadlineMs, this.#now() + this.#budgetMs * SECOND_SHARE)
    this.#stops++
    if (gasLimit !== undefined && gasLimit > 0n) {
      this.#stoppedMsPerGas = Math.max(this.#stoppedMsPerGas, this.#limitMs / Number(gasLimit))
    }
    return this.#limitMs
  }

  #elapsedMs(): number {
    return this.#now() - this.#startMs
  }
}

/**
 * Whether an EVM transaction would end later than in `latestMs` if it used all its gas at the pace of the block's transactions so far: it
 * would be stopped then, and one may have a sixth of a block's gas. The first transactions of a block are always tried, so a proposer whose
 * budget is small still includes any that pays most.
 */
export function isTooLong(
  gasLimit: bigint,
  pace: { readonly gas: bigint; readonly ms: number },
  latestMs: number,
): boolean {
  if (pace.gas < PACE_GAS) return false
  return Number(gasLimit) * pace.ms > latestMs * Number(pace.gas)
}

/**
 * Largest measured share of the time after the transactions; the state root of a block of new slots
 * takes about as much.
 */
const MOST_FINISH_SHARE = 0.75
/** How fast a smaller share is believed. A larger one is at once: a block that is too slow costs all validators. */
const BELIEF = 1 / 8
/** Blocks that took less of their budget say nothing about fuller ones. */
const TELLING_SHARE = 1 / 8

/**
 * How much of the time for building a block is left for its transactions: after them come the state root, the receipts and the header,
 * which take as long as the blocks before have shown.
 */
export class FillTime {
  #finishShare = 0

  /** Milliseconds for the transactions of a block that should be ready in `budgetMs`. */
  within(budgetMs: number): number {
    return budgetMs * (1 - this.#finishShare)
  }

  /** @param times milliseconds until the transactions were chosen and executed, and until the block was ready */
  measured(times: { readonly filledMs: number; readonly builtMs: number; readonly budgetMs: number }): void {
    const { filledMs, builtMs, budgetMs } = times
    if (builtMs < budgetMs * TELLING_SHARE) return
    const share = Math.min(MOST_FINISH_SHARE, 1 - filledMs / builtMs)
    this.#finishShare = Math.max(share, this.#finishShare + (share - this.#finishShare) * BELIEF)
  }
}
