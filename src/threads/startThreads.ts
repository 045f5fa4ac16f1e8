import { randomUUID } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import type { MessagePort } from 'node:worker_threads'
import type { GenesisState } from '../app/genesisBlock.ts'
import type { ChainConfig } from '../chain/chainConfig.ts'
import type { Evidence } from '../chain/consensus/types.ts'
import type { Config } from '../config/config.ts'
import { chooseEngine, type EngineChoice } from '../evm/engines/createEngine.ts'
import type { NodeIdentity, OwnValidator } from '../rpc/comet/status.ts'
import { Database } from '../storage/database.ts'
import { START_BYTES, verifyFiles } from '../storage/verifyFiles.ts'
import type { MetricsSnapshot } from '../telemetry/threadMetrics.ts'
import { type NodeCopies, serveEvidence } from './cometNode.ts'
import type { ExecutorData, ExecutorService } from './executor.ts'
import type { NetworkData, NetworkService } from './network.ts'
import type { NetworkTransportOptions } from './networkTransport.ts'
import type { PoolData, PoolService } from './pool.ts'
import { connect, type Remote, type Service } from './port.ts'
import type { RpcThreadData } from './rpcContext.ts'
import type { ScrubberData, ScrubberService } from './scrubber.ts'
import {
  createGate,
  createPendingWatch,
  createPublishedHeight,
  type NodeState,
  openGate,
  untilWaiting,
} from './sharedMemory.ts'
import type { SocketData, SocketService } from './socket.ts'
import { type Channel, channel, spawnThread, type Thread } from './spawn.ts'
import { chooseShadow } from './threadEngine.ts'
import type { ViewData, ViewService } from './view.ts'

/** Enough for threads to load their modules on the slowest machines. */
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
  /** what socket threads know of consensus and the network */
  readonly copies: NodeCopies
  /** takes new evidence from clients, which is valid */
  readonly addEvidence: (evidence: Evidence) => void
  readonly genesisPath: string
  /** the node towards its peers */
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
  /** the main thread's own calls, on channels of their own: they do not wait for calls of clients */
  readonly views: readonly Remote<ViewService>[]
  /** Resolves when the RPC servers listen: soon after the first block is published, so that clients see no chain without blocks. */
  listening(): Promise<void>
  /** rejects when any of the threads dies */
  readonly died: Promise<never>
  metrics(): Promise<readonly MetricsSnapshot[]>
  /** Ends all threads in the order that {@link startThreads} gives. */
  stop(): Promise<void>
}

/** A started thread whose functions can be called. */
interface Started<S extends Service> {
  readonly thread: Thread
  readonly remote: Remote<S>
}

/**
 * Starts the node's threads and connects them with each other and with this one, the main thread:
 *
 * 1. The main thread checks the files of the database: LevelDB would drop writes from damaged ones without a word, already when it opens
 *    them. Then it opens the database, although it reads nothing there. What all handles share belongs to the handle that was opened
 *    first (see `Database`), and this one outlives every thread, whichever dies.
 * 2. The compiler is tuned before there are threads: a thread takes the setting over when it starts.
 * 3. All threads start, to load their modules at the same time: executor, pool, views, sockets, network, scrubber. All but the executor then
 *    wait at a gate, since there may be no database yet.
 * 4. The executor answers when the database is open and holds a chain: the gate opens, and the others open it too.
 * 5. Pool, views and network answer when they are ready, which consensus needs. The sockets are not waited for: they let clients in
 *    once there is a first block, which consensus has yet to make (`listening`).
 *
 * The stop closes each thread before those that it asks: sockets (no more clients), network (no more peers), views, pool, executor.
 * Then the threads end, and the main thread's handle of the database closes last.
 * @throws DatabaseError, or an error that names the thread that failed, with its error as the cause
 */
export async function startThreads(options: ThreadsOptions): Promise<Threads> {
  // 1.
  verifyFiles(options.location, START_BYTES)
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
  // 2.
  tuneCompiler()
  const wiring = wire(options.config.rpc)
  const engine = await chooseEngine(options.config.evmEngine)
  const shadow = await chooseShadow(options.config)
  const started: Thread[] = []
  /** threads that come to the gate, or were there: all but the executor and those that died */
  let living = 0
  const start: StartThread = (role, index, data, transfer) => {
    const name = index === undefined ? role : `${role}-${index}`
    const thread = spawnThread(name, new URL(`./${role}.ts`, import.meta.url), data, transfer)
    started.push(thread)
    if (role !== 'executor') {
      living++
      thread.died.catch(() => {
        living--
      })
    }
    return { thread, remote: connect(thread.control) }
  }
  try {
    // 3.
    const executor = startExecutor(options, wiring, { engine, shadow }, start)
    const pool = startPool(options, wiring, start)
    const views = startViews(options, wiring, engine, start)
    const sockets = wiring.sockets.map((_, index) => startSocket(options, wiring, start, index))
    const network = startNetwork(options, wiring, start)
    const scrubber = startScrubber(options, wiring, start)
    const died = Promise.race(started.map((thread) => thread.died))
    // Nothing awaits it before consensus runs.
    died.catch(() => undefined)

    // 4.
    await answered(executor.thread, executor.remote.info())
    openGate(wiring.databaseGate)

    // 5.
    for (const { thread, remote } of [pool, ...views, network]) await answered(thread, remote.metrics())

    const mainToViews = wiring.mainToViews.map(({ left }) => left)
    return {
      executor: executor.remote,
      network: network.remote,
      networkPorts: {
        control: network.thread.control,
        reports: wiring.network.reports.right,
        evidence: wiring.network.evidence.right,
      },
      views: mainToViews.map((port) => connect<ViewService>(port)),
      listening: async () => {
        await Promise.all(sockets.map(({ thread, remote }) => answered(thread, remote.metrics())))
      },
      died,
      metrics: () =>
        Promise.all([executor, pool, network, scrubber, ...views, ...sockets].map(({ remote }) => remote.metrics())),
      stop: async () => {
        // A thread that died cannot close: `died` has its error, and the others still close in order.
        for (const group of [sockets, [network], views, [pool], [executor]]) {
          await Promise.allSettled(group.map(({ remote }) => remote.close()))
        }
        for (const port of mainToViews) port.close()
        await Promise.all(started.map((thread) => thread.stop()))
      },
    }
  } catch (error) {
    await untilWaiting(wiring.databaseGate, () => living, LOADING_MS)
    await Promise.all(started.map((thread) => thread.stop()))
    throw error
  }
}

