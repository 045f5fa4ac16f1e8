import { setTimeout as sleep } from 'node:timers/promises'
import { workerData } from 'node:worker_threads'
import type { LogConfig } from '../../../config/config.ts'
import type { SnapshotChain } from '../../../snapshot/makeSnapshot.ts'
import { createSnapshotMaker, type SnapshotObserver } from '../../../snapshot/snapshotMaker.ts'
import { Database, DatabaseError } from '../../../storage/database.ts'
import { createLogger } from '../../../telemetry/logger.ts'
import { createSnapshotMetrics } from '../../../telemetry/metrics.ts'
import { createThreadMetrics } from '../../../telemetry/threadMetrics.ts'
import { endThread, lowerPriority, type ThreadData } from '../../start/spawn.ts'
import { serve } from '../../wire/port.ts'
import {
  type Gate,
  getPublishedHeight,
  type PublishedHeight,
  untilPublished,
  waitAtGate,
} from '../../wire/sharedMemory.ts'

/**
 * The snapshots thread makes snapshots of the state, in the background: it has the lowest priority, and rests as long as it works. A
 * snapshot that fails is logged and counted, and nothing else follows from it; damage of the database ends the node, as everywhere.
 */
export interface SnapshotsData {
  /** directory of the database */
  readonly location: string
  /** opens when the executor has opened the database */
  readonly databaseGate: Gate
  readonly chain: SnapshotChain
  /** directory of the snapshots */
  readonly shelf: string
  /** SNAPSHOT_INTERVAL, more than 0 */
  readonly interval: number
  /** SNAPSHOT_KEEP */
  readonly keep: number
  readonly publishedHeight: PublishedHeight
  readonly log: LogConfig
}

export type SnapshotsService = typeof service

/** The thread rests after work of this time, for as long as it took. */
const WORK_MS = 20
/** Of a sort: two of them run at the same time. */
const SORT_BYTES = 32 << 20

const { control, data } = workerData as ThreadData<SnapshotsData>
lowerPriority('background')
const threadMetrics = createThreadMetrics('snapshots')
const metrics = createSnapshotMetrics(threadMetrics.registry)
const log = createLogger(data.log, { thread: 'snapshots' }).child({ part: 'snapshots' })
await waitAtGate(data.databaseGate)
const database = await Database.open(data.location, { readOnly: true, onDamage: endThread })

let workingSinceMs = performance.now()

async function rest(signal: AbortSignal): Promise<void> {
  const workedMs = performance.now() - workingSinceMs
  if (workedMs < WORK_MS) return
  // An aborted rest just ends: the code that aborted it decides what follows.
  await sleep(workedMs, undefined, { signal }).catch(() => undefined)
  workingSinceMs = performance.now()
}

let begunMs = 0
const observer: SnapshotObserver = {
  began: (height) => {
    begunMs = performance.now()
    workingSinceMs = begunMs
    log.debug({ height }, 'making a snapshot')
  },
  made: (height, { chunks, bytes }) => {
    const seconds = (performance.now() - begunMs) / 1000
    metrics.height.set(height)
    metrics.seconds.set(seconds)
    metrics.bytes.set(bytes)
    log.info({ height, chunks, bytes, seconds: Math.round(seconds * 10) / 10 }, 'made a snapshot')
  },
  failed: (height, error) => {
    metrics.failuresTotal.inc()
    if (error instanceof DatabaseError && error.code === 'corrupt') endThread(error, () => database.close())
    else log.error({ height, error }, 'a snapshot could not be made')
  },
}

const { chain, shelf, interval, keep } = data
const maker = createSnapshotMaker({
  chain,
  shelf,
  interval,
  keep,
  nowMs: () => Date.now(),
  sortBytes: SORT_BYTES,
  openSnapshot: () => database.snapshot(),
  rest,
  observer,
})
metrics.height.set(maker.newest)

let isClosing = false

async function followHeads(): Promise<void> {
  while (!isClosing) {
    const height = getPublishedHeight(data.publishedHeight)
    maker.onHead(height)
    await untilPublished(data.publishedHeight, height)
  }
}

if (chain.validatorRanksHeight > 0) {
  void followHeads()
} else {
  log.warn('this chain has no snapshots: its genesis has no consensus.params.validator_ranks')
}

const service = {
  metrics: () => threadMetrics.snapshot(),
  close: async () => {
    isClosing = true
    await maker.close()
    await database.close()
    log.flush()
  },
}

serve(control, service)
