import { bytesKey } from '../primitives/bytes.ts'
import { WriteBatch } from './batch.ts'
import type { Database, DatabaseView, KeyRange, WritableDatabase } from './database.ts'

/** An entry that every batch replaces: while writes are delayed, its value is made once for all of them, or when it is read. */
export interface LateEntry {
  readonly key: Uint8Array
  readonly value: () => Uint8Array
}

/** Writes that are delayed: the last operation on each key. */
class Overlay {
  readonly #batch = new WriteBatch()
  /** by `bytesKey` of a key, the position of its operation */
  readonly #newest = new Map<string, number>()
  /** newer than an operation on its key */
  #late: { readonly name: string; readonly entry: LateEntry } | undefined
  /** of all batches: also what later ones have replaced stays in memory */
  bytes = 0

  get isEmpty(): boolean {
    return this.#newest.size === 0 && this.#late === undefined
  }

  add(batch: WriteBatch, late: LateEntry | undefined): void {
    // Such a batch may have an operation on the same key, which is newer.
    if (late === undefined) this.#settle()
    this.#batch.merge(batch, this.#newest)
    this.bytes += batch.bytes
    if (late !== undefined) this.#late = { name: bytesKey(late.key), entry: late }
  }

  /** @param name `bytesKey` of the key; `undefined` when it is deleted, `'unknown'` when no operation is on it */
  get(name: string): ReturnType<WriteBatch['find']> {
    if (this.#late?.name === name) return this.#late.entry.value()
    const position = this.#newest.get(name)
    return position === undefined ? 'unknown' : this.#batch.valueAt(position)
  }

  /** Returns everything that was added, in one batch. */
  finish(): WriteBatch {
    this.#settle()
    return this.#batch
  }

  #settle(): void {
    if (this.#late === undefined) return
    const { key, value } = this.#late.entry
    this.#late = undefined
    const batch = new WriteBatch()
    batch.put(key, value())
    this.#batch.merge(batch, this.#newest)
  }
}

/**
 * The database as its only writer uses it. Writes can be delayed: they are buffered in memory,
 * where the writer's own reads find them, and are written together as one synced batch. A single
 * batch can also be written while the writer continues (`writeBehind`). A crash loses only the
 * newest batches, without gaps. Readers in other threads see the database as of the last completed
 * write.
 */
export class BufferedDatabase implements WritableDatabase {
  readonly #database: Database
  #isBuffering = false
  #overlay = new Overlay()
  /** batches that are being written */
  #flushing: { readonly find: WriteBatch['find']; readonly done: Promise<void> } | undefined
  #failure: unknown

  constructor(database: Database) {
    this.#database = database
  }

  get location(): string {
    return this.#database.location
  }

  /** bytes of the batches that are buffered and not being written yet */
  get bufferedBytes(): number {
    return this.#overlay.bytes
  }

  get(key: Uint8Array): Uint8Array | undefined {
    if (this.#isEmpty()) return this.#database.get(key)
    const found = this.#buffered(key)
    return found === 'unknown' ? this.#database.get(key) : found
  }

  /** Returns the value of a key in the batches that are not written yet; see `Overlay.get`. */
  #buffered(key: Uint8Array): ReturnType<WriteBatch['find']> {
    const found = this.#overlay.isEmpty ? 'unknown' : this.#overlay.get(bytesKey(key))
    return found === 'unknown' && this.#flushing !== undefined ? this.#flushing.find(key) : found
  }

