import { flushCompileCache } from 'node:module'
import type { RunningNode } from '../cli/ports.ts'
import type { Config } from '../config/config.ts'
import { VERSION } from '../config/version.ts'
import { peerCounts } from '../p2p/limits.ts'
import { parsePeerAddress } from '../p2p/peerAddress.ts'
import { parseNodeId } from '../p2p/peerId.ts'
import { createValidatorProof } from '../p2p/validatorProof.ts'
import { bytesToHex } from '../primitives/bytes.ts'
import { type HeartbeatBody, startHeartbeat } from '../telemetry/heartbeat.ts'
import type { Logger } from '../telemetry/logger.ts'
import { createConsensusMetrics } from '../telemetry/metrics/consensusMetrics.ts'
import { serveMetrics } from '../telemetry/metricsServer.ts'
import { createThreadMetrics, formatMetrics } from '../telemetry/threadMetrics.ts'
import { executorApplication } from './executorApplication.ts'
import { followDecisions, type HeadSummary } from './followDecisions.ts'
import { createNetworkTransport } from './networkTransport.ts'
import { createNodeService } from './nodeService.ts'
import { createNodeState, getPeerCount, setPeerCount, setSyncStatus } from './nodeState.ts'
import type { Home } from './openHome.ts'
import { type RunningConsensus, startConsensus } from './startConsensus.ts'
import { startThreads, type ThreadsOptions } from './startThreads.ts'

const CLIENT_VERSION = `coind/v${VERSION}/${process.platform}-${process.arch}/node${process.versions.node.split('.')[0]}`
/** Hosts that mean every interface; this machine reaches them at the loopback address. */
const ANY_HOST = new Set(['0.0.0.0', '::'])

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
  const { chain, paths, validatorKey, nodeKey } = home
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
  const nodeState = createNodeState()
  const failure = Promise.withResolvers<never>()
  // Consensus may halt before anybody watches.
  failure.promise.catch(() => undefined)
  const running: { consensus?: RunningConsensus } = {}
  const threads = await startThreads({
    config,
    location: paths.db,
    chain,
    genesis: home.genesis,
    clientVersion: CLIENT_VERSION,
    identity,
    validator: { address: validatorKey.address, publicKey: validatorKey.publicKey },
    nodeState,
    node: createNodeService({
      roundState: () => running.consensus?.service.engine?.roundState,
      heightTimes: () => decisions.heightTimes(),
      network: () => threads.network.netInfo(),
      checkEvidence: (evidence) => application.checkEvidence(evidence),
      addEvidence: (evidence) => running.consensus?.service.addEvidence(evidence),
    }),
    genesisPath: paths.genesis,
    network: networkIdentity(config, home),
  })
  undo.push(() => threads.stop())

  const application = executorApplication(threads.executor)
  const info = await application.info()
  const decisions = followDecisions(info, metrics, logger.child({ part: 'consensus' }))
  const transport = createNetworkTransport({
    service: threads.network,
    ...threads.networkPorts,
    ownAddress: validatorKey.address,
    onPeerCount: (count) => setPeerCount(nodeState, count),
  })
  undo.push(() => transport.close())
  const consensus = await startConsensus({
    home,
    application,
    transport,
    views: threads.views,
    decisions,
    metrics,
    logger,
    onSyncStatus: (status) => setSyncStatus(nodeState, status),
    onHalt: (error) => failure.reject(error),
  })
  running.consensus = consensus
  undo.push(() => consensus.stop())
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
      status: () => heartbeatBody(config, home, decisions.head(), getPeerCount(nodeState)),
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

/** How the node meets its peers. The validator's key stays here: its proof goes out. */
function networkIdentity(config: Config, { chain, paths, nodeKey, validatorKey }: Home): ThreadsOptions['network'] {
  const { host, port, persistentPeers, maxPeers } = config.p2p
  return {
    seed: nodeKey.seed,
    validator: createValidatorProof(validatorKey, nodeKey.publicKey, chain.genesisHash),
    moniker: config.moniker,
    listen: { host, port },
    persistentPeers: persistentPeers.map(({ id, address }) => ({
      id: parseNodeId(id),
      address: parsePeerAddress(address)!,
    })),
    counts: peerCounts(maxPeers),
    addressBookPath: paths.addressBook,
  }
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
