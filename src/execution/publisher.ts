import { encodeBlock } from '../chain/comet/block.ts'
import { putCalls } from '../chain/indexes/callIndex.ts'
import { writeValidators } from '../chain/store/validatorRecords.ts'
import { headEntry, writeBlock } from '../chain/store/writeBlock.ts'
import type { DecidedBlock } from '../consensus/application.ts'
import type { StateReader } from '../state/reader.ts'
import { WriteBatch } from '../storage/batch.ts'
import type { BufferedDatabase } from '../storage/bufferedDatabase.ts'
import type { ChainHead } from './chainHead.ts'
import type { ExecutedBlock } from './executedBlock.ts'
import { type HeadEvent, mergeHeadEvents, poolUpdate } from './headEvent.ts'

interface PublisherOptions {
  readonly database: Pick<BufferedDatabase, 'get' | 'write' | 'writeBehind'> & DelayedWriterOptions['database']
  readonly reader: Pick<StateReader, 'getCode'>
  /**
   * Adds the changes to older data to the batch of block `height`, before the block's own entries.
   */
  readonly maintain: (batch: WriteBatch, height: number) => void
  /** the chain's head at the start */
  readonly head: ChainHead
  /** whether blocks are found by their logs and events */
  readonly isIndexed: boolean
  /** whether {@link Publisher.publish} does not wait for the write; false by default */
  readonly writesBehind?: boolean
  /** Called when blocks are the newest ones, which may not be in the database yet: for the mempool, whose candidates the next one takes. */
  readonly onHead?: (headEvent: HeadEvent) => void
  /** Called when blocks are in the database: notifies the other threads. */
  readonly onPublished: (headEvent: HeadEvent) => void
  /**
   * Called when a block's background write failed. From then on all calls of the publisher throw
   * the error.
   */
  readonly onWriteFailed?: (error: unknown) => void
  /** A block's batch was written (or buffered): how long it took and its size. */
  readonly onWritten: (milliseconds: number, bytes: number) => void
  /** milliseconds, monotonic */
  readonly now: () => number
  /** Runs work after this many milliseconds. */
  readonly later: (milliseconds: number, work: () => void) => void
}

interface Publisher {
  /** the newest block, also when other threads do not see it yet */
  readonly head: () => ChainHead
  /** height of the newest block that is on stable storage and that others see */
  readonly durableHeight: () => number
  /**
   * Makes a block the head, stores and announces it. When it resolves, the block is on stable storage, with two exceptions: with
   * `writesBehind` it may still be written, and is announced when that is done; in catch-up (`decided.catchingUp`) several blocks are
   * written and announced together.
   */
  readonly publish: (decided: DecidedBlock, executed: ExecutedBlock) => Promise<void>
  /** Writes and announces the blocks that were buffered in catch-up. */
  readonly flush: () => Promise<void>
  /** Resolves when every block is on stable storage and announced. */
  readonly written: () => Promise<void>
}

/**
 * Stores decided blocks and announces them. For each block, in this order:
 * 1. Choose how to write: in catch-up the batch is buffered with others; otherwise earlier buffered batches are written first, and the
 *    block before must be written: at most one is not.
 * 2. Collect state, block, receipts, indexes, validators and head in **one** batch: after a crash
 *    the database has the whole block or none of its entries. Changes to older data come first in
 *    the batch, so that the block's own entries win.
 * 3. Write the batch, synced. Every batch is synced, because LevelDB closes a full log file without
 *    syncing it: the sync of a later batch would not cover earlier ones, and a power failure could
 *    lose blocks in the middle. With `writesBehind` LevelDB's threads write while this thread
 *    continues: its reads find the batch in memory.
 * 4. Move the state store and the head forward, and have the mempool follow: the next block can be built or executed.
 * 5. Announce the block to the other threads, when it is written: they read it in the database. If
 *    the write fails, the node stops, and no part of a later block was written. A restart executes
 *    the block from the write-ahead log, which has its decision.
 */