type StartThread = <S extends Service>(
  role: 'executor' | 'pool' | 'view' | 'socket' | 'network' | 'scrubber',
  index: number | undefined,
  data: unknown,
  transfer: readonly MessagePort[],
) => Started<S>

/** Waits for a thread's first answer, which comes when the thread is ready. Rejects with the thread's own error when it dies. */
function answered<T>(thread: Thread, answer: Promise<T>): Promise<T> {
  return Promise.race([thread.died, answer])
}

/** Ten times V8's own number. */
const CALLS_BEFORE_LAST_TIER = 30_000

/**
 * Lets V8 wait longer before it compiles a function with its slowest compiler. Every thread compiles for itself, and right after the
 * start all of them do: with V8's own setting this took a sixth of all processor time in the first seconds of full load. Functions
 * that are called often enough are compiled a little later; the code of the tier before is nearly as fast.
 */
function tuneCompiler(): void {
  setFlagsFromString(`--invocation-count-for-turbofan=${CALLS_BEFORE_LAST_TIER}`)
}

/** All channels between threads (the left end is the caller's, the right end the server's), and the memory that they share. */
type Wiring = ReturnType<typeof wire>

function wire({ viewThreads, socketThreads }: { readonly viewThreads: number; readonly socketThreads: number }) {
  const instance = randomUUID()
  const toViews = (): readonly Channel[] => Array.from({ length: viewThreads }, channel)
  return {
    /** opens when the database holds a chain */
    databaseGate: createGate(),
    headChannel: `coind-heads-${instance}`,
    publishedHeight: createPublishedHeight(),
    pendingChannel: `coind-pending-${instance}`,
    pendingWatch: createPendingWatch(),
    executorToPool: channel(),
    views: Array.from({ length: viewThreads }, () => ({ toPool: poolChannels() })),
    sockets: Array.from({ length: socketThreads }, () => ({
      toPool: poolChannels(),
      /** one for each view thread */
      toViews: toViews(),
      /** to the filters of the first socket thread, which does not use its own */
      toFilters: channel(),
      toMain: channel(),
    })),
    network: {
      /** transactions of peers, to the pool */
      admissions: channel(),
      /** transactions of this node's clients, from the pool */
      announcements: channel(),
      toViews: toViews(),
      /** messages and events of peers to the main thread, messages for them back */
      reports: channel(),
      /** evidence of peers, for the main thread to check */
      evidence: channel(),
    },
    mainToViews: toViews(),
  }
}

function poolChannels(): { readonly calls: Channel; readonly admissions: Channel } {
  return { calls: channel(), admissions: channel() }
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
  { config, location, chain, nodeState }: ThreadsOptions,
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
    log: config.log,
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
  serveEvidence(toMain.right, options.addEvidence)
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
    rateLimit: config.rpc.rateLimit,
    trustedProxies: config.rpc.trustedProxies,
    corsOrigins: config.rpc.corsOrigins,
    identity,
    validator,
    copies: options.copies,
    main: toMain.left,
    genesisPath,
  }
  const owner = data.filterOwner === undefined ? [] : [data.filterOwner]
  return start('socket', index, data, [
    ...Object.values(data.pool),
    ...data.views,
    ...data.filterClients,
    ...owner,
    data.main,
  ])
}

function startNetwork(
  { config, location, chain, network, identity, copies }: ThreadsOptions,
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
    copies,
  }
  return start('network', undefined, data, [data.reports, data.evidence, ...Object.values(pool), ...data.views])
}

function startScrubber(
  { location }: ThreadsOptions,
  { databaseGate }: Wiring,
  start: StartThread,
): Started<ScrubberService> {
  return start('scrubber', undefined, { location, databaseGate } satisfies ScrubberData, [])
}

/** What view and socket threads are started with alike. */
function rpcData(
  options: ThreadsOptions,
  { databaseGate, headChannel, publishedHeight }: Wiring,
  toPool: ReturnType<typeof poolChannels>,
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
