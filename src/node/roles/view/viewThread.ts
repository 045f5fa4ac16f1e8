import { flushCompileCache } from 'node:module'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type MessagePort, workerData } from 'node:worker_threads'
import type { HeavyCallLimits } from '../../../config/config.ts'
import type { EngineChoice } from '../../../evm/engines/createEngine.ts'
import { moduleHooks } from '../../../execution/blockHooks.ts'
import { type SigningState, signingStateOf } from '../../../modules/slashing/signingState.ts'
import { createTransactionDecoder } from '../../../modules/tx/transactionDecoder.ts'
import { upgradeRules } from '../../../modules/upgrade/beginUpgrade.ts'
import { precompileTable } from '../../../precompiles/registry.ts'
import { recoverNatively } from '../../../primitives/secp256k1.ts'
import { checkKnownAnswers, PRIMITIVE_ANSWERS } from '../../../primitives/selfTest.ts'
import { COMET_VIEW_TABLE } from '../../../rpc/comet/results.ts'
import { answerNativeCall, CANCELLED, EXPIRED, TOO_BUSY } from '../../../rpc/cosmos/nativeCall.ts'
import { QUERIES } from '../../../rpc/cosmos/queries.ts'
import type { NativeAnswer, NativeCall } from '../../../rpc/cosmos/queryPort.ts'
import { createLogCache } from '../../../rpc/eth/logCache.ts'
import { openViewWorld } from '../../../rpc/eth/viewWorld.ts'
import {
  type CallScope,
  callCancelled,
  monotonicMs,
  OWN_SCOPE,
  REQUEST_TIMEOUT_MS,
} from '../../../rpc/jsonrpc/callScope.ts'
import { RPC_CODES, RpcError, timedOut } from '../../../rpc/jsonrpc/errors.ts'
import type { MethodTable, RpcContext } from '../../../rpc/jsonrpc/method.ts'
import { METHODS } from '../../../rpc/jsonrpc/methodTable.ts'
import type { ViewQueue } from '../../../rpc/jsonrpc/place.ts'
import type { ResultText } from '../../../rpc/jsonrpc/resultText.ts'
import { serveViewCall } from '../../../rpc/jsonrpc/runMethod.ts'
import {
  createSubmitPort,
  isLongSubmission,
  type SubmitPort,
  type Verified,
  verificationBusy,
} from '../../../rpc/submit/submitPort.ts'
import { compressBytes } from '../../../rpc/transport/compressBytes.ts'
import type { Encoding } from '../../../rpc/transport/compression.ts'
import { Database } from '../../../storage/database.ts'
import { checkPackedCommits, type PackedCommitChecks } from '../../../sync/blocks/commitChecks.ts'
import { createLogger } from '../../../telemetry/logger.ts'
import { createViewMetrics } from '../../../telemetry/metrics.ts'
import { openTracer } from '../../../telemetry/spans.ts'
import { createThreadMetrics } from '../../../telemetry/threadMetrics.ts'
import { collectWhenIdle } from '../../start/idleCollection.ts'
import { endThread, lowerPriority, type ThreadData } from '../../start/spawn.ts'
import { openThreadEngine } from '../../start/threadEngine.ts'
import type { PackedBytes } from '../../wire/packedBytes.ts'
import { moved, serve, withOwnBuffer } from '../../wire/port.ts'
import { closePool, connectPool, createContextSource, type RpcThreadData } from '../../wire/rpcContext.ts'
import { waitAtGate } from '../../wire/sharedMemory.ts'
import { followHeads } from '../../wire/viewFeed.ts'
import { type CallDue, recoverPackedAuthorities, recoverPackedSenders } from '../socket/viewPool.ts'
import { type DropReason, TaskDropped } from './heavyQueue.ts'
import { createViewTasks } from './viewTasks.ts'

/**
 * A view thread reads the database of the newest block and runs code on it without changing anything: calls, estimates, traces, log
 * scans and native queries for the socket threads; recovery of senders and checks of commits for network and block sync.
 */
export interface ViewData extends RpcThreadData {
  readonly engine: EngineChoice
  readonly heavyCalls: HeavyCallLimits
  /** as the executor has them: traces run blocks again */
  readonly skipUpgrades: readonly number[]
}

export type ViewService = typeof service

/** Methods that clients call, and those of CometBFT's methods that socket threads have run here. */
const VIEW_METHODS: MethodTable = new Map([...METHODS, ...COMET_VIEW_TABLE])

/** Memory for the logs of blocks, with their texts: some 10,000 of tokens. */
const LOG_CACHE_BYTES = 16 * 1_048_576

