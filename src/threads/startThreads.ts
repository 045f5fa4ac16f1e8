import { randomUUID } from 'node:crypto'
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
import { createGate, type Gate, openGate } from './gate.ts'
import { createPendingWatch, type PendingWatch } from './pendingWatch.ts'
import type { PoolData, PoolService } from './pool.ts'
import { connect, type Remote } from './port.ts'
import { createPublishedHeight, type PublishedHeight } from './publishedHeight.ts'
import type { RpcThreadData } from './rpcData.ts'
import type { SocketData, SocketService } from './socket.ts'
import { type Channel, channel, spawnThread, type Thread } from './spawn.ts'
import { chooseShadow } from './threadEngine.ts'
import type { ViewData, ViewService } from './view.ts'

export interface ThreadsOptions {
  readonly config: Config
  /** directory of the database */
  readonly location: string
  readonly chain: ChainConfig
  readonly genesis: GenesisState
  readonly clientVersion: string
  readonly identity: NodeIdentity
  readonly validator: OwnValidator
}

/** All threads but the main one, connected with each other. */
export interface Threads {
  readonly executor: Remote<ExecutorService>
  /** Resolves when the RPC servers listen: soon after the first block is published, so that nobody sees a chain without. */
  listening(): Promise<void>
  /** rejects when any of the threads dies */
  readonly died: Promise<never>
  metrics(): Promise<readonly MetricsSnapshot[]>
  /** Ends the threads that serve clients, then those that serve consensus. */
  stop(): Promise<void>
}

/** Channels from a thread to the pool. */
interface PoolChannels {
  readonly calls: Channel
  readonly admissions: Channel
}

function poolChannels(): PoolChannels {
  return { calls: channel(), admissions: channel() }
}

/** Channels between the threads: the left end is the caller's, the right end the server's. */
interface Wiring {
  /** opens when the database holds a chain */
  readonly databaseGate: Gate
  readonly headChannel: string
  readonly publishedHeight: PublishedHeight
  readonly pendingChannel: string
  readonly pendingWatch: PendingWatch
  readonly executorToPool: Channel
  readonly views: readonly { readonly toPool: PoolChannels }[]
  readonly sockets: readonly {
    readonly toPool: PoolChannels
    /** one a view thread */
    readonly toViews: readonly Channel[]
    /** to the filters of the first socket thread; unused by that one */
    readonly toFilters: Channel
  }[]
}

function wire({ viewThreads, socketThreads }: Config['rpc']): Wiring {
  const instance = randomUUID()
  return {
    databaseGate: createGate(),
    headChannel: `coind-heads-${instance}`,
    publishedHeight: createPublishedHeight(),
    pendingChannel: `coind-pending-${instance}`,
    pendingWatch: createPendingWatch(),
    executorToPool: channel(),
    views: Array.from({ length: viewThreads }, () => ({ toPool: poolChannels() })),
    sockets: Array.from({ length: socketThreads }, () => ({
      toPool: poolChannels(),
      toViews: Array.from({ length: viewThreads }, channel),
      toFilters: channel(),
    })),
  }
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

    const executor = executorThread.remote
    await answered(executorThread.thread, executor.info())
    openGate(wiring.databaseGate)
    const pool = poolThread.remote
    await answered(poolThread.thread, pool.status())
    const views = viewThreads.map(({ remote }) => remote)
    await Promise.all(viewThreads.map(({ thread, remote }) => answered(thread, remote.metrics())))
    const sockets = socketThreads.map(({ remote }) => remote)
    const died = Promise.race(started.map((thread) => thread.died))
    // Consensus starts before anybody watches.
    died.catch(() => undefined)
    return {
      executor,
      listening: async () => {
        await Promise.all(socketThreads.map(({ thread, remote }) => answered(thread, remote.metrics())))
      },
      died,
      metrics: () => Promise.all([executor, pool, ...views, ...sockets].map((remote) => remote.metrics())),
      stop: async () => {
        // A thread that died cannot close; `died` tells why, and the others still close in order.
        for (const group of [sockets, views, [pool], [executor]]) {
          await Promise.allSettled(group.map((remote) => remote.close()))
        }
        await Promise.all(started.map((thread) => thread.stop()))
      },
    }
  } catch (error) {
    await Promise.all(started.map((thread) => thread.stop()))
    throw error
  }
}

type StartThread = <S extends Readonly<Record<string, (...args: never[]) => unknown>>>(
  role: 'executor' | 'pool' | 'view' | 'socket',
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
  { location, chain }: ThreadsOptions,
  { databaseGate, executorToPool, views, sockets, pendingChannel, pendingWatch }: Wiring,
  start: StartThread,
): Started<PoolService> {
  const channels = [...views, ...sockets].map(({ toPool }) => toPool)
  const clients = [executorToPool.right, ...channels.map(({ calls }) => calls.right)]
  const admissions = channels.map((channels) => channels.admissions.right)
  const data: PoolData = { location, databaseGate, chain, clients, admissions, pendingChannel, pendingWatch }
  return start('pool', undefined, data, [...clients, ...admissions])
}

function startViews(
  options: ThreadsOptions,
  wiring: Wiring,
  engine: EngineChoice,
  start: StartThread,
): readonly Started<ViewService>[] {
  return wiring.views.map(({ toPool }, index) => {
    const clients = wiring.sockets.map(({ toViews }) => toViews[index]!.right)
    const data: ViewData = { ...rpcData(options, wiring, toPool), clients, engine }
    return start('view', index, data, [...Object.values(data.pool), ...clients])
  })
}

function startSocket(
  options: ThreadsOptions,
  wiring: Wiring,
  start: StartThread,
  index: number,
): Started<SocketService> {
  const { config, identity, validator } = options
  const { toPool, toViews, toFilters } = wiring.sockets[index]!
  const isOwner = index === 0
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
  }
  const owner = data.filterOwner === undefined ? [] : [data.filterOwner]
  return start('socket', index, data, [...Object.values(data.pool), ...data.views, ...data.filterClients, ...owner])
}

function rpcData(
  options: ThreadsOptions,
  { databaseGate, headChannel, publishedHeight }: Wiring,
  toPool: PoolChannels,
): RpcThreadData {
  const { config, location, chain, clientVersion } = options
  const { limits } = config.rpc
  const pool = { calls: toPool.calls.left, admissions: toPool.admissions.left }
  return { location, databaseGate, chain, limits, clientVersion, log: config.log, pool, headChannel, publishedHeight }
}
