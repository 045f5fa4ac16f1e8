import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import type { NetworkMetrics } from '../telemetry/metrics.ts'
import { READING_TIME, TokenBucket } from './limits.ts'
import type { Session } from './session.ts'

type ReadingMetrics = Pick<NetworkMetrics, 'readSecondsTotal'>

/**
 * The time of this thread that reading old blocks for peers may take. A block in a segment takes some milliseconds, since 64 are decoded
 * to read it: peers that ask for blocks here and there would otherwise keep votes waiting. Those who ask have to wait, never longer than
 * others have read before.
 */
export class ReadingTime {
  readonly #now: () => number
  readonly #metrics: ReadingMetrics
  readonly #all: TokenBucket
  readonly #peers = new WeakMap<Session, TokenBucket>()

  /** @param now milliseconds, monotonic */
  constructor(now: () => number, metrics: ReadingMetrics) {
    this.#now = now
    this.#metrics = metrics
    this.#all = new TokenBucket(READING_TIME.all, now())
  }

  /** What `read` gives, once there is time for it. */
  async spend<T>(session: Session, read: () => T): Promise<T> {
    const own = this.#bucketOf(session)
    const wait = (nowMs: number): number => Math.max(own.draw(0, nowMs), this.#all.draw(0, nowMs))
    // Meanwhile others may have taken the time.
    for (let ms = wait(this.#now()); ms > 0; ms = wait(this.#now())) await sleep(ms, undefined, { ref: false })
    const beginMs = this.#now()
    try {
      return read()
    } finally {
      const endMs = this.#now()
      const ms = endMs - beginMs
      this.#metrics.readSecondsTotal.inc(ms / 1000)
      if (ms >= READING_TIME.longMs) {
        for (const bucket of [own, this.#all]) bucket.draw(ms, endMs)
        // Votes that have come meanwhile go first.
        await setImmediate()
      }
    }
  }

  #bucketOf(session: Session): TokenBucket {
    const known = this.#peers.get(session)
    if (known !== undefined) return known
    const bucket = new TokenBucket(READING_TIME.peer, this.#now())
    this.#peers.set(session, bucket)
    return bucket
  }
}