  /** Finds buffered values, and reads the others in the database. */
  async getMany(keys: readonly Uint8Array[]): Promise<readonly (Uint8Array | undefined)[]> {
    if (this.#isEmpty()) return this.#database.getMany(keys)
    const found = keys.map((key) => this.#buffered(key))
    const values = await this.#database.getMany(keys.filter((_, index) => found[index] === 'unknown'))
    let next = 0
    return found.map((value) => (value === 'unknown' ? values[next++] : value))
  }

  /** Flushes first, which is acceptable because range reads are rare. */
  async *entries(range: KeyRange): AsyncIterable<readonly [Uint8Array, Uint8Array]> {
    await this.flush()
    yield* this.#database.entries(range)
  }

  /** Returns a view, which is not a real snapshot while writes are delayed: it then shows the current contents. */
  snapshot(): DatabaseView {
    if (!this.#isBuffering && this.#isEmpty()) return this.#database.snapshot()
    const { location } = this
    return {
      location,
      rangesFlush: true,
      get: (key) => this.get(key),
      getMany: (keys) => this.getMany(keys),
      entries: (range) => this.entries(range),
      close: async () => undefined,
    }
  }

  /**
   * Writes as `Database.write`. While writes are delayed, nothing is on the disk when this returns,
   * even with `sync`.
   * @param late belongs to the batch, and always has the same key
   */
  async write(batch: WriteBatch, { sync, late }: { readonly sync: boolean; readonly late?: LateEntry }): Promise<void> {
    if (this.#isBuffering) {
      this.#throwFailure()
      this.#overlay.add(batch, late)
      return
    }
    while (this.#flushing !== undefined) await this.#flushing.done
    this.#throwFailure()
    if (late !== undefined) batch.put(late.key, late.value())
    await this.#database.write(batch, { sync })
  }

  /**
   * Starts to write a batch, synced, after waiting for an earlier one, so that at most one is in memory besides the buffer. Until it is
   * written, the writer's own reads find it in memory; its arrays must not change. Not while writes are delayed.
   * @returns a promise that resolves when the write has begun; `done` in it resolves when the batch is on stable storage. If that fails,
   * later writes throw the error too
   */
  async writeBehind(
    batch: WriteBatch,
    { late }: { readonly late: LateEntry },
  ): Promise<{ readonly done: Promise<void> }> {
    if (this.#isBuffering) throw new Error('writes are delayed')
    while (this.#flushing !== undefined) await this.#flushing.done
    this.#throwFailure()
    batch.put(late.key, late.value())
    return this.#begin(batch, (key) => batch.find(key))
  }

  /** Delays writes from now on, until `startFlush` or `flush`. */
  startBuffering(): void {
    this.#isBuffering = true
  }

  /** Stops delaying writes. When it resolves, everything written so far is on stable storage. */
  async stopBuffering(): Promise<void> {
    this.#isBuffering = false
    await this.flush()
  }

  /**
   * Starts to write the buffer, after waiting for an earlier flush, so that at most two buffers are in memory. New writes may be
   * buffered meanwhile.
   * @returns a promise that resolves when the flush has begun; `done` in it resolves when it is complete
   */
  async startFlush(): Promise<{ readonly done: Promise<void> }> {
    while (this.#flushing !== undefined) await this.#flushing.done
    this.#throwFailure()
    const overlay = this.#overlay
    if (overlay.isEmpty) return { done: Promise.resolve() }
    this.#overlay = new Overlay()
    return this.#begin(overlay.finish(), (key) => overlay.get(bytesKey(key)))
  }

  #begin(batch: WriteBatch, find: WriteBatch['find']): { readonly done: Promise<void> } {
    const done = this.#write(batch)
    // The next write throws the error. Without a handler here, it would end the thread.
    done.catch(() => undefined)
    this.#flushing = { find, done }
    return { done }
  }

  /** Waits until everything that was written so far is on stable storage. */
  async flush(): Promise<void> {
    await (await this.startFlush()).done
  }

  async #write(batch: WriteBatch): Promise<void> {
    try {
      await this.#database.write(batch, { sync: true })
      this.#flushing = undefined
    } catch (error) {
      this.#failure = error
      throw error
    }
  }

  #isEmpty(): boolean {
    return this.#overlay.isEmpty && this.#flushing === undefined
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure
  }
}
