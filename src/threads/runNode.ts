import { randomBytes } from 'node:crypto'
import { flushCompileCache } from 'node:module'
import type { RunningNode } from '../cli/ports.ts'
import type { Config } from '../config/config.ts'
import { VERSION } from '../config/version.ts'
import type { ApplicationInfo } from '../consensus/application.ts'
import { systemClock } from '../consensus/clock.ts'
import { type DecidedEvent, startSolo } from '../consensus/solo.ts'
import { bytesToHex } from '../primitives/bytes.ts'
import { type HeartbeatBody, startHeartbeat } from '../telemetry/heartbeat.ts'
import type { Logger } from '../telemetry/logger.ts'
import { type ConsensusMetrics, createConsensusMetrics } from '../telemetry/metrics/consensusMetrics.ts'
import { serveMetrics } from '../telemetry/metricsServer.ts'
import { createThreadMetrics, formatMetrics } from '../telemetry/threadMetrics.ts'
import { executorApplication } from './executorApplication.ts'
import type { Home } from './openHome.ts'
import { startThreads } from './startThreads.ts'

const CLIENT_VERSION = `coind/v${VERSION}/${process.platform}-${process.arch}/node${process.versions.node.split('.')[0]}`
const APP_VERSION = 0
/** Hosts that mean every interface; this machine reaches them at the loopback address. */
const ANY_HOST = new Set(['0.0.0.0', '::'])

/** The newest block, as heartbeat and log show it. */
interface HeadSummary {
  readonly height: number
  readonly hash: Uint8Array
  readonly timeMs: number
}

/**
 * Runs the node in an opened home: threads, then consensus in this one, then what reports on it. The home is the node's from
 * here on and is released at its end.
 */
export async function runNode(config: Config, home: Home, logger: Logger): Promise<RunningNode> {
  /** what to undo, newest first */
  const undo: (() => Promise<void> | void)[] = [() => home.lock.release()]
  /** Runs every step, whichever fails: the lock is released in any case. */
  const stopAll = async (): Promise<void> => {
    const failures: unknown[] = []
    for (const step of undo.splice(0).reverse()) {
      try {
        await step()
      } catch (error) {
        failures.push(error)
      }
    }
    if (failures.length > 0) throw failures[0]
  }
  try {
    return await startParts(config, home, logger, undo, stopAll)
  } catch (error) {
    await stopAll().catch((stopError: unknown) => logNotStopped(logger, stopError))
    throw error
  }
}

/** What failed may keep other parts from stopping as they should; its own error is the one to report. */
function logNotStopped(logger: Logger, error: unknown): void {
  logger.error({ error }, 'the node did not stop cleanly')
}

