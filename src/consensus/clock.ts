import { setTimeout } from 'node:timers/promises'

/** Time as consensus sees it; the only way it learns of time. */
export interface Clock {
  /** wall clock: whole milliseconds since the epoch; may jump */
  nowMs(): number
  /** for durations: milliseconds since any moment, never going back */
  monotonicMs(): number
  /** Resolves after `ms`, or at once when `signal` is aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

/** Longer sleeps are cut: Node.js timers overflow at 2^31 ms. */
const MAX_SLEEP_MS = 2 ** 31 - 1

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep: async (ms, signal) => {
    try {
      await setTimeout(Math.min(ms, MAX_SLEEP_MS), undefined, { signal })
    } catch (error) {
      if (!signal.aborted) throw error
    }
  },
}
