import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { NetworkMetrics } from '../telemetry/metrics.ts'
import { FairQueue } from './fairQueue.ts'
import { READING_TIME, TokenBucket } from './limits.ts'
import type { Session } from './session.ts'

type ReadingMetrics = Pick<NetworkMetrics, 'readSecondsTotal'>

/**
 * The time of this thread that reading old blocks for peers may take. A block in a segment takes some milliseconds, since 64 are decoded
 * to read it: peers that ask for blocks here and there would otherwise keep votes waiting. Such peers wait, in fair turns.
 *
 * In one turn of the event loop, reads end after `turnMs`. Otherwise the peers' requests that arrive together would use
 * all saved time at once, and nothing else would happen for seconds.
 */
export class ReadingTime {
  readonly #now: () => number
  readonly #metrics: ReadingMetrics
  readonly #ownerOf: (session: Session) => string
  readonly #all: FairQueue
  readonly #peers = new WeakMap<Session, TokenBucket>()
  /** milliseconds of reads in this turn of the event loop; undefined before the first read */
  #turnMs: number | undefined

  /**
   * @param now milliseconds, monotonic
   * @param ownerOf for whom a session's reads count: itself, or its network
   */
  constructor(now: () => number, metrics: ReadingMetrics, ownerOf: (session: Session) => string) {
    this.#now = now
    this.#metrics = metrics
    this.#ownerOf = ownerOf
    const isReady = (): boolean => (this.#turnMs ?? 0) < READING_TIME.turnMs
    this.#all = new FairQueue({ rate: READING_TIME.all, now, isReady })
  }

  /**
   * Reads once there is time for it.
   * @throws Error when the peer has gone meanwhile: what its requests hold must not wait for their turns
   */
  async spend<T>(session: Session, read: () => T): Promise<T> {
    const own = this.#bucketOf(session)
    // Meanwhile other requests of the peer may have taken the time.
    for (let ms = own.draw(0, this.#now()); ms > 0; ms = own.draw(0, this.#now())) {
      await sleep(ms, undefined, { ref: false })
    }
    const owner = this.#ownerOf(session)
    const { result, isLong } = await new Promise<{ result: T; isLong: boolean }>((resolve, reject) => {
      // Not after the turn, when the next one would have begun.
      const start = (): void => {
        try {
          if (session.connection.status !== 'open') throw new Error('the peer has gone')
          resolve(this.#read(owner, own, read))
        } catch (error) {
          reject(error)
        }
      }
      if (this.#all.take(owner, 0)) start()
      else this.#all.wait(owner, () => 0, start)
    })
    // Votes that have come meanwhile go first.
    if (isLong) await nextTurn()
    return result
  }

  #read<T>(owner: string, own: TokenBucket, read: () => T): { result: T; isLong: boolean } {
    const beginMs = this.#now()
    try {
      return { result: read(), isLong: this.#now() - beginMs >= READING_TIME.longMs }
    } finally {
      const endMs = this.#now()
      const ms = endMs - beginMs
      this.#metrics.readSecondsTotal.inc(ms / 1000)
      if (this.#turnMs === undefined) void this.#endTurn()
      this.#turnMs = (this.#turnMs ?? 0) + ms
      if (ms >= READING_TIME.longMs) {
        own.draw(ms, endMs)
        this.#all.charge(owner, ms)
      }
    }
  }

  async #endTurn(): Promise<void> {
    await nextTurn()
    this.#turnMs = undefined
    this.#all.resume()
  }

  #bucketOf(session: Session): TokenBucket {
    const known = this.#peers.get(session)
    if (known !== undefined) return known
    const bucket = new TokenBucket(READING_TIME.peer, this.#now())
    this.#peers.set(session, bucket)
    return bucket
  }
}
