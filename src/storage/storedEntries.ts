import { type Level, openLevel, readError } from './database.ts'

/** Entries of one batch, whatever their size. */
const BATCH_ENTRIES = 20_000

type StoredEntry = readonly [key: Uint8Array, stored: Uint8Array]

/** The entries of a LevelDB directory, with the checksums of values, whether they are right or not: for a repair. */
export class StoredEntries {
  readonly #level: Level

  private constructor(level: Level) {
    this.#level = level
  }

  /** @throws DatabaseError when there is no database, or it is damaged */
  static async open(location: string): Promise<StoredEntries> {
    return new StoredEntries(await openLevel(location, { readOnly: true }))
  }

  /** @throws DatabaseError */
  get(key: Uint8Array): Uint8Array | undefined {
    try {
      return this.#level.getSync(key)
    } catch (error) {
      throw readError(this.#level.location, error, undefined)
    }
  }

  /**
   * Yields all entries with keys above `last` in their order, in batches.
   * @param batchBytes after so many a batch is full
   * @throws DatabaseError
   */
  async *batches(last: Uint8Array, batchBytes: number): AsyncIterable<readonly StoredEntry[]> {
    const views = { keyEncoding: 'view', valueEncoding: 'view' } as const
    const iterator = this.#level.iterator<Uint8Array, Uint8Array>({
      ...views,
      gt: last,
      highWaterMarkBytes: batchBytes,
    })
    try {
      for (;;) {
        const entries = await iterator.nextv(BATCH_ENTRIES)
        if (entries.length === 0) return
        yield entries
      }
    } catch (error) {
      throw readError(this.#level.location, error, undefined)
    } finally {
      await iterator.close()
    }
  }

  close(): Promise<void> {
    return this.#level.close()
  }
}
