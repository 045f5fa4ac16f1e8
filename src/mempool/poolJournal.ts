import {
  appendFrame,
  createJournalFile,
  type JournalDisk,
  type JournalFile,
  JournalFrame,
  journaledBytes,
  nodeDisk,
  openJournalFile,
  readJournal,
} from './journalFile.ts'
import type { PoolEntry } from './poolEntry.ts'

/** A transaction as a journal stores it. */
export type JournaledEntry = Pick<PoolEntry, 'hashKey' | 'raw'>

interface PoolJournalOptions {
  readonly path: string
  /** 32 bytes: a file of another genesis is set aside */
  readonly genesisHash: Uint8Array
  /** runs the work after so many milliseconds */
  readonly later: (work: () => void, ms: number) => void
  readonly log: {
    warn(fields: Readonly<Record<string, unknown>>, message: string): void
    error(fields: Readonly<Record<string, unknown>>, message: string): void
  }
  /** there was no room for an accepted transaction */
  readonly onSkipped: () => void
  /** by default the file system of this machine */
  readonly disk?: JournalDisk
  readonly limits?: Partial<JournalLimits>
}

interface JournalLimits {
  /** bytes of the transactions in the pool that the journal holds; further ones are not written */
  readonly liveBytes: number
  /** the file is written anew once it has more than twice the bytes of the live ones and these */
  readonly slackBytes: number
  /** the file does not grow beyond */
  readonly fileBytes: number
  /** transactions that wait to be written; with more, the disk is too slow, and the file is written anew from the live ones */
  readonly waiting: number
}

/** 32 MiB are 200,000 transfers, as many as the pool takes. */
export const JOURNAL_LIMITS: JournalLimits = {
  liveBytes: 32 << 20,
  slackBytes: 2 << 20,
  fileBytes: 96 << 20,
  waiting: 8_192,
}

/** Milliseconds for which accepted transactions are gathered before they are written. */
const WRITE_MS = 20
/** Milliseconds after which a file that could not be written is tried again. */
const RETRY_MS = 30_000
/** Live transactions that are looked at for one frame. */
const LOOKED_AT = 1_024
/** A file that is written anew is synced in steps of so many bytes, so that the sync of a block waits for one of them at most. */
const SYNC_BYTES = 1 << 20

/**
 * Remembers on the disk which transactions this node's own clients were told are accepted, as geth's journal of local transactions does.
 * Everything is written behind: no answer and no block waits for it. What was accepted {@link WRITE_MS} and one write before the process is
 * killed is in the file. The file is not synced, so a machine that loses power may lose what the system had not written, some 30 seconds.
 *
 * A transaction that leaves the pool stays in the file until the next rewrite, which writes the live transactions to another file and
 * then renames it. A disk that fails does not stop the pool: the file is written anew when the disk works again.
 */
export class PoolJournal {
  readonly #options: PoolJournalOptions
  readonly #disk: JournalDisk
  readonly #limits: JournalLimits
  /** encodings of the pool's transactions that are in the file or will be, by `hashKey`, in the order of their admission */
  readonly #live = new Map<string, string>()
  #liveBytes = 0
  /** those of them that are not in the file, by `hashKey` */
  #waiting: string[] = []
  /** undefined while it cannot be written */
  #file: JournalFile | undefined
  /** the file lacks live transactions */
  #isIncomplete = false
  /** the file has transactions that the pool was not yet offered */
  #isUnread = true
  #state: 'opening' | 'open' | 'off' | 'closing' = 'opening'
  /** a write is planned or under way */
  #isDue = false
  #running: Promise<void> = Promise.resolve()

  constructor(options: PoolJournalOptions) {
    this.#options = options
    this.#disk = options.disk ?? nodeDisk
    this.#limits = { ...JOURNAL_LIMITS, ...options.limits }
  }

  /** Bytes of the file; 0 while it cannot be written. */
  get fileBytes(): number {
    return this.#file?.length ?? 0
  }

