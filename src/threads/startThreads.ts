import type { MessagePort } from 'node:worker_threads'
import type { GenesisState } from '../app/genesisState.ts'
import type { ChainConfig } from '../chain/chainConfig.ts'
import type { Config } from '../config/config.ts'
import { chooseEngine, type EngineChoice } from '../evm/engines/createEngine.ts'
import type { NodeIdentity, OwnValidator } from '../rpc/comet/status.ts'
import { Database } from '../storage/database.ts'
import type { MetricsSnapshot } from '../telemetry/threadMetrics.ts'
import { tuneCompiler } from './compiler.ts'
import type { ExecutorData, ExecutorService } from './executor.ts'
import { openGate, untilWaiting } from './gate.ts'
import type { NetworkData, NetworkService } from './network.ts'
import type { NetworkTransportOptions } from './networkTransport.ts'
import type { NodeService } from './nodeService.ts'
import type { NodeState } from './nodeState.ts'
import type { PoolData, PoolService } from './pool.ts'
import { connect, type Remote, serve } from './port.ts'
import type { RpcThreadData } from './rpcData.ts'
import type { SocketData, SocketService } from './socket.ts'
import { spawnThread, type Thread } from './spawn.ts'
import { chooseShadow } from './threadEngine.ts'
import type { ViewData, ViewService } from './view.ts'
import { type PoolChannels, type Wiring, wire } from './wiring.ts'

/** Threads have loaded their modules by then, on the slowest of machines. */
const LOADING_MS = 20_000

export interface ThreadsOptions {
  readonly config: Config
  /** directory of the database */
  readonly location: string
  readonly chain: ChainConfig
  readonly genesis: GenesisState
  readonly clientVersion: string
  readonly identity: NodeIdentity
  readonly validator: OwnValidator
  readonly nodeState: NodeState
  /** what socket threads ask of this thread */
  readonly node: NodeService
  readonly genesisPath: string
  /** of the node towards its peers */
  readonly network: Pick<
    NetworkData,
    'seed' | 'validator' | 'moniker' | 'listen' | 'persistentPeers' | 'counts' | 'addressBookPath'
  >
}

/** All threads but the main one, connected with each other. */
export interface Threads {
  readonly executor: Remote<ExecutorService>
  readonly network: Remote<NetworkService>
  /** the main thread's ends, see `createNetworkTransport` */
  readonly networkPorts: Pick<NetworkTransportOptions, 'control' | 'reports' | 'evidence'>
  /** the main thread's own calls: they disturb no client's */
  readonly views: readonly Remote<ViewService>[]
  /** Resolves when the RPC servers listen: soon after the first block is published, so that nobody sees a chain without. */
  listening(): Promise<void>
  /** rejects when any of the threads dies */
  readonly died: Promise<never>
  metrics(): Promise<readonly MetricsSnapshot[]>
  /** Ends the threads that serve clients, then those that serve consensus. */
  stop(): Promise<void>
}

/** A started thread whose functions can be called. */
interface Started<S extends Readonly<Record<string, (...args: never[]) => unknown>>> {
  readonly thread: Thread
  readonly remote: Remote<S>
}

/**
 * Starts the executor and the threads that read its database: pool, views, sockets. They load their modules at the same time, but
 * open the database only when the executor has. Each pair that talks has a channel of its own.
 * @throws DatabaseError, or an error that names the thread and has what it failed of as its cause
 */
export async function startThreads(options: ThreadsOptions): Promise<Threads> {
  // What all handles share belongs to the one that was opened first (see Database). This one outlives every thread, whichever dies.
  const database = await Database.open(options.location)
  try {
    const threads = await startAll(options)
    return {
      ...threads,
      stop: async () => {
        await threads.stop()
        await database.close()
      },
    }
  } catch (error) {
    await database.close()
    throw error
  }
}

