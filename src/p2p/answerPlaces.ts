import { BLOCK_ANSWERS, LIMITS } from './limits.ts'
import type { Session } from './session.ts'

interface Waiting {
  readonly session: Session
  readonly start: () => void
}

/**
 * Places for answers that are long and hold much. They are few, so a peer has a share of them and waits for its turn beyond that,
 * and some are kept for peers that are no strangers (see {@link BLOCK_ANSWERS}).
 */
export class AnswerPlaces {
  readonly #isReserved: (session: Session) => boolean
  readonly #running: Session[] = []
  #waiting: readonly Waiting[] = []

  /** @param isReserved a persistent peer or a validator */
  constructor(isReserved: (session: Session) => boolean) {
    this.#isReserved = isReserved
  }

  /**
   * Waits for a place.
   * @returns what gives it back
   * @throws Error when there is none for so long that the peer has stopped waiting
   */
  async take(session: Session): Promise<() => void> {
    if (this.#hasPlace(session)) this.#running.push(session)
    else await this.#wait(session)
    return () => {
      this.#running.splice(this.#running.indexOf(session), 1)
      this.#startNext()
    }
  }

  #wait(session: Session): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting = this.#waiting.filter((other) => other !== waiting)
        reject(new Error('too many answers under way'))
      }, LIMITS.requestMs)
      const start = (): void => {
        clearTimeout(timer)
        this.#running.push(session)
        resolve()
      }
      const waiting = { session, start }
      this.#waiting = [...this.#waiting, waiting]
    })
  }

  /** One has ended, so there is a place for one at most. */
  #startNext(): void {
    const next = this.#waiting.find(({ session }) => this.#hasPlace(session))
    if (next === undefined) return
    this.#waiting = this.#waiting.filter((other) => other !== next)
    next.start()
  }

  #hasPlace(session: Session): boolean {
    const running = this.#running
    if (running.length >= BLOCK_ANSWERS.total) return false
    if (running.filter(({ id }) => id === session.id).length >= BLOCK_ANSWERS.perPeer) return false
    return (
      this.#isReserved(session) || running.filter((other) => !this.#isReserved(other)).length < BLOCK_ANSWERS.strangers
    )
  }
}
