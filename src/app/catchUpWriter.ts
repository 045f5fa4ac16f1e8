import type { BufferedDatabase } from '../storage/bufferedDatabase.ts'
import { type HeadEvent, mergeHeadEvents } from './headEvent.ts'

/** What may be put off: the memory it takes, and how long others wait for a newer head. */
const MOST_BUFFERED_BYTES = 8 << 20
const LONGEST_BUFFERED_MS = 250
/** Without a further block for so long, what is put off is written. */
const IDLE_MS = 100

export interface CatchUpWriterOptions {
  readonly database: Pick<BufferedDatabase, 'bufferedBytes' | 'startBuffering' | 'stopBuffering' | 'startFlush'>
  /** Called when the blocks of an headEvent are on stable storage. */
  readonly onWritten: (headEvent: HeadEvent) => void
  /** milliseconds, monotonic */
  readonly now: () => number
  /** Runs work after so many milliseconds. */
  readonly later: (milliseconds: number, work: () => void) => void
}

/**
 * While blocks follow one another faster than a disk syncs, they are written together: in parts of some megabytes or a quarter of
 * a second, one of which is on its way to the disk while the next one fills.
 */
export interface CatchUpWriter {
  /** From here on, writes to the database are put off. */
  begin(): void
  /** A block's batch was put off. Waits only when the disk is behind by a whole part. */
  putOff(headEvent: HeadEvent): Promise<void>
  /** Writes what is put off; from here on, writes are not. */
  settle(): Promise<void>
}

export function createCatchUpWriter({ database, onWritten, now, later }: CatchUpWriterOptions): CatchUpWriter {
  let isActive = false
  let waiting: HeadEvent[] = []
  let sinceMs = 0
  let putOffs = 0
  let isWatched = false

  /** Resolves when the disk has begun, and with its end. A failure of the disk is told to whoever asks next. */
  const startFlush = async (): Promise<{ readonly done: Promise<void> }> => {
    const { done } = await database.startFlush()
    const written = waiting
    waiting = []
    const announced = done.then(() => {
      if (written.length > 0) onWritten(mergeHeadEvents(written))
    })
    announced.catch(() => undefined)
    return { done: announced }
  }

  /** One check at a time: the rate of blocks must not be that of timers. */
  const watchForSilence = (): void => {
    if (isWatched) return
    isWatched = true
    const seen = putOffs
    later(IDLE_MS, () => {
      isWatched = false
      if (waiting.length === 0) return
      if (putOffs !== seen) watchForSilence()
      else startFlush().catch(() => undefined)
    })
  }

  return {
    begin: () => {
      isActive = true
      database.startBuffering()
    },
    putOff: async (headEvent) => {
      if (waiting.length === 0) sinceMs = now()
      waiting.push(headEvent)
      putOffs++
      const isFull = database.bufferedBytes >= MOST_BUFFERED_BYTES || now() - sinceMs >= LONGEST_BUFFERED_MS
      if (isFull) await startFlush()
      else watchForSilence()
    },
    settle: async () => {
      if (!isActive) return
      await (await startFlush()).done
      await database.stopBuffering()
      isActive = false
    },
  }
}