  /** Resolves when what is being read or written at the moment is done. */
  get running(): Promise<void> {
    return this.#running
  }

  /** How many transactions of the pool are in the file or will be. */
  get size(): number {
    return this.#live.size
  }

  /**
   * Opens the file and yields the transactions that it had, in the order of their admission. The caller offers them to the pool and calls
   * {@link retain} for those that are in it then. Transactions that clients send meanwhile are written. Once all are read, the file may be
   * written anew without those that the pool has refused.
   */
  async *open(): AsyncGenerator<readonly Uint8Array[], void, void> {
    const { path, log } = this.#options
    const opening = this.#openFile()
    this.#running = opening.then(() => undefined)
    const file = await opening
    if (file === undefined) return
    const end = file.length
    this.#schedule(WRITE_MS)
    try {
      yield* readJournal(this.#disk, path, end)
    } catch (error) {
      log.error({ error, path }, "the pool's journal could not be read to its end")
    }
    this.#isUnread = false
    this.#schedule(WRITE_MS)
  }

  /** A client's transaction was accepted. */
  add(entry: JournaledEntry): void {
    if (this.#state === 'off' || this.#state === 'closing' || this.#live.has(entry.hashKey)) return
    if (!this.#remember(entry)) {
      this.#options.onSkipped()
      return
    }
    if (this.#waiting.length >= this.#limits.waiting) this.#leaveToRewrite()
    else this.#waiting.push(entry.hashKey)
    this.#schedule(WRITE_MS)
  }

  /** A transaction that was read from the file is in the pool. */
  retain(entry: JournaledEntry): void {
    this.#remember(entry)
  }

  /** A transaction has left the pool; it need not be one that was added. */
  remove({ hashKey, raw }: JournaledEntry): void {
    if (this.#live.delete(hashKey)) this.#liveBytes -= journaledBytes(raw.length)
  }

  /** Writes what waits, and closes the file. A file that is being written anew is left as it was. */
  async close(): Promise<void> {
    this.#state = 'closing'
    await this.#running
    const file = this.#file
    this.#file = undefined
    if (file === undefined) return
    try {
      await this.#writeWaiting(file)
    } catch (error) {
      this.#options.log.error({ error }, "the pool's journal could not be written")
    }
    await this.#closeFile(file)
  }

  /** @returns undefined when there is no journal until the next start, or the node stops */
  async #openFile(): Promise<JournalFile | undefined> {
    const { path, genesisHash, log } = this.#options
    try {
      // What a process left that was killed while it wrote the file anew.
      await this.#disk.rm(newName(path), { force: true })
      const { file, aside } = await openJournalFile(this.#disk, path, genesisHash)
      this.#file = file
      if (aside !== undefined) {
        log.warn(
          { ...aside, path },
          "the pool's journal is not whole: a copy of the file is set aside, and may be deleted",
        )
      }
      if (this.#state !== 'opening') return undefined
      this.#state = 'open'
      return file
    } catch (error) {
      this.#turnOff(error)
      return undefined
    }
  }

  /** @returns whether there is room for it */
  #remember({ hashKey, raw }: JournaledEntry): boolean {
    if (this.#live.has(hashKey)) return true
    const bytes = journaledBytes(raw.length)
    if (this.#liveBytes + bytes > this.#limits.liveBytes) return false
    this.#live.set(hashKey, raw)
    this.#liveBytes += bytes
    return true
  }

  #leaveToRewrite(): void {
    this.#waiting = []
    this.#isIncomplete = true
  }

  #schedule(ms: number): void {
    if (this.#isDue || this.#state !== 'open') return
    this.#isDue = true
    this.#options.later(() => {
      this.#running = this.#run()
    }, ms)
  }

  async #run(): Promise<void> {
    let retryMs = WRITE_MS
    try {
      if (this.#file !== undefined) await this.#writeWaiting(this.#file)
      if (this.#isRewriteDue()) await this.#rewrite()
    } catch (error) {
      retryMs = RETRY_MS
      await this.#abandonFile(error)
    }
    this.#isDue = false
    if (this.#waiting.length > 0 || this.#isRewriteDue()) this.#schedule(retryMs)
  }

  #isRewriteDue(): boolean {
    if (this.#isUnread || this.#state !== 'open') return false
    const { slackBytes } = this.#limits
    return this.#isIncomplete || this.fileBytes > 2 * this.#liveBytes + slackBytes
  }

  async #writeWaiting(file: JournalFile): Promise<void> {
    while (this.#waiting.length > 0) {
      const frame = new JournalFrame()
      let taken = 0
      for (const hashKey of this.#waiting) {
        if (frame.isFull || taken === LOOKED_AT) break
        taken++
        const raw = this.#live.get(hashKey)
        if (raw !== undefined) frame.add(raw)
      }
      this.#waiting.splice(0, taken)
      if (frame.isEmpty) continue
      const bytes = frame.encode()
      if (file.length + bytes.length > this.#limits.fileBytes) return this.#leaveToRewrite()
      await appendFrame(file, bytes)
    }
  }

  /**
   * Writes the file anew from the live transactions:
   *
   * 1. Frame after frame, in another file. Transactions that are accepted meanwhile go to the old file as usual; they are also the last
   *    live ones, so the new file gets them too.
   * 2. From the moment when no live transaction is left, those that are accepted wait for the new file.
   * 3. The new file is synced and takes the old one's name.
   */
  async #rewrite(): Promise<void> {
    const { path, genesisHash } = this.#options
    const fresh = await createJournalFile(this.#disk, newName(path), genesisHash)
    try {
      let syncedLength = 0
      const live = this.#live.values()
      for (let isDone = false; !isDone; ) {
        // 1.
        if (this.#file !== undefined) await this.#writeWaiting(this.#file)
        if (this.#state === 'closing') return await this.#discard(fresh)
        const frame = new JournalFrame()
        for (let taken = 0; taken < LOOKED_AT && !frame.isFull; taken++) {
          const next = live.next()
          isDone = next.done === true
          if (next.value === undefined) break
          frame.add(next.value)
        }
        // 2.
        if (isDone) {
          this.#waiting = []
          this.#isIncomplete = false
        }
        if (!frame.isEmpty) await appendFrame(fresh, frame.encode())
        if (!isDone && fresh.length - syncedLength < SYNC_BYTES) continue
        await fresh.handle.datasync()
        syncedLength = fresh.length
      }
      // 3.
      await this.#disk.rename(newName(path), path)
    } catch (error) {
      await fresh.handle.close()
      throw error
    }
    const former = this.#file
    this.#file = fresh
    await former?.handle.close()
  }

  async #discard(fresh: JournalFile): Promise<void> {
    await fresh.handle.close()
    await this.#disk.rm(newName(this.#options.path), { force: true })
  }

  /** The file is in an unknown state: it is written anew later. */
  async #abandonFile(error: unknown): Promise<void> {
    const { log, path } = this.#options
    log.error({ error, path, retryMs: RETRY_MS }, "the pool's journal cannot be written: it is tried again")
    this.#leaveToRewrite()
    const file = this.#file
    this.#file = undefined
    if (file !== undefined) await this.#closeFile(file)
  }

  async #closeFile(file: JournalFile): Promise<void> {
    try {
      await file.handle.close()
    } catch (error) {
      this.#options.log.error({ error }, "the pool's journal could not be closed")
    }
  }

  /** A file that cannot be opened is not replaced: what is in it would be lost. */
  #turnOff(error: unknown): void {
    const { log, path } = this.#options
    log.error(
      { error, path },
      "the pool's journal cannot be opened: transactions are not journaled until the next start",
    )
    if (this.#state !== 'closing') this.#state = 'off'
    this.#waiting = []
    this.#live.clear()
    this.#liveBytes = 0
  }
}

function newName(path: string): string {
  return `${path}.new`
}
