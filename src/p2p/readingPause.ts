import type { MessageStream } from '@libp2p/interface'

/**
 * Stops the reading of a stream for a while, so that its other end has to wait.
 *
 * While libp2p resumes a stream it first hands out the bytes that it has kept. A pause at that moment would be undone when the resuming
 * ends: the other end would go on, and the kept bytes would overflow. So such a pause is applied after the resuming.
 */
export class ReadingPause {
  readonly #stream: Pick<MessageStream, 'pause' | 'resume'>
  readonly #beforeResume: () => void
  #timer: NodeJS.Timeout | undefined
  #isResuming = false

  /** @param beforeResume may pause again */
  constructor(stream: Pick<MessageStream, 'pause' | 'resume'>, beforeResume: () => void = () => undefined) {
    this.#stream = stream
    this.#beforeResume = beforeResume
  }

  get isPaused(): boolean {
    return this.#timer !== undefined
  }

  pauseFor(milliseconds: number): void {
    if (this.#timer !== undefined) return
    this.#timer = setTimeout(() => this.#resume(), milliseconds)
    if (!this.#isResuming) whileReadable(() => this.#stream.pause())
  }

  /** For a stream that has ended. */
  stop(): void {
    clearTimeout(this.#timer)
  }

  #resume(): void {
    this.#timer = undefined
    this.#beforeResume()
    if (this.isPaused) return
    this.#isResuming = true
    whileReadable(() => this.#stream.resume())
    this.#isResuming = false
    if (this.isPaused) whileReadable(() => this.#stream.pause())
  }
}

/** libp2p throws for a stream that cannot be read any more. That needs no handling: the end of the stream is an event. */
function whileReadable(change: () => void): void {
  try {
    change()
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'StreamStateError') throw error
  }
}
