import { encodeBlock } from '../chain/consensus/block.ts'
import { writeValidators } from '../chain/validatorRecords.ts'
import { writeBlock, writeHead } from '../chain/writeBlock.ts'
import type { DecidedBlock } from '../consensus/application.ts'
import type { StateReader } from '../state/reader.ts'
import { WriteBatch } from '../storage/batch.ts'
import type { BufferedDatabase } from '../storage/bufferedDatabase.ts'
import { type CatchUpWriterOptions, createCatchUpWriter } from './catchUpWriter.ts'
import type { ChainHead } from './chainHead.ts'
import type { ExecutedBlock } from './executedBlock.ts'
import type { HeadEvent } from './headEvent.ts'
import { advanceValidators } from './nextValidators.ts'
import { poolUpdate } from './poolUpdate.ts'

export interface PublisherOptions {
  readonly database: Pick<BufferedDatabase, 'get' | 'write'> & CatchUpWriterOptions['database']
  readonly reader: Pick<StateReader, 'getCode'>
  /** the chain's present head; `head` of the returned object follows it */
  readonly head: ChainHead
  /** Called when blocks are in the database: tells the other threads. */
  readonly onPublished: (headEvent: HeadEvent) => void
  /** A block's batch was written (or put off): how long it took and its size. */
  readonly onWritten: (milliseconds: number, bytes: number) => void
  /** milliseconds, monotonic */
  readonly now: () => number
  /** Runs work after so many milliseconds. */
  readonly later: (milliseconds: number, work: () => void) => void
}

export interface Publisher {
  /** the newest block, whether others see it already or not */
  readonly head: () => ChainHead
  /** height of the newest block that is on stable storage and that others see */
  readonly durableHeight: () => number
  /**
   * Stores and publishes a block. It is on stable storage then, unless others are said to follow at once: those are written and
   * published together.
   */
  readonly publish: (decided: DecidedBlock, executed: ExecutedBlock) => Promise<void>
  /** Writes and publishes what is put off. */
  readonly settle: () => Promise<void>
}

/**
 * Puts decided blocks into the database: state, block, receipts, indexes, validators and head in one synced batch, and only then does
 * anybody see the block. Every batch is synced, because LevelDB gives up a full log file without syncing it: a sync of a
 * later batch would not reach the ones before, and power loss could take blocks from the middle.
 */
export function createPublisher(options: PublisherOptions): Publisher {
  const { database } = options
  let { head } = options
  let durableHeight = head.header.number

  const announce = (headEvent: HeadEvent): void => {
    durableHeight = headEvent.head.header.number
    options.onPublished(headEvent)
  }
  const writer = createCatchUpWriter({ database, onWritten: announce, now: options.now, later: options.later })

  return {
    head: () => head,
    durableHeight: () => durableHeight,
    settle: writer.settle,
    publish: async (decided, executed) => {
      const isPutOff = decided.catchingUp === true
      if (isPutOff) writer.begin()
      else await writer.settle()
      const validators = advanceValidators(head.validators, executed.validatorUpdates)
      const batch = new WriteBatch()
      executed.state.write(batch)
      writeBlock(batch, {
        header: executed.header,
        hash: executed.hash,
        consensus: { block: encodeBlock(decided.block), hash: decided.blockId.hash },
        entries: executed.results,
        events: executed.events,
      })
      const height = executed.header.number
      const isChanged = executed.validatorUpdates.length > 0
      writeValidators(batch, database, { height: height + 2, set: validators.afterNext, isChanged })
      const record = { height, decided, resultsHash: executed.resultsHash }
      writeHead(batch, record)

      const beginMs = options.now()
      await database.write(batch, { sync: true })
      options.onWritten(options.now() - beginMs, batch.bytes)
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
      if (isPutOff) await writer.putOff(headEvent)
      else announce(headEvent)
    },
  }
}
