/** The only source of time of consensus. */
export interface Clock {
  /** wall clock: whole milliseconds since the epoch; may jump */
  nowMs(): number
  /** milliseconds, monotonic, for durations */
  monotonicMs(): number
  /**
   * Calls `run` once after `delayMs`, never at once.
   * @returns a function that cancels it
   */
  setTimer(delayMs: number, run: () => void): () => void
}

/** Longer delays are shortened to this: Node.js timers overflow at 2^31 ms. */
const MAX_DELAY_MS = 2 ** 31 - 1

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  setTimer: (delayMs, run) => {
    const timer = setTimeout(run, Math.min(delayMs, MAX_DELAY_MS))
    return () => clearTimeout(timer)
  },
}
