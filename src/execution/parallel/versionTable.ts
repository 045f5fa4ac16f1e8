import type { Address } from '../../primitives/address.ts'
import { equalBytes } from '../../primitives/bytes.ts'
import { EMPTY_CODE_HASH, type Hash } from '../../primitives/hash.ts'
import type { Account } from '../../state/reader.ts'

/*
 * The multi-version table of a block (Gelashvili et al., Block-STM, 2022), in memory that the
 * executor and its speculators share. It has the state of each entry of the block and, once a
 * speculator has executed the entry, its writes as flat records under its index. The execution of a
 * later entry reads the newest version below that entry. All of this is a guess, which the executor
 * checks before it counts: a version may be wrong, missing or half written, and no result depends
 * on it.
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
  /** the executor has executed it, and its writes are in the table */
  executed: 4,
} as const

/**
 * A read or write of an entry: a header of words, the key, the written value, and the read value,
 * each starting at a whole word. The words: next record of the bucket, index of the entry, flags
 * and length of the key, length of the written value, length of the read value.
 */
const RECORD = { next: 0, index: 1, flagsAndKey: 2, written: 3, read: 4, words: 5 } as const

/** Of a record. */
export const FLAGS = {
  /** it was read */
  read: 0x100,
  /** the read value is a version of the table; otherwise it is the parent's */
  isVersion: 0x200,
  /** it is a version: the newest value after the entry */
  written: 0x400,
  /** the number of slots of the account was read, which was the parent's */
  slotCount: 0x800,
} as const
const KEY_LENGTH = 0xff

/** Keys are an address, an address and a slot, or the hash of a code. */
export const KEY_BYTES = { account: 20, slot: 52, code: 32 } as const

/** An account: nonce, balance as two words of 64 bits, and a code hash unless it has no code; no bytes when it does not exist. */
const ACCOUNT_BYTES = 24
const MOST_BALANCE = 1n << 128n

/**
 * Words of a result: number of records, offset of the outcome, microseconds that the execution
 * took.
 */
const RESULT = { records: 0, rest: 1, micros: 2, words: 3 } as const

/**
 * Speculators take entries at most this far beyond the first free one: results far ahead rest on
 * too few known writes.
 */
const WINDOW = 256

/** Looks before a sleep, which takes longer to end than most entries: some 20 µs. */
const SPINS = 2_000
const WAIT_MS = 1
/** After some 5 ms the executor executes an entry itself, even if a speculator has it. */
const MOST_WAITS = 5

/** Memory that the threads share. */
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

/** Offsets of a record's parts in the memory of all results. */
export interface RecordPlace {
  readonly flags: number
  readonly keyAt: number
  readonly keyLength: number
  readonly writtenAt: number
  readonly writtenEnd: number
  readonly readAt: number
  readonly readEnd: number
}

/** An entry's result: its records begin at `records`, see {@link VersionTable.record}. */
export interface TableResult {
  readonly table: VersionTable
  readonly count: number
  readonly records: number
  readonly rest: number
  /** microseconds that a speculator took for it */
  readonly micros: number
}

export class VersionTable {
  readonly #control: Int32Array<SharedArrayBuffer>
  readonly #states: Int32Array<SharedArrayBuffer>
  readonly #before: Int32Array<SharedArrayBuffer>
  readonly #results: Int32Array<SharedArrayBuffer>
  readonly #buckets: Int32Array<SharedArrayBuffer>
  readonly #words: Int32Array<SharedArrayBuffer>
  readonly #bytes: Uint8Array<SharedArrayBuffer>
  readonly #view: DataView<SharedArrayBuffer>
  readonly #regionStart: number
  readonly #regionEnd: number
  #top: number
  /**
   * of the result that is being written: index of its entry, its start, the next offset, records so
   * far
   */
  #index = 0
  #start = 0
  #at = 0
  #count = 0
  /** the word where the record begins that is written */
  #record = 0
  /** a key that is looked for, as bytes and as words */
  readonly #key = new Uint8Array(KEY_BYTES.slot)
  readonly #keyWords = new Int32Array(this.#key.buffer)