async function startParts(
  config: Config,
  home: Home,
  logger: Logger,
  undo: (() => Promise<void> | void)[],
  stopAll: () => Promise<void>,
): Promise<RunningNode> {
  const { chain, paths, validators, validatorKey, nodeKey } = home
  for (const warning of home.init.warnings) logger.warn(warning)
  const threadMetrics = createThreadMetrics('main')
  const metrics = createConsensusMetrics(threadMetrics.registry)
  const identity = {
    id: nodeKey.id,
    chainId: chain.chainId,
    moniker: config.moniker,
    version: VERSION,
    listenAddress: config.p2p.externalAddress ?? `${config.p2p.host}:${config.p2p.port}`,
    rpcAddress: config.rpc.publicUrl ?? '',
  }
  const own = validators.validators.find(({ address }) => Buffer.compare(address, validatorKey.address) === 0)
  const threads = await startThreads({
    config,
    location: paths.db,
    chain,
    genesis: home.genesis,
    clientVersion: CLIENT_VERSION,
    identity,
    validator: { address: validatorKey.address, publicKey: validatorKey.publicKey, power: own?.power ?? 0n },
  })
  undo.push(() => threads.stop())

  const info = await threads.executor.info()
  const failure = Promise.withResolvers<never>()
  // Consensus may halt before anybody watches.
  failure.promise.catch(() => undefined)
  const consensusLog = logger.child({ part: 'consensus' })
  const decisions = followDecisions(info, metrics, consensusLog)
  const solo = await startSolo({
    application: executorApplication(threads.executor),
    key: validatorKey,
    chain: {
      chainId: chain.chainId,
      genesisHash: chain.genesisHash,
      appVersion: APP_VERSION,
      params: { maxBytes: chain.maxBlockBytes, maxGas: home.maxGas },
      validators,
      intervalMs: chain.blockIntervalMs,
    },
    wal: {
      directory: paths.wal,
      randomBytes,
      warn: (message, fields) => consensusLog.warn(fields, message),
    },
    clock: systemClock,
    onDecided: decisions.onDecided,
    onHalt: (error) => failure.reject(error),
  })
  undo.push(() => solo.stop())
  await Promise.race([threads.listening(), failure.promise])

  const metricsServer =
    config.metricsPort === 0
      ? undefined
      : await serveMetrics(config.metricsPort, async () =>
          formatMetrics([await threadMetrics.snapshot(), ...(await threads.metrics())]),
        )
  if (metricsServer !== undefined) undo.push(() => metricsServer.stop())
  if (config.heartbeatUrl !== undefined) {
    const heartbeat = startHeartbeat({
      url: config.heartbeatUrl,
      logger: logger.child({ part: 'heartbeat' }),
      status: () => heartbeatBody(config, home, decisions.head()),
    })
    undo.push(() => heartbeat.stop())
  }

  const host = ANY_HOST.has(config.rpc.host) ? 'localhost' : config.rpc.host
  const rpcUrl = `http://${host.includes(':') ? `[${host}]` : host}:${config.rpc.port}/`
  logger.info(
    { rpc: rpcUrl, height: decisions.head().height, nodeId: nodeKey.id, chainId: chain.chainId },
    'node is up',
  )
  // At its end a killed process keeps nothing of what it compiled.
  flushCompileCache()

  const ended = Promise.withResolvers<void>()
  let stopping: Promise<void> | undefined
  const stop = (): Promise<void> => {
    stopping ??= stopAll().then(() => logger.info('node has stopped'))
    return stopping
  }
  let hasFailed = false
  Promise.race([failure.promise, threads.died]).catch(async (error: unknown) => {
    if (stopping !== undefined) return
    hasFailed = true
    logger.fatal({ error }, 'the node cannot go on and stops')
    await stop().catch((stopError: unknown) => logNotStopped(logger, stopError))
    ended.reject(error)
  })
  return {
    rpcUrl,
    wsUrl: `${rpcUrl.replace(/^http/, 'ws')}ws`,
    metricsUrl: metricsServer?.url,
    height: info.height,
    ended: ended.promise,
    // A stop signal does not make a success of a failure that is under way.
    stop: () => (hasFailed ? stop() : stop().then(ended.resolve, ended.reject)),
  }
}

/** What the main thread keeps of decided blocks: the newest one, metrics, the log. */
function followDecisions(
  { height, appHash, lastBlockTimeMs }: ApplicationInfo,
  metrics: ConsensusMetrics,
  log: Logger,
): { readonly head: () => HeadSummary; readonly onDecided: (event: DecidedEvent) => void } {
  let head: HeadSummary = { height, hash: appHash, timeMs: lastBlockTimeMs }
  let lastDecidedMs: number | undefined
  return {
    head: () => head,
    onDecided: (event) => {
      const { header } = event.decided.block
      head = { height: header.height, hash: event.result.appHash, timeMs: header.timeMs }
      metrics.blockHeight.set(head.height)
      logDecision(log, event)
      if (event.replayed) return
      const nowMs = performance.now()
      if (lastDecidedMs !== undefined) metrics.blockIntervalSeconds.observe((nowMs - lastDecidedMs) / 1000)
      lastDecidedMs = nowMs
      metrics.walFsyncSeconds.observe(event.timings.logMs / 1000)
    },
  }
}

function heartbeatBody(config: Config, { chain, nodeKey }: Home, head: HeadSummary): HeartbeatBody {
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
    peers: 0,
    rpc_address: config.rpc.publicUrl ?? null,
  }
}

/** One line a block; empty ones at debug level, as there are 216,000 of them a day. */
function logDecision(log: Logger, { decided, result, replayed, timings }: DecidedEvent): void {
  const { header, txs } = decided.block
  const fields = {
    height: header.height,
    hash: bytesToHex(result.appHash),
    txs: txs.length,
    ...(replayed ? { replayed } : {}),
    buildMs: Math.round(timings.buildMs),
    finalizeMs: Math.round(timings.finalizeMs),
  }
  if (txs.length > 0 || replayed) log.info(fields, 'block decided')
  else log.debug(fields, 'block decided')
}
