import { flushCompileCache } from 'node:module'
import { type MessagePort, workerData } from 'node:worker_threads'
import type { ChainConfig } from '../../../chain/genesis/chainConfig.ts'
import type { HeaderRules } from '../../../chain/retention/headerRetention.ts'
import type { Config } from '../../../config/config.ts'
import type { EngineChoice } from '../../../evm/engines/createEngine.ts'
import { openExecutor } from '../../../execution/executor.ts'
import type { GenesisState } from '../../../execution/genesisBlock.ts'
import type { HeadEvent } from '../../../execution/headEvent.ts'
import { packHeadUpdate } from '../../../mempool/packedMessages.ts'
import { upgradeRules } from '../../../modules/upgrade/beginUpgrade.ts'
import { precompileTable } from '../../../precompiles/registry.ts'
import { bytesToHex } from '../../../primitives/bytes.ts'
import { checkKnownAnswers, PRIMITIVE_ANSWERS } from '../../../primitives/selfTest.ts'
import { createLogger } from '../../../telemetry/logger.ts'
import { createExecutorMetrics } from '../../../telemetry/metrics.ts'
import { epochMs, openTracer, type TracingChannel } from '../../../telemetry/spans.ts'
import { createThreadMetrics } from '../../../telemetry/threadMetrics.ts'
import { collectWhenIdle } from '../../start/idleCollection.ts'
import { randomSeed } from '../../start/randomSeed.ts'
import { endThread, type ThreadData } from '../../start/spawn.ts'
import { checkPrecompiles, openThreadEngine } from '../../start/threadEngine.ts'
import { type PackedVerifiedBlocks, unpackVerifiedBlocks } from '../../wire/packedOlderBlocks.ts'
import { connect, notify, serve } from '../../wire/port.ts'
import { isPoolEmpty, type PoolFilling, type PublishedHeight, raisePublishedHeight } from '../../wire/sharedMemory.ts'
import { traceApplication } from '../main/tracedApplication.ts'
import type { PoolService } from '../pool/poolThread.ts'
import { createCandidateSource } from './candidateSource.ts'
import { applicationService } from './executorRequests.ts'
import { connectSpeculators, type SpeculatorLinks } from './speculators.ts'

/** How long a node whose version cannot execute the next block stays up: its peers may still lack the newest block. */
const UPGRADE_HALT_MS = 5_000

/**
 * After a write that failed, the next request of consensus is answered with the error, and the node stops. Where no request
 * comes in this time, the thread ends; work that it executes meanwhile must not hit a closed database.
 */
const WRITE_FAILURE_MS = 2_000

/**
 * The executor thread chooses transactions, executes and commits blocks. It alone writes the database; it serves the application of
 * consensus to the main thread and announces each new head to the others.
 */
export interface ExecutorData {
  readonly config: Pick<Config, 'pruning' | 'blockHistory' | 'index' | 'indexTraces' | 'skipUpgrades' | 'log'>
  readonly location: string
  readonly chain: ChainConfig
  /** until the database is open */
  genesis?: GenesisState
  readonly headers: HeaderRules
  readonly engine: EngineChoice
  /** executes each block too */
  readonly shadow: EngineChoice | undefined
  /** the threads that execute alongside this one; undefined: there are no such threads */
  readonly speculators: SpeculatorLinks | undefined
  readonly pool: MessagePort
  readonly poolFilling: PoolFilling
  readonly publishedHeight: PublishedHeight
  readonly tracing: TracingChannel | undefined
}

export type ExecutorService = typeof service

const { control, data } = workerData as ThreadData<ExecutorData>
checkKnownAnswers(PRIMITIVE_ANSWERS)
await checkPrecompiles(data.engine)
const threadMetrics = createThreadMetrics('executor')
const metrics = createExecutorMetrics(threadMetrics.registry)
const log = createLogger(data.config.log, { thread: 'executor' }).child({ part: 'app' })
const pool = connect<PoolService>(data.pool)
const tracer = openTracer(data.tracing)
/** of the newest batch, for its block's trace */
let written = { milliseconds: 0, bytes: 0 }

const parallel =
  data.speculators &&
  connectSpeculators(data.speculators, {
    observe: ({ adopted, conflicts, alone }) => {
      metrics.speculationsTotal.inc({ outcome: 'adopted' }, adopted)
      metrics.speculationsTotal.inc({ outcome: 'conflict' }, conflicts)
      metrics.speculationsTotal.inc({ outcome: 'alone' }, alone)
    },
    onEnd: () =>
      log.error(
        'a further execution thread (EXECUTION_THREADS) has ended: blocks are executed in one thread until the next start',
      ),
  })

let haltTimer: NodeJS.Timeout | undefined
let failureTimer: NodeJS.Timeout | undefined