  /** @param speculator which of them this thread is, from 0 on; by default the executor */
  constructor(memory: TableMemory, speculator = -1) {
    this.#control = new Int32Array(memory.control)
    this.#states = new Int32Array(memory.states)
    this.#before = new Int32Array(memory.before)
    this.#results = new Int32Array(memory.results)
    this.#buckets = new Int32Array(memory.buckets)
    this.#words = new Int32Array(memory.arena)
    this.#bytes = new Uint8Array(memory.arena)
    this.#view = new DataView(memory.arena)
    // Offset 0 means that there is no record.
    this.#regionStart = (speculator + 1) * REGION_BYTES + 8
    this.#regionEnd = (speculator + 2) * REGION_BYTES
    this.#top = this.#regionStart
  }

  /**
   * The executor begins a block.
   * @returns false when a speculator is still at an entry of an earlier one: nothing can be offered then
   */
  open(session: number): boolean {
    this.close()
    // Before the check of `working`: a speculator that starts later sees that its session is over.
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

  /** Called when the executor needs no more: speculators end with the entry that they are at. */
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

  /** Drops this thread's results of the previous session. */
  clearRegion(): void {
    this.#top = this.#regionStart
  }

  /**
   * Takes an early free entry whose sender's earlier entries are in the table; undefined when there
   * is no such entry now.
   * @param limit index of the first entry that must not be taken
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

  /** Reserves the next free entries for the executor, which executes them in their turn. */
  withholdNext(count: number): void {
    const first = this.#firstFree(MOST_ENTRIES)
    for (let index = first; index < this.#available(first + count); index++) this.withhold(index)
  }

  /** Reserves the entry for the executor, if it is free. */
  withhold(index: number): void {
    Atomics.compareExchange(this.#states, index, STATES.free, STATES.alone)
  }

  state(index: number): number {
    return Atomics.load(this.#states, index)
  }

  /** Leaves the entry to the executor, which executes it in its turn. */
  leaveAlone(index: number): void {
    this.#set(index, STATES.alone)
  }

  /**
   * Waits until no speculator is running the entry.
   * @param pause lets the thread notice events between two waits; the wait ends when it returns
   * false
   * @returns whether the entry is no longer running
   */
  async resolved(index: number, pause: () => Promise<boolean>): Promise<boolean> {
    for (let waits = 0; waits < MOST_WAITS; waits++) {
      if (this.resolvesSoon(index)) return true
      if (!(await pause())) return false
    }
    return false
  }

  /** Does the same for a millisecond at most, without yielding the thread. */
  resolvesSoon(index: number): boolean {
    for (let spins = 0; spins < SPINS; spins++) if (this.state(index) !== STATES.running) return true
    return Atomics.wait(this.#states, index, STATES.running, WAIT_MS) !== 'timed-out'
  }

  /**
   * Returns the newest version of an account below entry `before`; 0 when none was found, otherwise
   * {@link record} has it.
   */
  findAccount(address: Address, before: number): number {
    this.#key.set(address)
    return this.#find(KEY_BYTES.account, before)
  }

  /** Returns the same for a slot. */
  findSlot(address: Address, slot: Uint8Array, before: number): number {
    this.#key.set(address)
    this.#key.set(slot, KEY_BYTES.account)
    return this.#find(KEY_BYTES.slot, before)
  }

  /** Returns the same for the code with this hash. */
  findCode(hash: Hash, before: number): number {
    this.#key.set(hash)
    return this.#find(KEY_BYTES.code, before)
  }

  #find(length: number, before: number): number {
    const words = this.#words
    let best = -1
    let bestAt = 0
    let at = Atomics.load(this.#buckets, bucketOf(this.#keyWords, 0, length >> 2))
    for (let steps = 0; at !== 0 && steps < MOST_STEPS; steps++) {
      const word = at >> 2
      const index = words[word + RECORD.index]!
      if (index > best && index < before && this.#hasKey(word, length)) {
        best = index
        bestAt = at
        if (index === before - 1) break
      }
      at = words[word + RECORD.next]!
    }
    return bestAt
  }

  #hasKey(record: number, length: number): boolean {
    const words = this.#words
    if ((words[record + RECORD.flagsAndKey]! & KEY_LENGTH) !== length) return false
    const key = this.#keyWords
    const first = record + RECORD.words
    for (let i = (length >> 2) - 1; i >= 0; i--) if (words[first + i] !== key[i]) return false
    return true
  }

  /** Begins the result of an entry, whose records follow. */
  beginResult(index: number): void {
    this.#index = index
    this.#start = this.#top
    this.#at = this.#start + RESULT.words * 4
    this.#count = 0
  }

  /** @param flags see {@link FLAGS}: which of the values count @throws NoRoom */
  addAccount(flags: number, address: Address, read: Account | undefined, written: Account | undefined): void {
    this.#begin(flags, KEY_BYTES.account)
    this.#bytes.set(address, this.#at)
    this.#at += KEY_BYTES.account
    if ((flags & FLAGS.written) !== 0) this.#addAccount(RECORD.written, written)
    if (hasReadValue(flags)) this.#addAccount(RECORD.read, read)
    this.#count++
  }

  /** @param slot the slot's `bytesKey` @throws NoRoom */
  addSlot(flags: number, address: Address, slot: string, read: Uint8Array, written: Uint8Array): void {
    this.#begin(flags, KEY_BYTES.slot)
    const bytes = this.#bytes
    bytes.set(address, this.#at)
    this.#at += KEY_BYTES.account
    for (let i = 0; i < slot.length; i++) bytes[this.#at + i] = slot.charCodeAt(i)
    this.#at += slot.length
    if ((flags & FLAGS.written) !== 0) this.#addBytes(RECORD.written, written)
    if (hasReadValue(flags)) this.#addBytes(RECORD.read, read)
    this.#count++
  }

  /** Adds bytecode that was written. @throws NoRoom */
  addCode(hash: Hash, code: Uint8Array): void {
    this.#begin(FLAGS.written, KEY_BYTES.code, code.length)
    this.#bytes.set(hash, this.#at)
    this.#at += KEY_BYTES.code
    this.#addBytes(RECORD.written, code)
    this.#count++
  }

  #begin(flags: number, length: number, more = 0): void {
    const at = this.#at
    if (at + MOST_RECORD + more > this.#regionEnd) throw new NoRoom()
    const word = at >> 2
    this.#record = word
    const words = this.#words
    words[word + RECORD.index] = this.#index
    words[word + RECORD.flagsAndKey] = flags | length
    words[word + RECORD.written] = 0
    words[word + RECORD.read] = 0
    this.#at = at + RECORD.words * 4
  }

  #addBytes(part: number, value: Uint8Array): void {
    this.#bytes.set(value, this.#at)
    this.#words[this.#record + part] = value.length
    this.#at = (this.#at + value.length + 3) & ~3
  }

  #addAccount(part: number, account: Account | undefined): void {
    if (account === undefined) return
    const { nonce, balance, codeHash } = account
    // More coins than any chain has.
    if (balance >= MOST_BALANCE) throw new NoRoom()
    const view = this.#view
    const at = this.#at
    view.setBigUint64(at, nonce, true)
    view.setBigUint64(at + 8, balance, true)
    view.setBigUint64(at + 16, balance >> 64n, true)
    let length = ACCOUNT_BYTES
    if (!equalBytes(codeHash, EMPTY_CODE_HASH)) {
      this.#bytes.set(codeHash, at + length)
      length += codeHash.length
    }
    this.#words[this.#record + part] = length
    this.#at = at + length
  }

  /**
   * Stores the result of an entry that this thread has taken, with the records that were added.
   * @param write writes the rest of the result from an offset of {@link bytes} on, and returns the offset after it
   * @throws NoRoom, having stored nothing
   */
  publish(micros: number, write: (at: number, end: number) => number): void {
    const start = this.#start
    const rest = this.#at
    const top = write(rest, this.#regionEnd)
    const word = start >> 2
    this.#words[word + RESULT.records] = this.#count
    this.#words[word + RESULT.rest] = rest
    this.#words[word + RESULT.micros] = micros
    this.#top = (top + 3) & ~3
    this.#show()
    this.#results[this.#index] = start
    this.#set(this.#index, STATES.done)
  }

  /**
   * Publishes an entry that the executor has executed in its turn, after the records of its writes
   * were added.
   */
  publishExecuted(): void {
    this.#top = this.#at
    this.#show()
    this.#set(this.#index, STATES.executed)
  }

  /** Does the same when there was no room for the writes: speculators guess without them. */
  executed(index: number): void {
    this.#set(index, STATES.executed)
  }

  #set(index: number, state: number): void {
    Atomics.store(this.#states, index, state)
    Atomics.notify(this.#states, index)
  }

  /** Makes the written records visible to other threads. */
  #show(): void {
    let at = this.#start + RESULT.words * 4
    for (let i = 0; i < this.#count; i++) {
      const word = at >> 2
      const flagsAndKey = this.#words[word + RECORD.flagsAndKey]!
      if ((flagsAndKey & FLAGS.written) !== 0) {
        this.#push(at, bucketOf(this.#words, word + RECORD.words, (flagsAndKey & KEY_LENGTH) >> 2))
      }
      at = this.next(at)
    }
  }

  /** Returns the result of an entry whose state is `done`. */
  result(index: number): TableResult {
    const start = this.#results[index]!
    const word = start >> 2
    return {
      table: this,
      count: this.#words[word + RESULT.records]!,
      records: start + RESULT.words * 4,
      rest: this.#words[word + RESULT.rest]!,
      micros: this.#words[word + RESULT.micros]!,
    }
  }

  /** Returns where the parts of a record are in {@link bytes}. */
  record(at: number): RecordPlace {
    const words = this.#words
    const word = at >> 2
    const flagsAndKey = words[word + RECORD.flagsAndKey]!
    const keyAt = at + RECORD.words * 4
    const keyLength = flagsAndKey & KEY_LENGTH
    const writtenAt = keyAt + keyLength
    const writtenEnd = writtenAt + words[word + RECORD.written]!
    const readAt = (writtenEnd + 3) & ~3
    return {
      flags: flagsAndKey & ~KEY_LENGTH,
      keyAt,
      keyLength,
      writtenAt,
      writtenEnd,
      readAt,
      readEnd: readAt + words[word + RECORD.read]!,
    }
  }

  /** Returns where the next record of the same result begins. */
  next(at: number): number {
    const words = this.#words
    const word = at >> 2
    const writtenAt = at + RECORD.words * 4 + (words[word + RECORD.flagsAndKey]! & KEY_LENGTH)
    const readAt = (writtenAt + words[word + RECORD.written]! + 3) & ~3
    return (readAt + words[word + RECORD.read]! + 3) & ~3
  }

  /** Whether two keys, at these offsets, begin with the same address. */
  hasSameAddress(keyAt: number, otherAt: number): boolean {
    const words = this.#words
    const [one, other] = [keyAt >> 2, otherAt >> 2]
    for (let i = 0; i < KEY_BYTES.account >> 2; i++) if (words[one + i] !== words[other + i]) return false
    return true
  }

  /** Reads an account as a part of a record. */
  accountAt(at: number, end: number): Account | undefined {
    if (at === end) return undefined
    const view = this.#view
    const high = view.getBigUint64(at + 16, true)
    const low = view.getBigUint64(at + 8, true)
    return {
      nonce: view.getBigUint64(at, true),
      balance: high === 0n ? low : (high << 64n) | low,
      codeHash: end - at > ACCOUNT_BYTES ? this.#bytes.slice(at + ACCOUNT_BYTES, end) : EMPTY_CODE_HASH,
    }
  }

  /** Returns the memory of all results. */
  get bytes(): Uint8Array {
    return this.#bytes
  }

  /** {@link bytes} for numbers. */
  get view(): DataView {
    return this.#view
  }

  /** Makes a record the first of its bucket. A thread that sees it there sees the whole record. */
  #push(at: number, bucket: number): void {
    for (;;) {
      const first = Atomics.load(this.#buckets, bucket)
      this.#words[(at >> 2) + RECORD.next] = first
      if (Atomics.compareExchange(this.#buckets, bucket, first, at) === first) return
    }
  }
}

/** Bytes that a record of an account or slot takes at most. */
const MOST_RECORD = RECORD.words * 4 + KEY_BYTES.slot + 2 * (ACCOUNT_BYTES + 32) + 8

/**
 * Whether the record has the read value: always when it is a table version; when it is the
 * parent's, only if it was also written.
 */
function hasReadValue(flags: number): boolean {
  return (flags & FLAGS.isVersion) !== 0 || (flags & (FLAGS.read | FLAGS.written)) === (FLAGS.read | FLAGS.written)
}

function bucketOf(words: Int32Array, first: number, count: number): number {
  let hash = count
  for (let i = first; i < first + count; i++) {
    hash = Math.imul(hash ^ words[i]!, 0x9e3779b1)
    hash ^= hash >>> 15
  }
  return hash & (BUCKETS - 1)
}