async function startAll(options: ThreadsOptions): Promise<Threads> {
  tuneCompiler()
  const wiring = wire(options.config.rpc)
  const engine = await chooseEngine(options.config.evmEngine)
  const shadow = await chooseShadow(options.config)
  const started: Thread[] = []
  const start: StartThread = (role, index, data, transfer) => {
    const name = index === undefined ? role : `${role}-${index}`
    const thread = spawnThread(name, new URL(`./${role}.ts`, import.meta.url), data, transfer)
    started.push(thread)
    return { thread, remote: connect(thread.control) }
  }
  try {
    const executorThread = startExecutor(options, wiring, { engine, shadow }, start)
    const poolThread = startPool(options, wiring, start)
    const viewThreads = startViews(options, wiring, engine, start)
    const socketThreads = wiring.sockets.map((_, index) => startSocket(options, wiring, start, index))
    const networkThread = startNetwork(options, wiring, start)

    const executor = executorThread.remote
    await answered(executorThread.thread, executor.info())
    openGate(wiring.databaseGate)
    const pool = poolThread.remote
    await answered(poolThread.thread, pool.status())
    const views = viewThreads.map(({ remote }) => remote)
    await Promise.all(viewThreads.map(({ thread, remote }) => answered(thread, remote.metrics())))
    const sockets = socketThreads.map(({ remote }) => remote)
    const network = networkThread.remote
    await answered(networkThread.thread, network.metrics())
    const mainToViews = wiring.mainToViews.map(({ left }) => left)
    const died = Promise.race(started.map((thread) => thread.died))
    // Consensus starts before anybody watches.
    died.catch(() => undefined)
    return {
      executor,
      network,
      networkPorts: {
        control: networkThread.thread.control,
        reports: wiring.network.reports.right,
        evidence: wiring.network.evidence.right,
      },
      views: mainToViews.map((port) => connect<ViewService>(port)),
      listening: async () => {
        await Promise.all(socketThreads.map(({ thread, remote }) => answered(thread, remote.metrics())))
      },
      died,
      metrics: () => Promise.all([executor, pool, network, ...views, ...sockets].map((remote) => remote.metrics())),
      stop: async () => {
        // A thread that died cannot close; `died` tells why, and the others still close in order.
        for (const group of [sockets, [network], views, [pool], [executor]]) {
          await Promise.allSettled(group.map((remote) => remote.close()))
        }
        for (const port of mainToViews) port.close()
        await Promise.all(started.map((thread) => thread.stop()))
      },
    }
  } catch (error) {
    // All but the executor come there, unless they died too.
    await untilWaiting(wiring.databaseGate, started.length - 1, LOADING_MS)
    await Promise.all(started.map((thread) => thread.stop()))
    throw error
  }
}

type StartThread = <S extends Readonly<Record<string, (...args: never[]) => unknown>>>(
  role: 'executor' | 'pool' | 'view' | 'socket' | 'network',
  index: number | undefined,
  data: unknown,
  transfer: readonly MessagePort[],
) => Started<S>

/** Waits for a thread's first answer, which comes when it is ready. A thread that has died tells why before the call does. */
function answered<T>(thread: Thread, answer: Promise<T>): Promise<T> {
  return Promise.race([thread.died, answer])
}

function startExecutor(
  { config, location, chain, genesis }: ThreadsOptions,
  { headChannel, publishedHeight, executorToPool }: Wiring,
  engines: Pick<ExecutorData, 'engine' | 'shadow'>,
  start: StartThread,
): Started<ExecutorService> {
  const data: ExecutorData = {
    config,
    location,
    chain,
    genesis,
    ...engines,
    pool: executorToPool.left,
    headChannel,
    publishedHeight,
  }
  return start('executor', undefined, data, [data.pool])
}

