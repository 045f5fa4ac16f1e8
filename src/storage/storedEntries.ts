import { type Level, openLevel, readError } from './database.ts'
import { formatOf } from './format.ts'

/** Entries of one batch, whatever their size. */
const BATCH_ENTRIES = 20_000
/** Below and above all keys. */
const FIRST_KEY = Uint8Array.of(0)
const LAST_KEY = new Uint8Array(64).fill(0xff)

type StoredEntry = readonly [key: Uint8Array, stored: Uint8Array]

/** What LevelDB holds in a directory of any format, with whatever that format adds to values: for a conversion. */
export class StoredEntries {
  readonly #level: Level

  private constructor(level: Level) {
    this.#level = level
  }

  /** @throws DatabaseError when there is no database, or it is damaged */
  static async open(location: string): Promise<StoredEntries> {
    return new StoredEntries(await openLevel(location, { readOnly: true }))
  }

  get format(): number | 'damaged' | undefined {
    return formatOf((key) => this.get(key))
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
   * All entries with keys above `last` in their order, in batches.
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

  /** Which part of the bytes in files the keys up to `key` have, from 0 to 1; what is not in a table is not counted. */
  async shareUpTo(key: Uint8Array): Promise<number> {
    const all = await this.#level.approximateSize(FIRST_KEY, LAST_KEY)
    return all === 0 ? 1 : (await this.#level.approximateSize(FIRST_KEY, key)) / all
  }

  close(): Promise<void> {
    return this.#level.close()
  }
}
