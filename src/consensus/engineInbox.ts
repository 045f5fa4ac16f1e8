import type { Input } from './input.ts'

/** What the reducer is to be told, one after the other, also when telling it brings more. */
export class Inbox {
  readonly #waiting: Input[] = []
  readonly #own: Input[] = []
  #isDraining = false

  push(input: Input): void {
    this.#waiting.push(input)
  }

  /** What this node said itself: it comes before all others, since in the log it stands before them. */
  pushOwn(inputs: readonly Input[]): void {
    this.#own.push(...inputs)
  }

  clear(): void {
    this.#waiting.length = 0
    this.#own.length = 0
  }

  /**
   * Gives every input to `apply`. Called out of `apply` or `done` it leaves them to the drain that is under way.
   * @param done when there is none left; what it brings is worked off too
   */
  drain(apply: (input: Input) => void, done: () => void): void {
    if (this.#isDraining) return
    this.#isDraining = true
    try {
      for (;;) {
        const input = this.#own.shift() ?? this.#waiting.shift()
        if (input !== undefined) {
          apply(input)
          continue
        }
        done()
        if (this.#own.length === 0 && this.#waiting.length === 0) return
      }
    } finally {
      this.#isDraining = false
    }
  }
}
