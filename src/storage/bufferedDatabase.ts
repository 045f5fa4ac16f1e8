import { bytesKey } from '../primitives/bytes.ts'
import { WriteBatch } from './batch.ts'
import type { Database, DatabaseView, KeyRange, WritableDatabase } from './database.ts'

interface Operation {
  readonly key: Uint8Array
  /** undefined: a delete */
  readonly value: Uint8Array | undefined
}

/** The last operation on each key, by `bytesKey`. */
class Overlay {
  readonly operations = new Map<string, Operation>()
  bytes = 0

  add(batch: WriteBatch): void {
    batch.forEach((key, value) => {
      this.operations.set(bytesKey(key), { key, value })
    })
    this.bytes += batch.bytes
  }

  toBatch(): WriteBatch {
    const batch = new WriteBatch()
    for (const { key, value } of this.operations.values()) {
      if (value === undefined) batch.del(key)
      else batch.put(key, value)
    }
    return batch
  }
}

/**
 * The database as its only writer uses it. Writes can be delayed: they are buffered in memory, where the writer's own reads find them,
 * and are written together as one synced batch. A crash loses only the newest batches, without gaps. Readers in other threads see the
 * database as of the last flush.
 */
export class BufferedDatabase implements WritableDatabase {
  readonly #database: Database
  #isBuffering = false
  #overlay = new Overlay()
  /** batches that are being written */
  #flushing: { readonly overlay: Overlay; readonly done: Promise<void> } | undefined
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
    const name = bytesKey(key)
    const found = this.#overlay.operations.get(name) ?? this.#flushing?.overlay.operations.get(name)
    return found === undefined ? this.#database.get(key) : found.value
  }

  /** Flushes first, which is acceptable because range reads are rare. */
  async *entries(range: KeyRange): AsyncIterable<readonly [Uint8Array, Uint8Array]> {
    await this.flush()
    yield* this.#database.entries(range)
  }

  /** While writes are delayed, this is not a real snapshot: it shows the present contents. */
  snapshot(): DatabaseView {
    if (!this.#isBuffering && this.#isEmpty()) return this.#database.snapshot()
    const { location } = this
    return {
      location,
      get: (key) => this.get(key),
      entries: (range) => this.entries(range),
      close: async () => undefined,
    }
  }

  /** See `Database.write`. While writes are delayed, nothing is on the disk when this returns, even with `sync`. */
  async write(batch: WriteBatch, options: { readonly sync: boolean }): Promise<void> {
    if (this.#isBuffering) {
      this.#throwFailure()
      this.#overlay.add(batch)
      return
    }
    await this.#database.write(batch, options)
  }

  /** From now on, writes are delayed until `startFlush` or `flush`. */
  startBuffering(): void {
    this.#isBuffering = true
  }

  /** Everything written so far is on stable storage when this resolves. Later writes are no longer delayed. */
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
    if (overlay.operations.size === 0) return { done: Promise.resolve() }
    this.#overlay = new Overlay()
    const done = this.#write(overlay)
    // The next write throws the error. Without a handler here, it would end the thread.
    done.catch(() => undefined)
    this.#flushing = { overlay, done }
    return { done }
  }

  /** Waits until everything that was written so far is on stable storage. */
  async flush(): Promise<void> {
    await (await this.startFlush()).done
  }

  async #write(overlay: Overlay): Promise<void> {
    try {
      await this.#database.write(overlay.toBatch(), { sync: true })
      this.#flushing = undefined
    } catch (error) {
      this.#failure = error
      throw error
    }
  }

  #isEmpty(): boolean {
    return this.#overlay.operations.size === 0 && this.#flushing === undefined
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure
  }
}
