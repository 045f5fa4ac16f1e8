import { setTimeout as sleep } from 'node:timers/promises'
import { workerData } from 'node:worker_threads'
import { scrubTables, tableBytes } from '../storage/verifyFiles.ts'
import { createScrubberMetrics } from '../telemetry/metrics.ts'
import { createThreadMetrics } from '../telemetry/threadMetrics.ts'
import { serve } from './port.ts'
import { type Gate, waitAtGate } from './sharedMemory.ts'
import { lowerPriority, type ThreadData } from './spawn.ts'

/**
 * The scrubber thread reads every table of the database again and again, slowly, and checks LevelDB's checksums: damage in what nobody
 * reads is found while other nodes and backups are still good. It only reads files, and damage ends the node. Of what the operating
 * system holds in memory it sees that copy, which is the one that LevelDB reads.
 */
export interface ScrubberData {
  /** directory of the database */
  readonly location: string
  /** opens when the executor has opened the database */
  readonly databaseGate: Gate
}

export type ScrubberService = typeof service

/** How often a pass begins, unless the tables are too large for it. */
const PASS_MS = 24 * 3_600_000
/** A pass is as slow as it can be, between these bounds: a small database is done within minutes, a large one leaves the disk to others. */
const MIN_BYTES_PER_SECOND = 1 << 20
const MAX_BYTES_PER_SECOND = 16 << 20

const { control, data } = workerData as ThreadData<ScrubberData>
const threadMetrics = createThreadMetrics('scrubber')
const metrics = createScrubberMetrics(threadMetrics.registry)

async function scrubForEver(): Promise<never> {
  for (;;) {
    const endMs = performance.now() + PASS_MS
    const wanted = tableBytes(data.location) / (PASS_MS / 1000)
    const bytesPerSecond = Math.min(Math.max(wanted, MIN_BYTES_PER_SECOND), MAX_BYTES_PER_SECOND)
    for (const bytes of scrubTables(data.location)) {
      metrics.bytesTotal.inc(bytes)
      await sleep((bytes / bytesPerSecond) * 1000)
    }
    metrics.lastPass.set(Date.now() / 1000)
    await sleep(Math.max(0, endMs - performance.now()))
  }
}

const service = { metrics: () => threadMetrics.snapshot() }

lowerPriority('background')
await waitAtGate(data.databaseGate)
serve(control, service)
// An error ends the thread, and with it the node.
void scrubForEver()
