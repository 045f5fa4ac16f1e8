/*
 * The multi-version table of a block (Gelashvili et al., Block-STM, 2022), in memory that the executor and its speculators share: for each
 * entry of the block who has taken it, and, once somebody has executed it beforehand, what it wrote, as flat entries under its index.
 * Whoever executes a later entry reads the newest version below it. All of that is a guess, which the executor checks before it counts:
 * a version may be wrong, missing or half written, and no result depends on it.
 */

/** Entries of a block that can be in the table; further ones are executed in order, without it. */
export const MOST_ENTRIES = 16_384
/** Bytes for the results of one thread in one block; entries whose results find no room are executed in order. */
const REGION_BYTES = 16 << 20
const BUCKETS = 1 << 16
/** Versions of one bucket that a look-up goes through: keys that collide on purpose cost a wrong guess, not time. */
const MOST_STEPS = 64

const CONTROL_CELLS = { session: 0, next: 1, available: 2, working: 3 } as const

/** Of an entry. */
export const STATES = {
  free: 0,
  running: 1,
  /** its result is in the table */
  done: 2,
  /** the executor executes it in its turn */
  alone: 3,
  /** the executor has executed it, and what it wrote is in the table */
  executed: 4,
} as const

/** Offsets of a version in words: next version of the bucket, index of the entry, lengths of key and value; key and value follow. */
const VERSION = { next: 0, index: 1, keyLength: 2, valueLength: 3, words: 4 } as const

/** So far beyond the first entry that nobody has taken another one is taken: results far ahead are guesses on little. */
const WINDOW = 256

const SPINS = 500
const WAIT_MS = 1
/** After some 5 ms the executor executes an entry itself, whoever has it. */
const MOST_WAITS = 5

/** What the threads share. */
export interface TableMemory {
  readonly control: SharedArrayBuffer
  readonly states: SharedArrayBuffer
  readonly before: SharedArrayBuffer
  readonly results: SharedArrayBuffer
  readonly buckets: SharedArrayBuffer
  readonly arena: SharedArrayBuffer
}

export function createTableMemory(speculators: number): TableMemory {
  const cells = (count: number) => new SharedArrayBuffer(count * Int32Array.BYTES_PER_ELEMENT)
  return {
    control: cells(Object.keys(CONTROL_CELLS).length),
    states: cells(MOST_ENTRIES),
    before: cells(MOST_ENTRIES),
    results: cells(MOST_ENTRIES),
    buckets: cells(BUCKETS),
    arena: new SharedArrayBuffer((speculators + 1) * REGION_BYTES),
  }
}

/** A thread's region of the arena is full. */
export class NoRoom extends Error {
  override readonly name = 'NoRoom'
}

/** One flat entry that an entry of the block wrote; no bytes: it is absent. */
export interface Version {
  readonly key: Uint8Array
  readonly value: Uint8Array
}

/** Offsets in the memory of all results. */
export interface VersionPlace {
  readonly keyAt: number
  readonly valueAt: number
  readonly valueEnd: number
  /** where the next version of the same entry begins */
  readonly end: number
}

/** An entry's result, see {@link VersionTable.result}. */
export interface TableResult {
  readonly table: VersionTable
  readonly count: number
  readonly versions: number
  readonly rest: number
}

export class VersionTable {
  readonly #control: Int32Array<SharedArrayBuffer>
  readonly #states: Int32Array<SharedArrayBuffer>
  readonly #before: Int32Array<SharedArrayBuffer>
  readonly #results: Int32Array<SharedArrayBuffer>
  readonly #buckets: Int32Array<SharedArrayBuffer>
  readonly #words: Int32Array<SharedArrayBuffer>
  readonly #bytes: Uint8Array<SharedArrayBuffer>
  readonly #regionStart: number
  #top: number

  /** @param speculator which of them this thread is, from 0 on; by default the executor */
  constructor(memory: TableMemory, speculator = -1) {
    this.#control = new Int32Array(memory.control)
    this.#states = new Int32Array(memory.states)
    this.#before = new Int32Array(memory.before)
    this.#results = new Int32Array(memory.results)
    this.#buckets = new Int32Array(memory.buckets)
    this.#words = new Int32Array(memory.arena)
    this.#bytes = new Uint8Array(memory.arena)
    // 0 is no version.
    this.#regionStart = (speculator + 1) * REGION_BYTES + 8
    this.#top = this.#regionStart
  }

