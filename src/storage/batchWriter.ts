import { WriteBatch } from './batch.ts'
import type { WritableDatabase } from './database.ts'

const BATCH_BYTES = 4 << 20

/**
 * Collects entries in several batches of some megabytes, since their order does not matter and they
 * may be more than memory holds.
 */
export class BatchWriter {
  readonly #database: Pick<WritableDatabase, 'write'>
  batch = new WriteBatch()

  constructor(database: Pick<WritableDatabase, 'write'>) {
    this.#database = database
  }

  /** Writes the entries when they are many. Await it after every few puts. */
  async flushLarge(): Promise<void> {
    if (this.batch.bytes >= BATCH_BYTES) await this.flush()
  }

  /**
   * Writes the batch, synced: LevelDB syncs a log that it reuses only when its entries are in a
   * table, after it has synced later ones.
   */
  async flush(): Promise<void> {
    const { batch } = this
    this.batch = new WriteBatch()
    await this.#database.write(batch, { sync: true })
  }
}
