/** Time as consensus sees it. It has no other source of time. */
export interface Clock {
  /** wall clock: whole milliseconds since the epoch; may jump */
  nowMs(): number
  /** for durations: milliseconds since some moment; never goes back */
  monotonicMs(): number
  /**
   * Calls `run` once after `delayMs`, never at once.
   * @returns how to cancel it
   */
  setTimer(delayMs: number, run: () => void): () => void
}

/** Longer delays are cut: Node.js timers overflow at 2^31 ms. */
const MAX_DELAY_MS = 2 ** 31 - 1

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  setTimer: (delayMs, run) => {
    const timer = setTimeout(run, Math.min(delayMs, MAX_DELAY_MS))
    return () => clearTimeout(timer)
  },
}