  /**
   * The executor begins a block.
   * @returns false when a speculator is still at an entry of an earlier one: nothing can be offered then
   */
  open(session: number): boolean {
    this.close()
    // Before the look at who works: one that comes later sees that its session is over.
    Atomics.store(this.#control, CONTROL_CELLS.session, session)
    if (Atomics.load(this.#control, CONTROL_CELLS.working) !== 0) return false
    this.#states.fill(STATES.free)
    this.#buckets.fill(0)
    this.clearRegion()
    Atomics.store(this.#control, CONTROL_CELLS.next, 0)
    return true
  }

  /** Adds entries that can be taken. @param before of each, the index of the one before it with the same sender, or -1 */
  offer(before: readonly number[]): void {
    const first = Atomics.load(this.#control, CONTROL_CELLS.available)
    const count = first + before.length
    this.#before.set(before, first)
    Atomics.store(this.#control, CONTROL_CELLS.available, count)
  }

  /** The executor needs no more: speculators end with the entry that they are at. */
  close(): void {
    Atomics.store(this.#control, CONTROL_CELLS.available, 0)
    Atomics.store(this.#control, CONTROL_CELLS.session, 0)
  }

  /** A speculator begins to work; each call is followed by one of `leave`. @returns false when the session is over */
  enter(session: number): boolean {
    Atomics.add(this.#control, CONTROL_CELLS.working, 1)
    return Atomics.load(this.#control, CONTROL_CELLS.session) === session
  }

  leave(): void {
    Atomics.sub(this.#control, CONTROL_CELLS.working, 1)
  }

  /** This thread's results of the session before are no longer needed. */
  clearRegion(): void {
    this.#top = this.#regionStart
  }

  /**
   * Takes an early entry that nobody has taken, if what its sender sent before it is in the table; undefined when there is none now.
   * @param limit entries from it on are not taken
   */
  claim(limit: number): number | undefined {
    const first = this.#firstFree(limit)
    const end = Math.min(this.#available(limit), first + WINDOW)
    for (let index = first; index < end; index++) {
      if (this.state(index) !== STATES.free) continue
      const before = this.#before[index]!
      if (before >= 0 && !this.#isKnown(before)) continue
      if (Atomics.compareExchange(this.#states, index, STATES.free, STATES.running) === STATES.free) return index
    }
    return undefined
  }

  /** After {@link claim} found none: waits for a moment. @returns false when there is nothing to wait for */
  waitForFree(limit: number): boolean {
    const first = this.#firstFree(limit)
    if (first >= this.#available(limit)) return false
    const before = this.#before[first]!
    const state = before < 0 ? STATES.done : this.state(before)
    if (state === STATES.running || state === STATES.alone) Atomics.wait(this.#states, before, state, WAIT_MS)
    return true
  }

  #isKnown(index: number): boolean {
    const state = this.state(index)
    return state === STATES.done || state === STATES.executed
  }

  #available(limit: number): number {
    return Math.min(limit, Atomics.load(this.#control, CONTROL_CELLS.available))
  }

  #firstFree(limit: number): number {
    const available = this.#available(limit)
    let first = Atomics.load(this.#control, CONTROL_CELLS.next)
    while (first < available && this.state(first) !== STATES.free) first++
    // Another thread may have gone further: then some are looked at again.
    Atomics.store(this.#control, CONTROL_CELLS.next, first)
    return first
  }

  /** The executor keeps the next entries that nobody has taken, for their turn. */
  withholdNext(count: number): void {
    const first = this.#firstFree(MOST_ENTRIES)
    for (let index = first; index < this.#available(first + count); index++) this.withhold(index)
  }

  /** Nobody takes the entry any more. */
  withhold(index: number): void {
    Atomics.compareExchange(this.#states, index, STATES.free, STATES.alone)
  }

  state(index: number): number {
    return Atomics.load(this.#states, index)
  }

  /** The entry will be executed in its turn. */
  leaveAlone(index: number): void {
    this.#set(index, STATES.alone)
  }

  /**
   * Waits until nobody runs the entry any more.
   * @param pause lets the thread notice events between two waits; false from it ends the wait
   * @returns whether the wait is over because nobody runs it
   */
  async settled(index: number, pause: () => Promise<boolean>): Promise<boolean> {
    for (let waits = 0; waits < MOST_WAITS; waits++) {
      if (this.settledSoon(index)) return true
      if (!(await pause())) return false
    }
    return false
  }

  /** The same for a millisecond at most, without giving the thread to anybody. */
  settledSoon(index: number): boolean {
    for (let spins = 0; spins < SPINS; spins++) if (this.state(index) !== STATES.running) return true
    return Atomics.wait(this.#states, index, STATES.running, WAIT_MS) !== 'timed-out'
  }

  /** The value of the newest version of `key` below entry `before`; undefined when none was found. */
  find(key: Uint8Array, before: number): Uint8Array | undefined {
    const words = this.#words
    let best = -1
    let bestAt = 0
    let steps = 0
    let at = Atomics.load(this.#buckets, bucketOf(key))
    for (; at !== 0 && steps < MOST_STEPS; steps++) {
      const word = at >> 2
      const index = words[word + VERSION.index]!
      if (index > best && index < before && this.#hasKey(at, key)) {
        best = index
        bestAt = at
      }
      at = words[word + VERSION.next]!
    }
    if (best < 0) return undefined
    const { valueAt, valueEnd } = this.versionAt(bestAt)
    return this.#bytes.slice(valueAt, valueEnd)
  }

  /**
   * Stores the result of an entry that this thread has taken.
   * @param versions what it wrote: a later one of a list counts on those before it
   * @param write writes the rest of the result from an offset of `bytes` on, and returns the offset after it
   * @throws NoRoom, having stored nothing
   */
  publish(
    index: number,
    versions: readonly Version[],
    write: (bytes: Uint8Array, at: number, end: number) => number,
  ): void {
    const start = this.#top
    const end = this.#regionStart - 8 + REGION_BYTES
    let at = start + 8
    for (const version of versions) at = this.#writeVersion(index, version, at, end)
    const bodyAt = at
    const top = write(this.#bytes, bodyAt, end)
    this.#words[start >> 2] = versions.length
    this.#words[(start >> 2) + 1] = bodyAt
    this.#top = (top + 3) & ~3
    this.#show(start + 8, versions)
    this.#results[index] = start
    this.#set(index, STATES.done)
  }

  /** The executor has executed an entry in its turn. Where there is no room for what it wrote, others guess without it. */
  publishExecuted(index: number, versions: readonly Version[]): void {
    const start = this.#top
    const length = versions.reduce((sum, { key, value }) => sum + VERSION.words * 4 + key.length + value.length + 3, 0)
    const end = this.#regionStart - 8 + REGION_BYTES
    if (start + length <= end) {
      let at = start
      for (const version of versions) at = this.#writeVersion(index, version, at, end)
      this.#top = at
      this.#show(start, versions)
    }
    this.#set(index, STATES.executed)
  }

  #set(index: number, state: number): void {
    Atomics.store(this.#states, index, state)
    Atomics.notify(this.#states, index)
  }

  /** Lets others find versions that begin at an offset. */
  #show(start: number, versions: readonly Version[]): void {
    let at = start
    for (const { key } of versions) {
      this.#push(at, bucketOf(key))
      at = this.versionAt(at).end
    }
  }

  /** The result of an entry whose state is `done`: offsets of its versions, of which `versionAt` reads one, and of the rest. */
  result(index: number): TableResult {
    const start = this.#results[index]!
    return { table: this, count: this.#words[start >> 2]!, versions: start + 8, rest: this.#words[(start >> 2) + 1]! }
  }

  /** Where a version is in {@link bytes}. */
  versionAt(at: number): VersionPlace {
    const word = at >> 2
    const keyAt = at + VERSION.words * 4
    const valueAt = keyAt + this.#words[word + VERSION.keyLength]!
    const valueEnd = valueAt + this.#words[word + VERSION.valueLength]!
    return { keyAt, valueAt, valueEnd, end: (valueEnd + 3) & ~3 }
  }

  /** The memory of all results. */
  get bytes(): Uint8Array {
    return this.#bytes
  }

  #writeVersion(index: number, { key, value }: Version, at: number, end: number): number {
    const keyAt = at + VERSION.words * 4
    const top = (keyAt + key.length + value.length + 3) & ~3
    if (top > end) throw new NoRoom()
    const word = at >> 2
    this.#words[word + VERSION.index] = index
    this.#words[word + VERSION.keyLength] = key.length
    this.#words[word + VERSION.valueLength] = value.length
    this.#bytes.set(key, keyAt)
    this.#bytes.set(value, keyAt + key.length)
    return top
  }

  #hasKey(at: number, key: Uint8Array): boolean {
    if (this.#words[(at >> 2) + VERSION.keyLength] !== key.length) return false
    const keyAt = at + VERSION.words * 4
    for (let i = key.length - 1; i >= 0; i--) if (this.#bytes[keyAt + i] !== key[i]) return false
    return true
  }

  /** Makes a version the first of its bucket. Whoever sees it there sees all of it. */
  #push(at: number, bucket: number): void {
    for (;;) {
      const first = Atomics.load(this.#buckets, bucket)
      this.#words[(at >> 2) + VERSION.next] = first
      if (Atomics.compareExchange(this.#buckets, bucket, first, at) === first) return
    }
  }
}

/** FNV-1a, with its high bits mixed into the low ones. */
function bucketOf(key: Uint8Array): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key[i]!, 0x01000193)
  return (hash ^ (hash >>> 16)) & (BUCKETS - 1)
}
