import { existsSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { RunningNode } from '../../../cli/ports.ts'
import type { Config } from '../../../config/config.ts'
import { listenAs, listener } from '../../../config/listeners.ts'
import { asksForSnapshot, checkRuntime } from '../../../config/startRules.ts'
import { VERSION } from '../../../config/version.ts'
import { hasKeyIn } from '../../../consensus/doubleSignGuard.ts'
import { upgradeNeededBy, writeUpgradeInfo } from '../../../execution/upgradeInfo.ts'
import { bytesToHex } from '../../../primitives/bytes.ts'
import type { HeightTimes } from '../../../rpc/comet/json/roundState.ts'
import type { StartServer } from '../../../rpc/transport/startServer.ts'
import { nameDamagedFile } from '../../../storage/verifyFiles.ts'
import { type HeartbeatBody, startHeartbeat } from '../../../telemetry/heartbeat.ts'
import type { Logger } from '../../../telemetry/logger.ts'
import {
  createConsensusMetrics,
  createProcessMetrics,
  createSignerMetrics,
  createSnapshotMetrics,
  createTracingMetrics,
  createValidatorMetrics,
} from '../../../telemetry/metrics.ts'
import { serveMetrics } from '../../../telemetry/metricsServer.ts'
import { openTracer, RoundTraces } from '../../../telemetry/spans.ts'
import { createThreadMetrics, formatMetrics } from '../../../telemetry/threadMetrics.ts'
import { watchDiskUsage } from '../../start/diskUsage.ts'
import { collectWhenIdle } from '../../start/idleCollection.ts'
import { type Home, openDatabase } from '../../start/openHome.ts'
import { networkIdentity, startThreads, unlessAborted } from '../../start/startThreads.ts'
import { publishSilence } from '../../start/threadSilence.ts'
import { despiteStops } from '../../wire/port.ts'
import { publishRoundEvents } from '../../wire/roundEvents.ts'
import { createNodeState, getPeerCount, setPeerCount, setSyncStatus } from '../../wire/sharedMemory.ts'
import { createNodeCopies, publishRoundState } from '../socket/cometNode.ts'
import { executorApplication } from './executorApplication.ts'
import { followDecisions, type HeadSummary } from './followDecisions.ts'
import { createNetworkTransport } from './networkTransport.ts'
import { createOwnSigning } from './ownSigning.ts'
import { startBackfill } from './startBackfill.ts'
import { type RunningConsensus, startConsensus } from './startConsensus.ts'

const CLIENT_VERSION = `coind/v${VERSION}/${process.platform}-${process.arch}/node${process.versions.node.split('.')[0]}`
/** Milliseconds in which consensus finishes the block that it is deciding; then the stop continues without it. */
const CONSENSUS_STOP_MS = 2_000
/** Hosts that mean every interface. */
const ANY_HOST = new Set(['0.0.0.0', '::'])

/** How a node starts, and ends before its time. */
interface NodeOptions {
  /** ends the start: no further step is begun, and a wait or a check of the database ends */
  readonly signal: AbortSignal
  /** whether a snapshot may replace a newer database */
  readonly allowsOlder: boolean
  /** the process has to end without some threads that are still busy, see `ThreadsOptions` */
  readonly onThreadsLeft: () => void
  /** has the port of the RPC until the threads start */
  readonly startServer: Pick<StartServer, 'close'>
}

/**
 * Runs the node in an opened home:
 *
 * 1. Restores a snapshot, where the settings ask for one: then there is another database. Executes blocks from a web server, where
 *    the settings name one.
 * 2. Starts the threads (see `startThreads`): executor, pool, views, sockets, network.
 * 3. Asks the executor for its newest block: consensus, log and heartbeat continue from there. Its validators tell whether this node
 *    signs, which only the pinned Node.js may.
 * 4. Starts consensus in this thread, over the executor's application and the network thread. It makes or fetches blocks from here on. Once
 *    it takes part, a node that started from a snapshot fetches older headers too.
 * 5. Waits for the RPC servers, which listen soon after the first block. Consensus may halt instead.
 * 6. Starts what reports on the running node: metrics server and heartbeat.
 *
 * A stop, or a step that fails, undoes these steps in reverse. So nothing reports on a node that stops, and consensus decides no
 * block that the executor could not store. The home's lock is released last, since until then another process must not open the
 * database. Every step has a time limit, so a stop takes seconds at most: then the process ends without waiting for busy threads.
 * @throws the signal's reason; what a step throws
 */
export async function runNode(config: Config, home: Home, logger: Logger, end: NodeOptions): Promise<RunningNode> {
  const undo = createUndoList()
  undo.add(() => home.lock.release())
  undo.add(() => home.signerPort?.close())
  try {
    return await start(config, home, logger, end, undo)
  } catch (error) {
    tellSupervisor(error, home, logger)
    await undo.run().catch((stopError: unknown) => logNotStopped(logger, stopError))
    throw nameDamagedFile(error, home.paths.db)
  }
}

async function start(
  config: Config,
  home: Home,
  logger: Logger,
  { signal, allowsOlder, onThreadsLeft, startServer }: NodeOptions,
  undo: UndoList,
): Promise<RunningNode> {
  signal.throwIfAborted()
  const { chain, paths, validatorKeys, nodeKey } = home
  for (const warning of home.init.warnings) logger.warn(warning)
  const threadMetrics = createThreadMetrics('main')
  const metrics = createConsensusMetrics(threadMetrics.registry)
  // They start at 0, since an alert sees a number rise, not appear.
  for (let i = 0; i < config.rpc.viewThreads; i++) metrics.threadRestartsTotal.inc({ name: `view-${i}` }, 0)
  for (let i = 0; i < config.rpc.socketThreads; i++) metrics.threadRestartsTotal.inc({ name: `socket-${i}` }, 0)
  const { connected, seconds, lost } = home.signerPort?.metrics ?? createSignerMetrics()
  threadMetrics.registry.registerMetric(connected)
  threadMetrics.registry.registerMetric(seconds)
  threadMetrics.registry.registerMetric(lost)
  // Without the threads that count them, these metrics exist too, as zeros.
  if (config.snapshots.interval === 0) createSnapshotMetrics(threadMetrics.registry)
  if (config.tracing === undefined) createTracingMetrics(threadMetrics.registry)
  const nodeState = createNodeState()
  const copies = createNodeCopies(config.rpc.socketThreads)
  const failure = Promise.withResolvers<never>()
  // Consensus may halt before anything awaits this promise.
  failure.promise.catch(() => undefined)
  /** set by step 4; socket threads may ask and send evidence before */
  let consensus: RunningConsensus | undefined
  // Before the threads, so that it ends after them: a request that waits for a copy gets one.
  const heightTimes = (): HeightTimes => decisions.heightTimes()
  const roundEvents = publishRoundEvents(copies.roundEvents)
  undo.add(() => roundEvents.close())
  undo.add(publishRoundState(copies, () => consensus?.service.engine?.roundState, heightTimes))

  // 1.
  if (asksForSnapshot(config) || existsSync(paths.restoringDb)) {
    // Most starts do not need this module, and loading it takes a tenth of a second.
    const { beginFromSnapshot } = await import('../../start/beginFromSnapshot.ts')
    await beginFromSnapshot({ config, home, logger, allowsOlder, signal })
  }
  const { blocksManifestUrl } = config.joining
  if (blocksManifestUrl !== undefined) {
    const { beginFromBlocks } = await import('../../start/beginFromBlocks.ts')
    await beginFromBlocks({ config, home, logger, signal, nowMs: () => Date.now() }, blocksManifestUrl)
  }

  // 2.
  const threads = await startThreads({
    config,
    openDatabase: async () => {
      // This may take long, too.
      const database = await openDatabase(home, logger, signal)
      await startServer.close()
      return database
    },
    location: paths.db,
    chain,
    genesis: home.genesis.state,
    headers: home.headers,
    snapshots: paths.snapshots,
    poolJournal: paths.poolJournal,
    clientVersion: CLIENT_VERSION,
    identity: {
      id: nodeKey.id,
      chainId: chain.chainId,
      moniker: config.moniker,
      version: VERSION,
      listenAddress: config.p2p.externalAddress ?? `${config.p2p.host}:${config.p2p.port}`,
      rpcAddress: config.rpc.publicUrl ?? '',
      isIndexed: config.index === 'all',
    },
    validator: validatorKeys.all,
    nodeState,
    copies,
    addEvidence: (evidence) => consensus?.service.addEvidence(evidence),
    genesisPath: paths.genesis,
    onRestart: (thread, error, waitMs) => {
      metrics.threadRestartsTotal.inc({ name: thread })
      logger.error({ name: thread, error, waitMs }, 'a client thread has ended and is started again')
    },
    network: networkIdentity(config, home),
    signal,
    onThreadsLeft: (late) => {
      if (late.length > 0)
        logger.warn({ late }, 'threads did not close in time: the process ends without waiting for them')
      onThreadsLeft()
    },
  })
  undo.add(() => threads.stop())
  undo.add(publishSilence(copies.silence, threads.pings, () => performance.now()))
  home.genesis.release()

  // 3.
  const application = executorApplication(threads.executor)
  const info = await unlessAborted(signal, application.info())
  const signers = [info.validators, info.nextValidators].flatMap(({ validators }) => validators)
  const isValidator = hasKeyIn({ validators: signers }, validatorKeys.addresses)
  const runtimeWarning = checkRuntime(process.versions.node, isValidator)
  if (runtimeWarning !== undefined) logger.warn(runtimeWarning)
  const decisions = followDecisions(info, metrics, logger.child({ part: 'consensus' }))

  // 4.
  const tracer = openTracer(threads.tracing)
  undo.add(() => tracer?.close())
  const transport = createNetworkTransport({
    service: threads.network,
    ...threads.networkPorts,
    get ownAddress() {
      return validatorKeys.address
    },
    onPeerCount: (count) => {
      setPeerCount(nodeState, count)
      metrics.peers.set(count)
    },
  })
  undo.add(() => transport.close())
  const ownSigning = createOwnSigning({
    addresses: validatorKeys.addresses,
    metrics: createValidatorMetrics(threadMetrics.registry),
    readState: (addresses) => despiteStops(() => threads.views[0]!.signingState(addresses)),
    onError: (error) => logger.warn({ error }, "the metrics of this node's validator could not be read from the state"),
  })
  let isInStep = false
  const started = await startConsensus({
    home,
    application,
    transport,
    views: threads.views,
    decisions,
    metrics,
    ownSigning,
    traces: tracer && new RoundTraces(tracer),
    roundEvents,
    logger,
    onSyncStatus: (status) => {
      isInStep = status.mode === 'consensus'
      setSyncStatus(nodeState, status)
    },
    onHalt: (error) => failure.reject(error),
    signal,
  })
  consensus = started
  undo.add(async () => {
    const stopped = started.stop().then(() => true)
    const isInTime = await Promise.race([stopped, setTimeout(CONSENSUS_STOP_MS, false, { ref: false })])
    if (isInTime) return
    logger.warn('the current block takes too long: the next start executes it from the write-ahead log')
    onThreadsLeft()
  })

  undo.add(
    startBackfill({
      chainId: chain.chainId,
      threads,
      isInStep: () => isInStep,
      metrics,
      log: logger.child({ part: 'sync' }),
      onFailure: (error) => failure.reject(error),
    }),
  )

  // 5.
  await unlessAborted(signal, Promise.race([threads.listening(), failure.promise]))

  // 6.
  let metricsUrl: string | undefined
  if (config.metrics.port !== 0) {
    let hasReader = false
    const { host, port } = config.metrics
    const collect = async (): Promise<string> => {
      if (!hasReader) createProcessMetrics(threadMetrics.registry)
      hasReader = true
      await ownSigning.refresh()
      return formatMetrics([await threadMetrics.snapshot(), ...(await threads.metrics())])
    }
    const server = await listenAs(listener('METRICS', host, port), () => serveMetrics(config.metrics, collect))
    undo.add(() => server.stop())
    metricsUrl = `${urlOf(config.metrics)}metrics`
    undo.add(
      watchDiskUsage({
        columns: () => threads.columnBytes(),
        directories: { segments: join(paths.db, 'segments'), wal: paths.wal, snapshots: paths.snapshots },
        show: (column, bytes) => metrics.diskBytes.set({ column }, bytes),
        onError: (error) => logger.warn({ error }, 'the disk usage of the node could not be measured'),
      }),
    )
  }
  if (config.heartbeatUrl !== undefined) {
    const heartbeat = startHeartbeat({
      url: config.heartbeatUrl,
      key: nodeKey,
      logger: logger.child({ part: 'heartbeat' }),
      status: () => heartbeatBody(config, home, decisions.head(), getPeerCount(nodeState)),
    })
    undo.add(() => heartbeat.stop())
  }

  const rpcUrl = urlOf(config.rpc)
  logger.info(
    { rpc: rpcUrl, height: decisions.head().height, nodeId: nodeKey.id, chainId: chain.chainId },
    'node is up',
  )
  // Now, because a killed process cannot write its compile cache at the end.
  flushCompileCache()
  collectWhenIdle()

  return {
    rpcUrl,
    wsUrl: `${rpcUrl.replace(/^http/, 'ws')}ws`,
    metricsUrl,
    height: info.height,
    ...endOf(Promise.race([failure.promise, threads.died]), undo, home, logger),
  }
}

/**
 * Ends a running node: by `stop`, or when `died` rejects because the node cannot continue. `ended` resolves after a stop and
 * rejects after a failure. Where it can, the error names the damaged file of the database. A stop signal while a failed node
 * ends does not make it a success.
 */
function endOf(died: Promise<never>, undo: UndoList, home: Home, logger: Logger): Pick<RunningNode, 'ended' | 'stop'> {
  const ended = Promise.withResolvers<void>()
  // The node may fail before its starter awaits this promise.
  ended.promise.catch(() => undefined)
  let stopping: Promise<void> | undefined
  const stop = (): Promise<void> => {
    stopping ??= undo.run().then(() => logger.info('node has stopped'))
    return stopping
  }
  let hasFailed = false
  died.catch(async (error: unknown) => {
    if (stopping !== undefined) return
    hasFailed = true
    logger.fatal({ error }, 'the node cannot continue and stops')
    tellSupervisor(error, home, logger)
    await stop().catch((stopError: unknown) => logNotStopped(logger, stopError))
    ended.reject(nameDamagedFile(error, home.paths.db))
  })
  return {
    ended: ended.promise,
    stop: () => (hasFailed ? stop() : stop().then(ended.resolve, ended.reject)),
  }
}

/** Writes which version the node needs to a file, if it ends because of an upgrade. */
function tellSupervisor(error: unknown, { paths }: Home, logger: Logger): void {
  const upgrade = upgradeNeededBy(error)
  if (upgrade === undefined) return
  try {
    writeUpgradeInfo(paths.upgradeInfo, upgrade)
  } catch (writeError) {
    logger.error(
      { error: writeError, path: paths.upgradeInfo },
      'the file that tells a supervisor about the upgrade could not be written',
    )
  }
}

/** Only logs errors of the stop itself: after a failure, the failure is the error to report. */
function logNotStopped(logger: Logger, error: unknown): void {
  logger.error({ error }, 'the node did not stop cleanly')
}

/** Steps that undo what was started, run in reverse. */
interface UndoList {
  add(step: () => Promise<void> | void): void
  /** Runs every step even when one fails, then throws the first failure. */
  run(): Promise<void>
}

function createUndoList(): UndoList {
  const steps: (() => Promise<void> | void)[] = []
  return {
    add: (step) => void steps.push(step),
    run: async () => {
      const failures: unknown[] = []
      for (const step of steps.splice(0).reverse()) {
        try {
          await step()
        } catch (error) {
          failures.push(error)
        }
      }
      if (failures.length > 0) throw failures[0]
    },
  }
}

/** Returns the URL at which a client on this machine reaches a listener. */
function urlOf(listener: { readonly host: string; readonly port: number }): string {
  const host = ANY_HOST.has(listener.host) ? 'localhost' : listener.host
  return `http://${host.includes(':') ? `[${host}]` : host}:${listener.port}/`
}

function heartbeatBody(config: Config, { chain, nodeKey }: Home, head: HeadSummary, peers: number): HeartbeatBody {
  return {
    moniker: config.moniker,
    network: config.network,
    chain_id: chain.chainId,
    evm_chain_id: Number(chain.evmChainId),
    node_id: nodeKey.id,
    version: VERSION,
    height: head.height,
    block_hash: bytesToHex(head.hash),
    block_time: new Date(head.timeMs).toISOString(),
    peers,
    rpc_address: config.rpc.publicUrl ?? null,
  }
}
