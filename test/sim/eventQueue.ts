/** Something that happens at a moment of virtual time. */
interface Event {
  readonly atMs: number
  /** order of scheduling, which decides between events of one moment */
  readonly sequence: number
  run: (() => void) | undefined
}

/** Virtual time: events in the order of (time, sequence of scheduling). A binary heap; cancelled events stay until due. */
export class EventQueue {
  readonly #heap: Event[] = []
  #sequence = 0
  #nowMs = 0
  #executed = 0

  /** milliseconds since the simulation began, fractions included */
  get nowMs(): number {
    return this.#nowMs
  }

  /** events that have run */
  get executed(): number {
    return this.#executed
  }

  /** @returns how to cancel it */
  after(delayMs: number, run: () => void): () => void {
    const event: Event = { atMs: this.#nowMs + Math.max(0, delayMs), sequence: this.#sequence++, run }
    this.#push(event)
    return () => {
      event.run = undefined
    }
  }

  /** Runs the next event that is due by `untilMs`; false when there is none, and then the time is `untilMs`. */
  step(untilMs: number): boolean {
    for (;;) {
      const event = this.#heap[0]
      if (event === undefined || event.atMs > untilMs) {
        this.#nowMs = Math.max(this.#nowMs, untilMs)
        return false
      }
      this.#pop()
      const { run } = event
      if (run === undefined) continue
      event.run = undefined
      this.#nowMs = event.atMs
      this.#executed++
      run()
      return true
    }
  }

  #push(event: Event): void {
    const heap = this.#heap
    let at = heap.length
    heap.push(event)
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!before(event, heap[parent]!)) break
      heap[at] = heap[parent]!
      at = parent
    }
    heap[at] = event
  }

  #pop(): void {
    const heap = this.#heap
    const last = heap.pop()!
    const { length } = heap
    if (length === 0) return
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= length) break
      if (child + 1 < length && before(heap[child + 1]!, heap[child]!)) child++
      if (!before(heap[child]!, last)) break
      heap[at] = heap[child]!
      at = child
    }
    heap[at] = last
  }
}

function before(a: Event, b: Event): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.sequence < b.sequence)
}
