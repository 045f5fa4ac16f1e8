import type { Clock } from '../../../src/consensus/clock.ts'

interface Timer {
  readonly atMs: number
  readonly sequence: number
  readonly run: () => void
}

/**
 * Time that passes only when nothing else can happen: then it jumps to the next timer. Work that waits for a disk or a promise finishes
 * first.
 */
export class VirtualClock implements Clock {
  #monotonicMs = 0
  #wallOffsetMs: number
  #sequence = 0
  readonly #timers = new Set<Timer>()

  constructor(startMs: number) {
    this.#wallOffsetMs = startMs
  }

  nowMs(): number {
    return Math.floor(this.#wallOffsetMs + this.#monotonicMs)
  }

  monotonicMs(): number {
    return this.#monotonicMs
  }

  setTimer(delayMs: number, run: () => void): () => void {
    const timer = { atMs: this.#monotonicMs + Math.max(0, delayMs), sequence: this.#sequence++, run }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  /** Something takes this long. */
  advance(ms: number): void {
    this.#monotonicMs += ms
  }

  /** The operator or NTP sets the wall clock. */
  setBack(ms: number): void {
    this.#wallOffsetMs -= ms
  }

  /**
   * Fires timers in their order until `isDone`.
   * @param settle lets everything that is under way come to rest
   * @throws Error when `maxMs` of virtual time pass before
   */
  async runUntil(isDone: () => boolean, settle: () => Promise<void>, maxMs = 3_600_000): Promise<void> {
    const endMs = this.#monotonicMs + maxMs
    for (;;) {
      await settle()
      if (isDone()) return
      const next = this.#next()
      if (next === undefined) throw new Error('nothing will happen any more')
      if (next.atMs > endMs) throw new Error(`${maxMs} ms have passed`)
      this.#timers.delete(next)
      this.#monotonicMs = Math.max(this.#monotonicMs, next.atMs)
      next.run()
    }
  }

  #next(): Timer | undefined {
    let next: Timer | undefined
    for (const timer of this.#timers) {
      if (
        next === undefined ||
        timer.atMs < next.atMs ||
        (timer.atMs === next.atMs && timer.sequence < next.sequence)
      ) {
        next = timer
      }
    }
    return next
  }
}
