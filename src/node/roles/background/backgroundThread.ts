import { setTimeout as sleep } from 'node:timers/promises'
import { workerData } from 'node:worker_threads'
import type { HeaderRules } from '../../../chain/retention/headerRetention.ts'
import type { MoveRules } from '../../../chain/segments/moveBlocks.ts'
import type { OlderBlocksStart } from '../../../chain/store/olderBlocks.ts'
import type { LogConfig } from '../../../config/config.ts'
import { Database, DatabaseError, type DatabaseReader } from '../../../storage/database.ts'
import { hasSegmentFile, segmentFiles, verifySegmentFile } from '../../../storage/segmentFile.ts'
import { scrubTables, tableBytes } from '../../../storage/verifyFiles.ts'
import { createLogger } from '../../../telemetry/logger.ts'
import { createBackgroundMetrics } from '../../../telemetry/metrics.ts'
import { createThreadMetrics } from '../../../telemetry/threadMetrics.ts'
import { collectWhenIdle } from '../../start/idleCollection.ts'
import { endThread, lowerPriority, type ThreadData } from '../../start/spawn.ts'
import {
  type PackedOlderBlocks,
  type PackedVerifiedBlocks,
  packVerifiedBlocks,
  unpackOlderBlocks,
} from '../../wire/packedOlderBlocks.ts'
import { serve } from '../../wire/port.ts'
import { type Gate, getPublishedHeight, type PublishedHeight, waitAtGate } from '../../wire/sharedMemory.ts'

/**
 * The background thread does the work on the database that can wait forever, at the lowest priority:
 *
 * It reads every table and segment again and again, slowly, and checks their checksums. So it finds damage in data that no one
 * reads, while other nodes and backups are still good. For that it only reads files, and damage ends the node. Where the
 * operating system holds a file in memory, the thread sees that copy, which is also the one that LevelDB reads.
 *
 * It makes the files of segments and of their hashes, for the executor to list (src/chain/segments/moveBlocks.ts, makeHashFiles.ts). And
 * it verifies old blocks that peers gave (src/chain/store/olderBlocks.ts).
 */
export interface BackgroundData {
  /** directory of the database */
  readonly location: string
  /** opens when the executor has opened the database */
  readonly databaseGate: Gate
  readonly publishedHeight: PublishedHeight
  readonly moveRules: Omit<MoveRules, 'expectsOlder'>
  readonly headers: HeaderRules
  /** see `firstSegmentDue` */
  readonly firstSegmentDue: number
  readonly log: LogConfig
}

export type BackgroundService = typeof service

/** How often a pass begins, unless the tables are too large for it. */
const PASS_MS = 24 * 3_600_000
/** A pass is as slow as it can be, between these bounds: a small database is done within minutes, a large one leaves the disk to others. */
const MIN_BYTES_PER_SECOND = 1 << 20
const MAX_BYTES_PER_SECOND = 16 << 20

const { control, data } = workerData as ThreadData<BackgroundData>
const threadMetrics = createThreadMetrics('background')
const metrics = createBackgroundMetrics(threadMetrics.registry)

async function scrubPermanently(): Promise<never> {
  for (;;) {
    const endMs = performance.now() + PASS_MS
    const wanted = tableBytes(data.location) / (PASS_MS / 1000)
    const bytesPerSecond = Math.min(Math.max(wanted, MIN_BYTES_PER_SECOND), MAX_BYTES_PER_SECOND)
    for (const bytes of scrubFiles()) {
      metrics.bytesTotal.inc(bytes)
      await sleep((bytes / bytesPerSecond) * 1000)
    }
    metrics.lastPass.set(Date.now() / 1000)
    await sleep(Math.max(0, endMs - performance.now()))
  }
}

function* scrubFiles(): Generator<number, void, void> {
  yield* scrubTables(data.location)
  for (const path of segmentFiles(data.location)) {
    try {
      yield* verifySegmentFile(path)
    } catch (error) {
      // The executor removes files of blocks that are no longer retained.
      if (hasSegmentFile(path)) throw error
    }
  }
}

/** How often the thread checks whether a segment can be made, and how long after one could not be made. */
const CHECK_MS = 5_000
const RETRY_MS = 3_600_000

/**
 * Returns a pause that lasts as long as the work on a segment was busy, so that it takes at most
 * half of a processor.
 */
function createPause(): () => Promise<void> {
  let sinceMs = performance.now()
  return async () => {
    stopping.signal.throwIfAborted()
    await sleep(performance.now() - sinceMs)
    sinceMs = performance.now()
  }
}

async function makeSegments(): Promise<void> {
  // Before there is anything to do, neither modules nor the database take memory.
  while (getPublishedHeight(data.publishedHeight) < data.firstSegmentDue) await untilNextCheck(CHECK_MS)
  const { makeNextSegment } = await import('../../../chain/segments/moveBlocks.ts')
  const { makeNextHashFile } = await import('../../../chain/indexes/makeHashFiles.ts')
  const { makeNextBareSegment } = await import('../../../chain/segments/bareSegments.ts')
  const { needsOlderBlocks } = await import('../../../chain/retention/completeBlocks.ts')
  const rules: MoveRules = { ...data.moveRules, expectsOlder: (db) => needsOlderBlocks(db, data.headers) }
  const database = await Database.open(data.location, { readOnly: true, onDamage: endThread })
  try {
    for (;;) {
      try {
        const hasMade =
          (await makeNextSegment(database, rules, createPause())) ||
          (await withSnapshot(database, (view) => makeNextHashFile(view, createPause()))) ||
          (await makeNextBareSegment(database, createPause()))
        if (!hasMade) await untilNextCheck(CHECK_MS)
      } catch (error) {
        stopping.signal.throwIfAborted()
        if (error instanceof DatabaseError && error.code === 'corrupt') throw error
        log.error({ error }, 'a segment could not be made: its blocks stay where they are')
        await untilNextCheck(RETRY_MS)
      }
    }
  } finally {
    await database.close()
  }
}

/** Runs work on a snapshot: its lists do not change meanwhile, and a removed file can be recognized as dropped. */
async function withSnapshot<T>(database: Database, work: (view: DatabaseReader) => Promise<T>): Promise<T> {
  const view = database.snapshot()
  try {
    return await work(view)
  } finally {
    await view.close()
  }
}

function untilNextCheck(milliseconds: number): Promise<void> {
  return sleep(milliseconds, undefined, { signal: stopping.signal })
}

const stopping = new AbortController()
const log = createLogger(data.log, { thread: 'background' })
/** Rejects when no more segments are made: with the reason of the stop, or with an error, which ends the thread. */
let segments: Promise<void> = Promise.resolve()

const service = {
  /** Returns the blocks that are valid, or the fault; see `verifyOlderBlocks`. */
  verifyOlderBlocks: async (
    packed: PackedOlderBlocks,
    start: OlderBlocksStart,
  ): Promise<string | PackedVerifiedBlocks> => {
    const { verifyOlderBlocks } = await import('../../../chain/store/olderBlocks.ts')
    const verified = verifyOlderBlocks(unpackOlderBlocks(packed), start)
    return typeof verified === 'string' ? verified : packVerifiedBlocks(verified)
  },
  metrics: () => threadMetrics.snapshot(),
  close: async () => {
    stopping.abort()
    // It has ended with the reason of the stop.
    await segments.catch(() => undefined)
  },
}

lowerPriority('background')
await waitAtGate(data.databaseGate)
serve(control, service)
collectWhenIdle()
// An error ends the thread, and with it the node.
void scrubPermanently()
segments = makeSegments()
segments.catch((error) => {
  if (!stopping.signal.aborted) throw error
})