const executor = await openExecutor({
  location: data.location,
  onDamage: endThread,
  chain: data.chain,
  genesis: () => data.genesis!,
  engine: await openThreadEngine(data.engine),
  hashSeed: randomSeed(),
  shadow: data.shadow === undefined ? undefined : await openThreadEngine(data.shadow),
  precompiles: precompileTable(data.chain.registeredPrecompiles),
  parallel,
  candidates: createCandidateSource({
    pool,
    isEmpty: () => isPoolEmpty(data.poolFilling),
    notify: (method, hashes) => notify<PoolService, typeof method>(data.pool, method, hashes),
    after: (milliseconds, work) => {
      const timer = setTimeout(work, milliseconds)
      return () => clearTimeout(timer)
    },
    onLate: (asked) => {
      metrics.lateAnswersTotal.inc({ asked })
      log.warn({ asked }, 'the pool did not answer in time: the block is built or checked without the answer')
    },
  }),
  pruning: data.config.pruning,
  blockHistory: data.config.blockHistory,
  headers: data.headers,
  index: data.config.index,
  indexTraces: data.config.indexTraces,
  upgrades: upgradeRules(data.config.skipUpgrades),
  now: () => performance.now(),
  // The answer to the main thread is sent at the end of this turn of the event loop: the work waits for the turn after.
  defer: (work) => setImmediate(() => setImmediate(work)),
  later: (milliseconds, work) => void setTimeout(work, milliseconds),
  writesBehind: true,
  onHead: ({ update }) => notify<PoolService, 'headChanged'>(data.pool, 'headChanged', packHeadUpdate(update)),
  onWriteFailed: (error) => {
    failureTimer ??= setTimeout(() => endThread(error, () => executor.close()), WRITE_FAILURE_MS)
  },
  onPublished: (headEvent) => {
    const height = headEvent.head.header.number
    notify<PoolService, 'headWritten'>(data.pool, 'headWritten')
    raisePublishedHeight(data.publishedHeight, height)
    record(headEvent)
    if (tracer !== undefined) traceWrite(height)
  },
  onUpgradeNeeded: (error) => {
    haltTimer ??= setTimeout(() => {
      throw error
    }, UPGRADE_HALT_MS)
  },
  observer: {
    executed: (milliseconds) => metrics.executionSeconds.observe(milliseconds / 1000),
    written: (milliseconds, bytes) => {
      written = { milliseconds, bytes }
      metrics.dbBatchSeconds.observe(milliseconds / 1000)
      metrics.dbBatchBytes.observe(bytes)
    },
    stopped: ({ place, height, transaction }) => {
      metrics.stoppedTotal.inc({ place })
      const hash = transaction === undefined ? {} : { transaction: bytesToHex(transaction) }
      log.warn({ place, height, ...hash }, 'execution was stopped because it took too long')
    },
    unforeseen: ({ place, height, transaction, error }) => {
      metrics.unforeseenTotal.inc({ place })
      const hash = transaction === undefined ? {} : { transaction: bytesToHex(transaction) }
      log.error({ place, height, ...hash, error }, 'unforeseen error in a block: report this line with its stack')
    },
  },
})

// A genesis may have a million accounts.
delete data.genesis

function traceWrite(height: number): void {
  const endMs = epochMs()
  const attributes = { 'coind.height': height, 'coind.batch_bytes': written.bytes }
  tracer?.block(height, 'block.write', { startMs: endMs - written.milliseconds, endMs, attributes })
}

function record({ head, update, gasUsed, evidenceCount }: HeadEvent): void {
  metrics.transactionsTotal.inc(update.included.length)
  metrics.gasUsedTotal.inc(Number(gasUsed))
  metrics.blockGasUsed.set(Number(head.header.gasUsed))
  metrics.baseFeeWei.set(Number(head.header.baseFeePerGas ?? 0n))
  metrics.evidenceTotal.inc(evidenceCount)
  metrics.historyOldestHeight.set(executor.oldestState())
}

const service = {
  ...applicationService(tracer === undefined ? executor.application : traceApplication(executor.application, tracer)),
  missingBlocks: () => executor.backfill.missing(),
  addOlderBlocks: (blocks: PackedVerifiedBlocks): void => executor.backfill.add(unpackVerifiedBlocks(blocks)),
  /** Answered while the thread serves. */
  ready: (): void => undefined,
  metrics: () => threadMetrics.snapshot(),
  close: async () => {
    clearTimeout(haltTimer)
    clearTimeout(failureTimer)
    data.pool.close()
    tracer?.close()
    parallel?.close()
    try {
      await executor.close()
    } finally {
      // Its last lines say why a write has failed.
      log.flush()
    }
  },
}

serve(control, service)

collectWhenIdle()
// Now, because a killed process cannot write its compile cache at the end.
flushCompileCache()
