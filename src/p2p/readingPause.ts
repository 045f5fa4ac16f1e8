import type { MessageStream } from '@libp2p/interface'

/**
 * Stops the reading of a stream for a while, so that its other end has to wait.
 *
 * libp2p hands out what it has kept before it is done with resuming: one who stops the reading again at that moment would be
 * told so while the other end is let go on, until the kept bytes overflow. This stops it after.
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

/** libp2p throws when a stream cannot be read any more, which its end says too. */
function whileReadable(change: () => void): void {
  try {
    change()
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'StreamStateError') throw error
  }
}
