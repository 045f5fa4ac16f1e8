import { flushCompileCache } from 'node:module'
import { type MessagePort, workerData } from 'node:worker_threads'
import { moduleHooks } from '../app/blockHooks.ts'
import { ExecutionTimeout } from '../evm/engine.ts'
import type { EngineChoice } from '../evm/engines/createEngine.ts'
import { upgradeRules } from '../modules/upgrade/beginUpgrade.ts'
import { precompileTable } from '../precompiles/registry.ts'
import { recoverNatively } from '../primitives/secp256k1.ts'
import { checkKnownAnswers, PRIMITIVE_ANSWERS } from '../primitives/selfTest.ts'
import { COMET_VIEW_TABLE } from '../rpc/comet/results.ts'
import { RPC_CODES, RpcError } from '../rpc/errors.ts'
import type { MethodTable, RpcContext } from '../rpc/method.ts'
import { METHODS } from '../rpc/methods.ts'
import { answerNativeCall, TOO_BUSY } from '../rpc/native/nativeCall.ts'
import { QUERIES } from '../rpc/native/queries.ts'
import type { NativeAnswer, NativeCall, NodeDescription } from '../rpc/native/query.ts'
import { serveViewCall, type ViewQueue } from '../rpc/runMethod.ts'
import { Database } from '../storage/database.ts'
import { checkPackedCommits, type PackedCommitChecks } from '../sync/commitChecks.ts'
import { createLogger } from '../telemetry/logger.ts'
import { createViewMetrics } from '../telemetry/metrics.ts'
import { createThreadMetrics } from '../telemetry/threadMetrics.ts'
import type { PackedBytes } from './packedBytes.ts'
import { serve } from './port.ts'
import { closePool, connectPool, createContextSource, type RpcThreadData } from './rpcContext.ts'
import { waitAtGate } from './sharedMemory.ts'
import type { ThreadData } from './spawn.ts'
import { openThreadEngine } from './threadEngine.ts'
import { followHeads } from './viewFeed.ts'
import { recoverPackedSenders } from './viewPool.ts'

/** Heavy calls that run at the same time, in turns; more of them would only make each one slower. */
const RUNNING_HEAVY = 8
/** Heavy calls that may wait; further ones are refused. */
const WAITING_HEAVY = 2_000

/**
 * A view thread reads the database of the newest block and runs code on it without changing anything: calls, estimates, traces, log
 * scans and native queries for the socket threads; recovery of senders and checks of commits for network and block sync.
 */
export interface ViewData extends RpcThreadData {
  /** ports of the socket threads */
  readonly clients: readonly MessagePort[]
  readonly engine: EngineChoice
  readonly node: NodeDescription
  /** as the executor has them: traces run blocks again */
  readonly skipUpgrades: readonly number[]
}

export type ViewService = typeof service

/** Methods that clients call, and those of CometBFT's methods that socket threads have run here. */
const VIEW_METHODS: MethodTable = new Map([...METHODS, ...COMET_VIEW_TABLE])

const { control, data } = workerData as ThreadData<ViewData>
checkKnownAnswers(PRIMITIVE_ANSWERS)
const threadMetrics = createThreadMetrics('view')
const metrics = createViewMetrics(threadMetrics.registry)
const log = createLogger(data.log, { thread: 'view' }).child({ part: 'rpc' })
const engine = await openThreadEngine(data.engine)
waitAtGate(data.databaseGate)
const database = await Database.open(data.location, { readOnly: true })
const feed = followHeads(database, data.headChannel, data.publishedHeight)
const contexts = createContextSource({
  data,
  feed,
  pool: connectPool(data.pool),
  execution: {
    engine,
    precompiles: precompileTable(data.chain.registeredPrecompiles),
    hooks: moduleHooks(upgradeRules(data.skipUpgrades)),
    yieldUntil: (deadlineMs) => async () => {
      if (performance.now() >= deadlineMs) {
        metrics.deadlinesMissedTotal.inc({ queue: 'heavy' })
        throw new ExecutionTimeout('execution timeout')
      }
      await new Promise((resolve) => setImmediate(resolve))
    },
  },
})
if (recoverNatively === undefined) {
  log.warn('no native secp256k1 for this platform: recovering senders takes about 25 times as long')
}
const heavy = createTaskQueue(RUNNING_HEAVY)

const run = async <T>(queue: ViewQueue, task: (context: RpcContext) => Promise<T>): Promise<T> => {
  const startMs = performance.now()
  const { context, release } = contexts.lease()
  try {
    return await task(context)
  } finally {
    release()
    metrics.taskSeconds.observe({ queue }, (performance.now() - startMs) / 1000)
  }
}

const runInQueue = <T>(queue: ViewQueue, task: (context: RpcContext) => Promise<T>): Promise<T> => {
  if (queue === 'cheap') return run(queue, task)
  metrics.waitingTasks.set({ queue }, heavy.waiting)
  return heavy.run(() => run(queue, task))
}

const isFull = (queue: ViewQueue): boolean => queue === 'heavy' && heavy.waiting >= WAITING_HEAVY

/** Runs at most `limit` tasks at a time, the others in order of arrival. */
function createTaskQueue(limit: number) {
  const queue: (() => void)[] = []
  let free = limit
  const acquire = (): Promise<void> | undefined => {
    if (free === 0) return new Promise((resolve) => queue.push(resolve))
    free--
    return undefined
  }
  /** Hands the slot straight to the task that has waited longest: a new one cannot take it in between. */
  const release = (): void => {
    const next = queue.shift()
    if (next === undefined) free++
    else next()
  }
  return {
    get waiting() {
      return queue.length
    },
    run: async <T>(task: () => Promise<T>): Promise<T> => {
      await acquire()
      try {
        return await task()
      } finally {
        release()
      }
    },
  }
}

const service = {
  call: (queue: ViewQueue, method: string, params: readonly unknown[]): Promise<string> => {
    if (isFull(queue)) throw new RpcError(RPC_CODES.limitExceeded, TOO_BUSY.message)
    return runInQueue(queue, (context) => serveViewCall(VIEW_METHODS, context, { method, params }, log))
  },
  query: async (queue: ViewQueue, call: NativeCall): Promise<NativeAnswer> =>
    isFull(queue)
      ? TOO_BUSY
      : runInQueue(queue, (context) => answerNativeCall({ queries: QUERIES, node: data.node, log }, context, call)),
  /** see `createSenderRecovery` */
  recoverSenders: (packed: PackedBytes): Uint8Array => recoverPackedSenders(packed, data.chain),
  checkCommits: (packed: PackedCommitChecks) => checkPackedCommits(packed),
  metrics: () => threadMetrics.snapshot(),
  close: async () => {
    closePool(data.pool)
    for (const client of data.clients) client.close()
    await feed.close()
    await database.close()
    log.flush()
  },
}

serve(control, service)
for (const client of data.clients) serve(client, service)

// Now, because a killed process cannot write its compile cache at the end.
flushCompileCache()
