import { randomUUID } from 'node:crypto'
import type { MessagePort } from 'node:worker_threads'
import type { GenesisState } from '../app/genesisState.ts'
import type { ChainConfig } from '../chain/chainConfig.ts'
import type { Config } from '../config/config.ts'
import type { NodeIdentity, OwnValidator } from '../rpc/comet/status.ts'
import type { MetricsSnapshot } from '../telemetry/threadMetrics.ts'
import type { ExecutorData, ExecutorService } from './executor.ts'
import type { PoolData, PoolService } from './pool.ts'
import { connect, type Remote } from './port.ts'
import type { RpcThreadData } from './rpcData.ts'
import type { SocketData, SocketService } from './socket.ts'
import { type Channel, channel, spawnThread, type Thread } from './spawn.ts'
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
  /** port that the RPC servers listen on */
  readonly rpcPort: number
  /** rejects when any of the threads dies */
  readonly died: Promise<never>
  metrics(): Promise<readonly MetricsSnapshot[]>
  /** Ends the threads that serve clients, then those that serve consensus. */
  stop(): Promise<void>
}

/** Channels between the threads: the left end is the caller's, the right end the server's. */
interface Wiring {
  readonly headChannel: string
  readonly pendingChannel: string
  readonly executorToPool: Channel
  readonly views: readonly { readonly toPool: Channel }[]
  readonly sockets: readonly {
    readonly toPool: Channel
    /** one a view thread */
    readonly toViews: readonly Channel[]
    /** to the filters of the first socket thread; unused by that one */
    readonly toFilters: Channel
  }[]
}

function wire({ viewThreads, socketThreads }: Config['rpc']): Wiring {
  const instance = randomUUID()
  return {
    headChannel: `coind-heads-${instance}`,
    pendingChannel: `coind-pending-${instance}`,
    executorToPool: channel(),
    views: Array.from({ length: viewThreads }, () => ({ toPool: channel() })),
    sockets: Array.from({ length: socketThreads }, () => ({
      toPool: channel(),
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
 * Starts the executor, and when its database is open the threads that read it: pool, views, sockets. Each pair that talks
 * has a channel of its own.
 */
export async function startThreads(options: ThreadsOptions): Promise<Threads> {
  const wiring = wire(options.config.rpc)
  const started: Thread[] = []
  const start: StartThread = (role, index, data, transfer) => {
    const name = index === undefined ? role : `${role}-${index}`
    const thread = spawnThread(name, new URL(`./${role}.ts`, import.meta.url), data, transfer)
    started.push(thread)
    return { thread, remote: connect(thread.control) }
  }
  try {
    const executor = await startExecutor(options, wiring, start)
    const pool = await startPool(options, wiring, start)
    const views = await startViews(options, wiring, start)
    const { sockets, rpcPort } = await startSockets(options, wiring, start)
    return {
      executor,
      rpcPort,
      died: Promise.race(started.map((thread) => thread.died)),
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

/** Waits for a thread's first answer, which comes when it is ready. */
function answered<T>(thread: Thread, answer: Promise<T>): Promise<T> {
  return Promise.race([answer, thread.died])
}

async function startExecutor(
  { config, location, chain, genesis }: ThreadsOptions,
  { headChannel, executorToPool }: Wiring,
  start: StartThread,
): Promise<Remote<ExecutorService>> {
  const data: ExecutorData = { config, location, chain, genesis, pool: executorToPool.left, headChannel }
  const { thread, remote } = start<ExecutorService>('executor', undefined, data, [data.pool])
  await answered(thread, remote.info())
  return remote
}

async function startPool(
  { location, chain }: ThreadsOptions,
  { executorToPool, views, sockets, pendingChannel }: Wiring,
  start: StartThread,
): Promise<Remote<PoolService>> {
  const clients = [executorToPool, ...views.map(({ toPool }) => toPool), ...sockets.map(({ toPool }) => toPool)]
  const data: PoolData = { location, chain, clients: clients.map(({ right }) => right), pendingChannel }
  const { thread, remote } = start<PoolService>('pool', undefined, data, data.clients)
  await answered(thread, remote.status())
  return remote
}

async function startViews(
  options: ThreadsOptions,
  wiring: Wiring,
  start: StartThread,
): Promise<readonly Remote<ViewService>[]> {
  const views = wiring.views.map(({ toPool }, index) => {
    const clients = wiring.sockets.map(({ toViews }) => toViews[index]!.right)
    const data: ViewData = { ...rpcData(options, wiring, toPool.left), clients }
    return start<ViewService>('view', index, data, [data.pool, ...clients])
  })
  await Promise.all(views.map(({ thread, remote }) => answered(thread, remote.metrics())))
  return views.map(({ remote }) => remote)
}

/** One after the other: the first one may choose the port that all of them share. */
async function startSockets(
  options: ThreadsOptions,
  wiring: Wiring,
  start: StartThread,
): Promise<{ readonly sockets: readonly Remote<SocketService>[]; readonly rpcPort: number }> {
  const { config, identity, validator } = options
  const sockets: Remote<SocketService>[] = []
  let rpcPort = config.rpc.port
  for (const [index, { toPool, toViews, toFilters }] of wiring.sockets.entries()) {
    const isOwner = index === 0
    const data: SocketData = {
      ...rpcData(options, wiring, toPool.left),
      views: toViews.map(({ left }) => left),
      filterClients: isOwner ? wiring.sockets.slice(1).map((other) => other.toFilters.right) : [],
      filterOwner: isOwner ? undefined : toFilters.left,
      pendingChannel: wiring.pendingChannel,
      host: config.rpc.host,
      port: rpcPort,
      sharesPort: wiring.sockets.length > 1,
      corsOrigins: config.rpc.corsOrigins,
      identity,
      validator,
    }
    const owner = data.filterOwner === undefined ? [] : [data.filterOwner]
    const ports = [data.pool, ...data.views, ...data.filterClients, ...owner]
    const { thread, remote } = start<SocketService>('socket', index, data, ports)
    rpcPort = await answered(thread, remote.listeningPort())
    sockets.push(remote)
  }
  return { sockets, rpcPort }
}

function rpcData(options: ThreadsOptions, { headChannel }: Wiring, pool: MessagePort): RpcThreadData {
  const { config, location, chain, clientVersion } = options
  return { location, chain, limits: config.rpc.limits, clientVersion, log: config.log, pool, headChannel }
}
