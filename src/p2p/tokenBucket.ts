import type { Rate } from './limits.ts'

/**
 * A budget that fills up steadily: `burst` tokens at most, `perSecond` more each second. Clocks are the caller's, in milliseconds
 * that never go back.
 */
export class TokenBucket {
  readonly #rate: Rate
  #tokens: number
  #atMs: number

  constructor(rate: Rate, nowMs: number) {
    this.#rate = rate
    this.#tokens = rate.burst
    this.#atMs = nowMs
  }

  /** Takes `count` tokens when they are there. */
  take(count: number, nowMs: number): boolean {
    this.#fill(nowMs)
    if (this.#tokens < count) return false
    this.#tokens -= count
    return true
  }

  /**
   * Takes `count` tokens in any case and gives how many milliseconds the caller should wait before it takes more: 0 while the
   * budget is not overdrawn.
   */
  draw(count: number, nowMs: number): number {
    this.#fill(nowMs)
    this.#tokens -= count
    return this.#tokens >= 0 ? 0 : Math.ceil((-this.#tokens / this.#rate.perSecond) * 1000)
  }

  #fill(nowMs: number): void {
    const { perSecond, burst } = this.#rate
    this.#tokens = Math.min(burst, this.#tokens + ((nowMs - this.#atMs) / 1000) * perSecond)
    this.#atMs = nowMs
  }
}
