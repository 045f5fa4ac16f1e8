import type { Clock } from '../../../src/consensus/clock.ts'

/** Time that passes only while somebody sleeps, or when told to. */
export class VirtualClock implements Clock {
  #monotonicMs = 0
  #wallOffsetMs: number

  constructor(startMs: number) {
    this.#wallOffsetMs = startMs
  }

  nowMs(): number {
    return Math.floor(this.#wallOffsetMs + this.#monotonicMs)
  }

  monotonicMs(): number {
    return this.#monotonicMs
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    if (!signal.aborted) this.#monotonicMs += ms
    return Promise.resolve()
  }

  advance(ms: number): void {
    this.#monotonicMs += ms
  }

  /** The operator or NTP sets the wall clock. */
  setBack(ms: number): void {
    this.#wallOffsetMs -= ms
  }
}
