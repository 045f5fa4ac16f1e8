const REPORT_MS = 5_000

/** Rates of a sync, for the log. */
export class SyncProgress {
  readonly #beganMs: number
  readonly #beganHeight: number
  #transactions = 0
  #reportedMs: number
  #reportedHeight: number
  #reportedTransactions = 0

  constructor(height: number, nowMs: number) {
    this.#beganMs = nowMs
    this.#beganHeight = height
    this.#reportedMs = nowMs
    this.#reportedHeight = height
  }

  /** A block with this many transactions was applied. */
  count(transactions: number): void {
    this.#transactions += transactions
  }

  /** Fields of a log line every few seconds; undefined in between. */
  report(height: number, target: number, nowMs: number): Readonly<Record<string, number>> | undefined {
    const elapsedMs = nowMs - this.#reportedMs
    if (elapsedMs < REPORT_MS) return undefined
    const report = {
      height,
      target,
      remaining: Math.max(0, target - height),
      blocksPerSecond: perSecond(height - this.#reportedHeight, elapsedMs),
      transactionsPerSecond: perSecond(this.#transactions - this.#reportedTransactions, elapsedMs),
    }
    this.#reportedMs = nowMs
    this.#reportedHeight = height
    this.#reportedTransactions = this.#transactions
    return report
  }

  /** Averages of the whole sync. */
  total(height: number, nowMs: number): Readonly<Record<string, number>> {
    const elapsedMs = nowMs - this.#beganMs
    return {
      seconds: Math.round(elapsedMs / 100) / 10,
      transactions: this.#transactions,
      blocksPerSecond: perSecond(height - this.#beganHeight, elapsedMs),
      transactionsPerSecond: perSecond(this.#transactions, elapsedMs),
    }
  }
}

function perSecond(count: number, elapsedMs: number): number {
  return elapsedMs <= 0 ? 0 : Math.round((count * 1000) / elapsedMs)
}
