import { BLOCK_ANSWERS, LIMITS } from './limits.ts'
import type { Session } from './session.ts'

/** How many owners are remembered after they were served. */
const MAX_SERVED = 1_024
/** How often running answers are looked at while others wait. */
const CHECK_MS = 250

interface AnswerSlotsOptions {
  /** whether a session is a persistent peer's or a validator's */
  readonly isReserved: (session: Session) => boolean
  /** for whom a session's answers count: itself, or its network */
  readonly ownerOf: (session: Session) => string
  /** milliseconds, monotonic */
  readonly now: () => number
}

interface Waiting {
  readonly session: Session
  readonly owner: string
  readonly start: () => void
}

/**
 * Slots for answers with blocks, which take long and need much memory. There are few ({@link BLOCK_ANSWERS}): some are only for persistent
 * peers and validators, and one peer has two at most. When none is free:
 *
 * - The next one goes to the owner with the fewest running answers, of several to the one that was served the longest time ago.
 * - An answer whose peer hardly reads loses its slot to any other, a slow one to an owner that has fewer.
 */
export class AnswerSlots {
  readonly #options: AnswerSlotsOptions
  readonly #running = new Set<AnswerSlot>()
  #waiting: readonly Waiting[] = []
  /** number of the last answer of each owner; the oldest first */
  readonly #served = new Map<string, number>()
  #starts = 0
  #timer: NodeJS.Timeout | undefined

  constructor(options: AnswerSlotsOptions) {
    this.#options = options
  }

  /**
   * Waits for a slot.
   * @param unsent bytes of the answer that the peer has not taken yet
   * @throws Error when no slot is free within the time that a peer waits for an answer
   */
  async take(session: Session, unsent: () => number): Promise<AnswerSlot> {
    const owner = this.#options.ownerOf(session)
    return this.#hasSlot(session) ? this.#open(session, owner, unsent) : this.#wait(session, owner, unsent)
  }

  #open(session: Session, owner: string, unsent: () => number): AnswerSlot {
    const slot = new AnswerSlot(session, owner, { now: this.#options.now, unsent, released: () => this.#release(slot) })
    this.#running.add(slot)
    // Newest last.
    this.#served.delete(owner)
    this.#served.set(owner, ++this.#starts)
    if (this.#served.size > MAX_SERVED) this.#served.delete(this.#served.keys().next().value!)
    return slot
  }

  #wait(session: Session, owner: string, unsent: () => number): Promise<AnswerSlot> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#forget(waiting)
        reject(new Error('too many answers under way'))
      }, LIMITS.requestMs)
      const start = (): void => {
        clearTimeout(timer)
        this.#forget(waiting)
        resolve(this.#open(session, owner, unsent))
      }
      const waiting = { session, owner, start }
      this.#waiting = [...this.#waiting, waiting]
      this.#timer ??= setInterval(() => this.#revoke(), CHECK_MS).unref()
    })
  }

  #forget(waiting: Waiting): void {
    this.#waiting = this.#waiting.filter((other) => other !== waiting)
    if (this.#waiting.length > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #release(slot: AnswerSlot): void {
    // One answer has ended, so at most one can start.
    if (this.#running.delete(slot)) this.#startNext()
  }

  #startNext(): void {
    this.#inTurn()
      .find(({ session }) => this.#hasSlot(session))
      ?.start()
  }

  /** Returns the waiting answers, the next one first. */
  #inTurn(): readonly Waiting[] {
    const { isReserved } = this.#options
    const lastServed = ({ owner }: Waiting): number => this.#served.get(owner) ?? 0
    return [...this.#waiting].sort(
      (a, b) =>
        Number(isReserved(b.session)) - Number(isReserved(a.session)) ||
        this.#runningOf(a.owner) - this.#runningOf(b.owner) ||
        lastServed(a) - lastServed(b),
    )
  }

  /** Takes its slot from an answer that another one has to wait for, if its peer is too slow. */
  #revoke(): void {
    for (const waiting of this.#inTurn()) {
      // It has started meanwhile, or its peer has as many as it may.
      if (!this.#waiting.includes(waiting) || this.#hasMost(waiting.session)) continue
      const own = this.#runningOf(waiting.owner)
      const slow = [...this.#running]
        .filter((slot) => !this.#options.isReserved(slot.session))
        .map((slot) => ({ slot, rate: slot.bytesPerSecond() }))
        .filter(
          ({ slot, rate }) =>
            rate < BLOCK_ANSWERS.stalledRate || (rate < BLOCK_ANSWERS.slowRate && this.#runningOf(slot.owner) > own),
        )
        .sort((a, b) => a.rate - b.rate)
      // Its release starts the one whose turn it is.
      slow[0]?.slot.revoke()
    }
  }

  #runningOf(owner: string): number {
    let count = 0
    for (const slot of this.#running) if (slot.owner === owner) count++
    return count
  }

  #hasMost({ id }: Session): boolean {
    return [...this.#running].filter(({ session }) => session.id === id).length >= BLOCK_ANSWERS.perPeer
  }

  #hasSlot(session: Session): boolean {
    const { isReserved } = this.#options
    if (this.#running.size >= BLOCK_ANSWERS.total || this.#hasMost(session)) return false
    if (isReserved(session)) return true
    return [...this.#running].filter((slot) => !isReserved(slot.session)).length < BLOCK_ANSWERS.strangers
  }
}

interface AnswerSlotOptions {
  readonly now: () => number
  readonly unsent: () => number
  readonly released: () => void
}

/** A slot for one answer, which measures how fast its peer takes the bytes that are sent. */
export class AnswerSlot {
  readonly session: Session
  readonly owner: string
  readonly #options: AnswerSlotOptions
  readonly #revoked = Promise.withResolvers<never>()
  #isRevoked = false
  #sentBytes = 0
  /** time for which the answer has waited for its peer */
  #waitedMs = 0
  #waitsSinceMs: number | undefined

  constructor(session: Session, owner: string, options: AnswerSlotOptions) {
    this.session = session
    this.owner = owner
    this.#options = options
    // It may be revoked while nothing is sent.
    this.#revoked.promise.catch(() => undefined)
  }

  /**
   * Sends a frame of the answer.
   * @throws Error when the slot was given to another answer, and what `respond` throws
   */
  async send(body: Uint8Array, respond: (body: Uint8Array) => Promise<void>): Promise<void> {
    const { now } = this.#options
    if (this.#isRevoked) await this.#revoked.promise
    this.#sentBytes += body.length
    const beginMs = now()
    this.#waitsSinceMs = beginMs
    try {
      await Promise.race([respond(body), this.#revoked.promise])
    } finally {
      this.#waitsSinceMs = undefined
      this.#waitedMs += now() - beginMs
    }
  }

  /**
   * Returns how fast the peer has taken the answer while the answer waited for it; infinite before
   * it has waited for a while.
   */
  bytesPerSecond(): number {
    const { now, unsent } = this.#options
    const waitedMs = this.#waitedMs + (this.#waitsSinceMs === undefined ? 0 : now() - this.#waitsSinceMs)
    if (waitedMs < BLOCK_ANSWERS.graceMs) return Number.POSITIVE_INFINITY
    return ((this.#sentBytes - unsent()) * 1_000) / waitedMs
  }

  /** Ends the answer, so that another one gets the slot. */
  revoke(): void {
    this.#isRevoked = true
    this.#revoked.reject(new Error('the answer is taken too slowly while others wait'))
    this.release()
  }

  release(): void {
    this.#options.released()
  }
}
