import { type Rate, TokenBucket } from './limits.ts'

/** How soon to check again whether work can be taken. */
const READY_MS = 20
/** Large work is paid in parts of the work that the rate allows in this time: others get their turns in between. */
const PART_MS = 100
/** With more owners, those that have used no more than others are forgotten. */
const OWNERS = 1_024

interface FairQueueOptions {
  /** of all owners together */
  readonly rate: Rate
  /** milliseconds, monotonic */
  readonly now: () => number
  /** whether any work can be taken at present, whatever the rate; checked regularly while some waits */
  readonly isReady?: () => boolean
}

interface Waiting {
  readonly cost: () => number
  readonly start: () => void
  paid: number
}

interface Owner {
  /** the virtual time at which its next work is due, see {@link FairQueue} */
  tag: number
  /** number of the last piece of its work that started; 0: none yet */
  lastStart: number
  readonly waiting: Waiting[]
}

/**
 * Divides a rate of work among owners, such as the networks of peers, so that no owner can take the
 * share of another: start-time fair queueing. Work starts at once while the rate allows it. Otherwise
 * it waits, and the owner that has had the least since others began to wait is next. Work of one owner
 * starts in the order in which it arrived. The owner of a large piece of work pays a part in each turn;
 * the piece starts when it is paid in full.
 */
export class FairQueue {
  readonly #options: FairQueueOptions
  readonly #bucket: TokenBucket
  readonly #part: number
  readonly #owners = new Map<string, Owner>()
  #virtualTime = 0
  #starts = 0
  #waiting = 0
  #timer: NodeJS.Timeout | undefined

  constructor(options: FairQueueOptions) {
    this.#options = options
    this.#bucket = new TokenBucket(options.rate, options.now())
    this.#part = (options.rate.perSecond * PART_MS) / 1_000
  }

  /** pieces of work that wait */
  get waiting(): number {
    return this.#waiting
  }

  /** Takes work at once if nothing waits and the rate allows it. */
  take(owner: string, cost: number): boolean {
    if (this.#waiting > 0 || !this.#canStart()) return false
    if (cost > this.#part && !this.#bucket.has(cost, this.#options.now())) return false
    this.#charge(this.#ownerOf(owner), cost)
    return true
  }

  /**
   * Lets work wait for its turn.
   * @param cost asked in each of its turns
   * @param start called once, later, when it is its turn
   * @returns takes the work back
   */
  wait(owner: string, cost: () => number, start: () => void): () => void {
    const waiting = { cost, start, paid: 0 }
    const { waiting: queue } = this.#ownerOf(owner)
    queue.push(waiting)
    this.#waiting++
    this.#schedule()
    return () => {
      const index = queue.indexOf(waiting)
      if (index < 0) return
      queue.splice(index, 1)
      this.#waiting--
    }
  }

  /** Adds to the cost of work that has started, where that is known only afterwards. */
  charge(owner: string, cost: number): void {
    this.#charge(this.#ownerOf(owner), cost)
  }

  /**
   * Starts waiting work once work can be taken again (see `isReady`); the next check would come
   * some milliseconds later.
   */
  resume(): void {
    if (this.#waiting === 0) return
    clearTimeout(this.#timer)
    this.#startWaiting()
  }

  #canStart(): boolean {
    return this.#options.isReady?.() !== false && this.#bucket.draw(0, this.#options.now()) === 0
  }

  #charge(owner: Owner, cost: number): void {
    this.#bucket.draw(cost, this.#options.now())
    this.#virtualTime = Math.max(this.#virtualTime, owner.tag)
    owner.tag = this.#virtualTime + cost
    owner.lastStart = ++this.#starts
  }

  #ownerOf(name: string): Owner {
    const known = this.#owners.get(name)
    if (known !== undefined) {
      // An owner that used nothing for a while has no claim to the share that it left to others.
      if (known.waiting.length === 0) known.tag = Math.max(known.tag, this.#virtualTime)
      return known
    }
    if (this.#owners.size >= OWNERS) {
      for (const [other, { tag, waiting }] of this.#owners) {
        if (waiting.length === 0 && tag <= this.#virtualTime) this.#owners.delete(other)
      }
    }
    const owner: Owner = { tag: this.#virtualTime, lastStart: 0, waiting: [] }
    this.#owners.set(name, owner)
    return owner
  }

  #schedule(): void {
    if (this.#timer !== undefined || this.#waiting === 0) return
    const isReady = this.#options.isReady?.() !== false
    const waitMs = isReady ? this.#bucket.draw(0, this.#options.now()) : READY_MS
    this.#timer = setTimeout(() => this.#startWaiting(), waitMs)
    this.#timer.unref()
  }

  #startWaiting(): void {
    this.#timer = undefined
    while (this.#waiting > 0 && this.#canStart()) {
      const owner = this.#next()
      const work = owner.waiting[0]!
      const cost = work.cost()
      const part = Math.min(Math.max(0, cost - work.paid), this.#part)
      this.#charge(owner, part)
      work.paid += part
      if (work.paid < cost) continue
      owner.waiting.shift()
      this.#waiting--
      work.start()
    }
    this.#schedule()
  }

  /** Returns the owner whose work is due first; among several, the one that was served the longest time ago. */
  #next(): Owner {
    let next: Owner | undefined
    for (const owner of this.#owners.values()) {
      if (owner.waiting.length === 0) continue
      const isEarlier = next === undefined || owner.tag < next.tag
      if (isEarlier || (owner.tag === next!.tag && owner.lastStart < next!.lastStart)) next = owner
    }
    if (next === undefined) throw new Error('no work waits')
    return next
  }
}