function startPool(
  { location, chain, nodeState }: ThreadsOptions,
  { databaseGate, executorToPool, views, sockets, network, pendingChannel, pendingWatch }: Wiring,
  start: StartThread,
): Started<PoolService> {
  const channels = [...views, ...sockets].map(({ toPool }) => toPool)
  const clients = [executorToPool.right, ...channels.map(({ calls }) => calls.right)]
  const admissions = channels.map((channels) => channels.admissions.right)
  const data: PoolData = {
    location,
    databaseGate,
    chain,
    clients,
    admissions,
    gossip: { admissions: network.admissions.right, announcements: network.announcements.left },
    nodeState,
    pendingChannel,
    pendingWatch,
  }
  return start('pool', undefined, data, [...clients, ...admissions, ...Object.values(data.gossip)])
}

function startViews(
  options: ThreadsOptions,
  wiring: Wiring,
  engine: EngineChoice,
  start: StartThread,
): readonly Started<ViewService>[] {
  const { identity, config } = options
  const node = { identity, pruningWindow: config.pruning === 'archive' ? 0 : config.pruning }
  const { skipUpgrades } = config
  return wiring.views.map(({ toPool }, index) => {
    const callers = [...wiring.sockets.map(({ toViews }) => toViews), wiring.network.toViews, wiring.mainToViews]
    const clients = callers.map((toViews) => toViews[index]!.right)
    const data: ViewData = { ...rpcData(options, wiring, toPool), clients, engine, node, skipUpgrades }
    return start('view', index, data, [...Object.values(data.pool), ...clients])
  })
}

function startSocket(
  options: ThreadsOptions,
  wiring: Wiring,
  start: StartThread,
  index: number,
): Started<SocketService> {
  const { config, identity, validator, genesisPath } = options
  const { toPool, toViews, toFilters, toMain } = wiring.sockets[index]!
  const isOwner = index === 0
  serve(toMain.right, options.node)
  const data: SocketData = {
    ...rpcData(options, wiring, toPool),
    views: toViews.map(({ left }) => left),
    filterClients: isOwner ? wiring.sockets.slice(1).map((other) => other.toFilters.right) : [],
    filterOwner: isOwner ? undefined : toFilters.left,
    pendingChannel: wiring.pendingChannel,
    pendingWatch: wiring.pendingWatch,
    host: config.rpc.host,
    port: config.rpc.port,
    sharesPort: wiring.sockets.length > 1,
    corsOrigins: config.rpc.corsOrigins,
    identity,
    validator,
    node: toMain.left,
    genesisPath,
  }
  const owner = data.filterOwner === undefined ? [] : [data.filterOwner]
  return start('socket', index, data, [
    ...Object.values(data.pool),
    ...data.views,
    ...data.filterClients,
    ...owner,
    data.node,
  ])
}

function startNetwork(
  { config, location, chain, network, identity }: ThreadsOptions,
  { databaseGate, publishedHeight, network: channels }: Wiring,
  start: StartThread,
): Started<NetworkService> {
  const pool = { admissions: channels.admissions.left, announcements: channels.announcements.right }
  const data: NetworkData = {
    location,
    databaseGate,
    chain: { chainId: chain.chainId, genesisHash: chain.genesisHash },
    publishedHeight,
    ...network,
    externalAddress: config.p2p.externalAddress,
    rpcAddress: identity.rpcAddress === '' ? undefined : identity.rpcAddress,
    log: config.log,
    reports: channels.reports.left,
    evidence: channels.evidence.left,
    pool,
    views: channels.toViews.map(({ left }) => left),
  }
  return start('network', undefined, data, [data.reports, data.evidence, ...Object.values(pool), ...data.views])
}

function rpcData(
  options: ThreadsOptions,
  { databaseGate, headChannel, publishedHeight }: Wiring,
  toPool: PoolChannels,
): RpcThreadData {
  const { config, location, chain, clientVersion, nodeState } = options
  const { limits } = config.rpc
  const pool = { calls: toPool.calls.left, admissions: toPool.admissions.left }
  return {
    location,
    databaseGate,
    chain,
    limits,
    clientVersion,
    log: config.log,
    pool,
    headChannel,
    publishedHeight,
    nodeState,
  }
}
