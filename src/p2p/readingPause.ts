import type { MessageStream } from '@libp2p/interface'

/**
 * Pauses the reading of a stream, so that its other side has to wait.
 *
 * When libp2p resumes a stream, it first delivers the bytes that it has buffered. A pause during this delivery would be undone at its
 * end: the other side would continue to send, and the buffer would overflow. So such a pause is applied after the delivery.
 */
export class ReadingPause {
  readonly #stream: Pick<MessageStream, 'pause' | 'resume'>
  readonly #beforeResume: (() => void) | undefined
  #timer: NodeJS.Timeout | undefined
  #isPaused = false
  #isResuming = false

  /** @param beforeResume may pause again */
  constructor(stream: Pick<MessageStream, 'pause' | 'resume'>, beforeResume?: () => void) {
    this.#stream = stream
    this.#beforeResume = beforeResume
  }

  get isPaused(): boolean {
    return this.#isPaused
  }

  pauseFor(milliseconds: number): void {
    if (this.#isPaused) return
    this.#timer = setTimeout(() => this.resume(), milliseconds)
    this.pause()
  }

  /** Pauses until {@link resume} is called. */
  pause(): void {
    if (this.#isPaused) return
    this.#isPaused = true
    if (!this.#isResuming) whileReadable(() => this.#stream.pause())
  }

  /** Ends a pause; not to be called while the stream delivers bytes. */
  resume(): void {
    if (!this.#isPaused) return
    this.stop()
    this.#isPaused = false
    this.#beforeResume?.()
    if (this.#isPaused) return
    this.#isResuming = true
    whileReadable(() => this.#stream.resume())
    this.#isResuming = false
    if (this.#isPaused) whileReadable(() => this.#stream.pause())
  }

  /** Stops the pause of a stream that has ended. */
  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }
}

/**
 * Changes a stream that can still be read. libp2p throws for others; that error needs no handling,
 * because the end of the stream is an event.
 */
function whileReadable(change: () => void): void {
  try {
    change()
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'StreamStateError') throw error
  }
}