export function createPublisher(options: PublisherOptions): Publisher {
  const { database, writesBehind = false } = options
  let { head } = options
  let lastWrite: Promise<void> = Promise.resolve()
  let hasFailed = false
  let durableHeight = head.header.number

  const announce = (headEvent: HeadEvent): void => {
    durableHeight = headEvent.head.header.number
    options.onPublished(headEvent)
  }
  const announceBuffered = (headEvent: HeadEvent): void => {
    options.onHead?.(headEvent)
    announce(headEvent)
  }
  const fail = (error: unknown): void => {
    hasFailed = true
    options.onWriteFailed?.(error)
  }
  const { now, later } = options
  const writer = createDelayedWriter({ database, onWritten: announceBuffered, onFailed: fail, now, later })

  return {
    head: () => head,
    durableHeight: () => durableHeight,
    flush: async () => {
      if (hasFailed) await lastWrite
      await writer.flush()
    },
    written: async () => {
      await writer.flush()
      await lastWrite
    },
    publish: async (decided, executed) => {
      // 1.
      const isBuffered = decided.catchingUp === true
      if (isBuffered) writer.begin()
      else await writer.flush()
      await lastWrite
      // 2.
      const batch = new WriteBatch()
      const { validators } = executed
      const height = executed.header.number
      options.maintain(batch, height)
      executed.state.write(batch)
      writeBlock(batch, {
        header: executed.header,
        hash: executed.hash,
        consensus: { block: decided.encoded?.block ?? encodeBlock(decided.block), hash: decided.blockId.hash },
        entries: executed.results,
        events: executed.events,
        isIndexed: options.isIndexed,
      })
      putCalls(batch, height, executed.calls)
      const isChanged = executed.validatorUpdates.length > 0
      writeValidators(batch, database, { height: height + 2, set: validators.afterNext, isChanged })
      const record = { height, decided, resultsHash: executed.resultsHash }

      // 3.
      const beginMs = options.now()
      const late = headEntry(record)
      const isBehind = writesBehind && !isBuffered
      let written: Promise<void> | undefined
      if (isBehind) written = (await database.writeBehind(batch, { late })).done
      else await database.write(batch, { sync: true, late })
      const measure = (): void => options.onWritten(options.now() - beginMs, batch.bytes)
      // 4.
      executed.state.publish()
      head = {
        header: executed.header,
        hash: executed.hash,
        consensusHash: decided.blockId.hash,
        timeMs: decided.block.header.timeMs,
        record,
        validators,
      }
      const headEvent: HeadEvent = {
        head,
        update: poolUpdate(executed, options.reader),
        gasUsed: executed.header.gasUsed,
        evidenceCount: decided.block.evidence.length,
      }
      if (!isBuffered) options.onHead?.(headEvent)
      // 5.
      if (written !== undefined) {
        lastWrite = written.then(() => {
          measure()
          announce(headEvent)
        })
        lastWrite.catch(fail)
        return
      }
      measure()
      if (isBuffered) await writer.buffer(headEvent)
      else announce(headEvent)
    },
  }
}

/** Limits of the buffer: its memory, and how long other threads wait for a newer head. */
const MOST_BUFFERED_BYTES = 8 << 20
const LONGEST_BUFFERED_MS = 250
/** When no block has come for this time, buffered blocks are written. */
const IDLE_MS = 100

interface DelayedWriterOptions {
  readonly database: Pick<BufferedDatabase, 'bufferedBytes' | 'startBuffering' | 'stopBuffering' | 'startFlush'>
  /** Called when the blocks of an event are on stable storage. */
  readonly onWritten: (headEvent: HeadEvent) => void
  /**
   * Called when a group could not be written. Calls of the database throw the error too, but there
   * may be no such call.
   */
  readonly onFailed: (error: unknown) => void
  /** milliseconds, monotonic */
  readonly now: () => number
  /** Runs work after this many milliseconds. */
  readonly later: (milliseconds: number, work: () => void) => void
}

/**
 * In catch-up, blocks come faster than a disk syncs. They are written in groups of some megabytes or a quarter of a second; the next
 * group is collected while the last one is being written.
 */
export interface DelayedWriter {
  /** From now on, writes to the database are buffered. */
  begin(): void
  /** Reports that a block's batch was buffered. Waits only when the disk is a whole group late. */
  buffer(headEvent: HeadEvent): Promise<void>
  /** Writes the buffered batches; from now on, writes are not buffered. */
  flush(): Promise<void>
}

export function createDelayedWriter({
  database,
  onWritten,
  onFailed,
  now,
  later,
}: DelayedWriterOptions): DelayedWriter {
  let isActive = false
  let waiting: HeadEvent[] = []
  let sinceMs = 0
  let buffered = 0
  let isWatched = false

  /** Resolves when the write has begun; `done` resolves with its end. */
  const startFlush = async (): Promise<{ readonly done: Promise<void> }> => {
    const { done } = await database.startFlush()
    const written = waiting
    waiting = []
    const announced = done.then(() => {
      if (written.length > 0) onWritten(mergeHeadEvents(written))
    })
    announced.catch(onFailed)
    return { done: announced }
  }

  /** Sets a timer, unless one is running: not one for each block. */
  const flushWhenIdle = (): void => {
    if (isWatched) return
    isWatched = true
    const seen = buffered
    later(IDLE_MS, () => {
      isWatched = false
      if (waiting.length === 0) return
      if (buffered !== seen) flushWhenIdle()
      else startFlush().catch(onFailed)
    })
  }

  return {
    begin: () => {
      isActive = true
      database.startBuffering()
    },
    buffer: async (headEvent) => {
      if (waiting.length === 0) sinceMs = now()
      waiting.push(headEvent)
      buffered++
      const isFull = database.bufferedBytes >= MOST_BUFFERED_BYTES || now() - sinceMs >= LONGEST_BUFFERED_MS
      if (isFull) await startFlush()
      else flushWhenIdle()
    },
    flush: async () => {
      if (!isActive) return
      await (await startFlush()).done
      await database.stopBuffering()
      isActive = false
    },
  }
}
