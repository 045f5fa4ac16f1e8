/** Lets one asynchronous call begin when the one before has ended, in the order in which they are asked for. */
export class CallQueue {
  #last: Promise<unknown> = Promise.resolve()

  run<T>(call: () => Promise<T>): Promise<T> {
    const result = this.#last.then(call)
    // Whoever asked for the call has its error.
    this.#last = result.catch(() => undefined)
    return result
  }

  /** Resolves when nothing is under way or waits. */
  async whenIdle(): Promise<void> {
    for (let last: unknown; last !== this.#last; ) {
      last = this.#last
      await this.#last
    }
  }
}