const { control, data } = workerData as ThreadData<ViewData>
lowerPriority('calls')
checkKnownAnswers(PRIMITIVE_ANSWERS)
const threadMetrics = createThreadMetrics('view')
const metrics = createViewMetrics(threadMetrics.registry)
const log = createLogger(data.log, { thread: 'view' }).child({ part: 'rpc' })
const engine = await openThreadEngine(data.engine)
await waitAtGate(data.databaseGate)
const database = await Database.open(data.location, { readOnly: true, onDamage: endThread })
const feed = followHeads(database, data.publishedHeight)
const precompiles = precompileTable(data.chain.registeredPrecompiles)
const hooks = moduleHooks(upgradeRules(data.skipUpgrades))
const decoder = createTransactionDecoder(data.chain)
const pool = connectPool(data.pool, openTracer(data.tracing), async (raw) => recoverPackedAuthorities(raw, data.chain))
const submissions = createSubmitPort({ decoder, limits: data.limits, pool })
const contexts = createContextSource({
  data,
  feed,
  decoder,
  submissions,
  pool,
  execution: (scope) => ({
    engine,
    precompiles,
    hooks,
    yieldUntil: (deadlineMs) => tasks.yieldUntil(scope, deadlineMs),
  }),
  logCache: createLogCache(LOG_CACHE_BYTES),
})
const tasks = createViewTasks({ lease: contexts.lease, heavyCalls: data.heavyCalls, monotonicMs, metrics })
if (recoverNatively === undefined) {
  log.warn('no native secp256k1 for this platform: recovering senders takes about 25 times as long')
}
const DROPPED_CALLS: Readonly<Record<DropReason, () => RpcError>> = {
  expired: timedOut,
  cancelled: callCancelled,
  refused: () => new RpcError(RPC_CODES.limitExceeded, TOO_BUSY.message),
}
const DROPPED_QUERIES: Readonly<Record<DropReason, NativeAnswer>> = {
  expired: EXPIRED,
  cancelled: CANCELLED,
  refused: TOO_BUSY,
}

/** ports of the threads that call this one */
const clients = new Set<MessagePort>()

const service = {
  call: async (
    queue: ViewQueue,
    method: string,
    params: readonly unknown[],
    due: CallDue,
    signal: AbortSignal,
  ): Promise<ResultText> => {
    const answer = (context: RpcContext) => serveViewCall(VIEW_METHODS, context, { method, params }, log)
    try {
      const text = await tasks.run(queue, { ...due, signal }, params, answer)
      return typeof text === 'string' ? text : moved(text)
    } catch (error) {
      throw error instanceof TaskDropped ? DROPPED_CALLS[error.reason]() : error
    }
  },
  query: async (queue: ViewQueue, call: NativeCall, due: CallDue, signal: AbortSignal): Promise<NativeAnswer> => {
    const answer = (context: RpcContext) => answerNativeCall({ queries: QUERIES, node: data.node, log }, context, call)
    try {
      return await tasks.run(queue, { ...due, signal }, call, answer)
    } catch (error) {
      if (error instanceof TaskDropped) return DROPPED_QUERIES[error.reason]
      throw error
    }
  },
  /** see `createViewCompressor` */
  compress: async (encoding: Encoding, bytes: Uint8Array, signal: AbortSignal): Promise<Uint8Array> => {
    const startMs = monotonicMs()
    const compressed = await compressBytes(encoding, bytes, async () => {
      await nextTurn()
      signal.throwIfAborted()
    })
    metrics.taskSeconds.observe({ queue: 'compression' }, (monotonicMs() - startMs) / 1000)
    return moved(withOwnBuffer(compressed))
  },
  /** see `createSenderExamination` */
  recoverSenders: (packed: PackedBytes): Uint8Array =>
    recoverPackedSenders(packed, decoder, (error) => {
      metrics.unforeseenTotal.inc({ place: 'senders' })
      log.error({ error }, 'unforeseen error while recovering a sender: report this line with its stack')
    }),
  /** see `createSubmissionCheck` */
  verifySubmission: async (...[raw, client, kinds]: Parameters<SubmitPort['verify']>): Promise<Verified> => {
    if (!isLongSubmission(raw, kinds)) return submissions.verify(raw, client, kinds)
    const scope: CallScope = { ...OWN_SCOPE, client, deadlineMs: monotonicMs() + REQUEST_TIMEOUT_MS }
    try {
      return await tasks.run('heavy', scope, raw, async () => submissions.verify(raw, client, kinds))
    } catch (error) {
      if (error instanceof TaskDropped) return verificationBusy(raw)
      throw error
    }
  },
  /** see `createAuthorityRecovery` */
  recoverAuthorities: (raw: Uint8Array): Uint8Array => recoverPackedAuthorities(raw, data.chain),
  checkCommits: (packed: PackedCommitChecks) => checkPackedCommits(packed),
  /** see {@link signingStateOf}, after the newest block */
  signingState: (addresses: readonly Uint8Array[]): SigningState => {
    const { context, release } = contexts.lease()
    try {
      const { view } = context
      const height = view.chain.headHeight
      // No rule that is read here depends on the time.
      const block = { height, timeMs: data.chain.genesisTimeMs }
      return signingStateOf({ world: openViewWorld(context, view.stateAt(height)), block }, addresses)
    } finally {
      release()
    }
  },
  /** Serves another thread: a socket thread, the network thread or the main thread. */
  attach: (client: MessagePort): void => {
    serve(client, service)
    clients.add(client)
    client.on('close', () => clients.delete(client))
  },
  /** Answered once the thread serves. */
  ready: (): void => undefined,
  metrics: () => threadMetrics.snapshot(),
  close: async () => {
    closePool(data.pool)
    for (const client of clients) client.close()
    await feed.close()
    await database.close()
    log.flush()
  },
}

serve(control, service)

collectWhenIdle()
// Now, because a killed process cannot write its compile cache at the end.
flushCompileCache()
