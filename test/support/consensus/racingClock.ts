import type { Clock } from '../../../src/consensus/clock.ts'

/** Time that hardly waits: a timer fires after a millisecond, and the clock then says that its whole delay is over. */
export function racingClock(startMs: number): Clock {
  let monotonicMs = 0
  return {
    nowMs: () => Math.floor(startMs + monotonicMs),
    monotonicMs: () => monotonicMs,
    setTimer: (delayMs, run) => {
      const atMs = monotonicMs + delayMs
      const timer = setTimeout(() => {
        monotonicMs = Math.max(monotonicMs, atMs)
        run()
      }, 1)
      return () => clearTimeout(timer)
    },
  }
}
