import type { Stream } from '@libp2p/interface'

/** Lower numbers are sent first and dropped last. */
export const PRIORITIES = { proposal: 0, ownVote: 1, relayedVote: 2, status: 3 } as const

export type Priority = (typeof PRIORITIES)[keyof typeof PRIORITIES]

const LEVELS = 4
/**
 * Bytes that are given to the stream at once: more would only wait there, where more important messages cannot overtake them and they
 * cannot be dropped.
 */
const BATCH_BYTES = 64 << 10

interface SendQueueEvents {
  /** called when a message was dropped because the peer is slow */
  dropped(priority: Priority): void
  sent(bytes: number): void
}

/**
 * The messages that wait for one peer on one stream. Those of one turn of the event loop are sent
 * together. When the peer is slow, the least important messages are dropped, the oldest first. A new
 * status replaces the previous one.
 */
export class SendQueue {
  readonly #stream: Stream
  readonly #maxBytes: number
  readonly #events: SendQueueEvents
  readonly #now: () => number
  readonly #levels: Uint8Array[][] = Array.from({ length: LEVELS }, () => [])
  #bytes = 0
  #isScheduled = false
  #isBlocked = false
  #movedMs: number

  constructor(stream: Stream, maxBytes: number, events: SendQueueEvents, now: () => number) {
    this.#stream = stream
    this.#maxBytes = maxBytes
    this.#events = events
    this.#now = now
    this.#movedMs = now()
    stream.addEventListener('drain', () => {
      this.#isBlocked = false
      this.#movedMs = this.#now()
      this.#schedule()
    })
  }

  /** bytes that wait */
  get bytes(): number {
    return this.#bytes
  }

  /** milliseconds since the peer last accepted waiting messages */
  stalledMs(nowMs: number): number {
    return this.#isBlocked ? nowMs - this.#movedMs : 0
  }

  /** @param frame of {@link encodeFrame}; may be shared between queues */
  push(frame: Uint8Array, priority: Priority): void {
    const level = this.#levels[priority]!
    if (priority === PRIORITIES.status && level.length > 0) this.#drop(priority)
    level.push(frame)
    this.#bytes += frame.length
    for (let last = LEVELS - 1; this.#bytes > this.#maxBytes && last >= 0; ) {
      if (this.#levels[last]!.length === 0) last--
      else this.#drop(last as Priority)
    }
    this.#schedule()
  }

  #drop(priority: Priority): void {
    this.#bytes -= this.#levels[priority]!.shift()!.length
    this.#events.dropped(priority)
  }

  #schedule(): void {
    if (this.#isScheduled || this.#isBlocked || this.#bytes === 0) return
    this.#isScheduled = true
    queueMicrotask(() => {
      this.#isScheduled = false
      this.#flush()
    })
  }

  #flush(): void {
    while (this.#bytes > 0 && !this.#isBlocked && this.#stream.writeStatus === 'writable') {
      const batch = this.#takeBatch()
      this.#isBlocked = !this.#stream.send(batch)
      this.#movedMs = this.#now()
      this.#events.sent(batch.length)
    }
  }

  #takeBatch(): Uint8Array {
    const frames: Uint8Array[] = []
    let length = 0
    for (const level of this.#levels) {
      let taken = 0
      while (taken < level.length && length < BATCH_BYTES) length += level[taken++]!.length
      frames.push(...level.splice(0, taken))
    }
    this.#bytes -= length
    return frames.length === 1 ? frames[0]! : Buffer.concat(frames, length)
  }
}
