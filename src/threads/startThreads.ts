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
import { channel, spawnThread, type Thread } from './spawn.ts'
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

/**
 * Starts the executor, and when its database is open the threads that read it: pool, views, sockets. Each pair that talks
 * has a channel of its own.
 */
export async function startThreads(options: ThreadsOptions): Promise<Threads> {
  const { config, location, chain } = options
  const instance = randomUUID()
  const headChannel = `coind-heads-${instance}`
  const pendingChannel = `coind-pending-${instance}`
  const started: Thread[] = []
  const start = <T>(name: string, data: T, transfer: readonly MessagePort[]): Thread => {
    const role = name.split('-')[0]!
    const thread = spawnThread(name, new URL(`./${role}.ts`, import.meta.url), data, transfer)
    started.push(thread)
    return thread
  }
  /** Waits for a thread's first answer, which comes when it is ready. */
  const ready = async <T>(thread: Thread, answer: Promise<T>): Promise<T> => Promise.race([answer, thread.died])

  try {
    const poolOfExecutor = channel()
    const executorThread = start<ExecutorData>(
      'executor',
      { config, location, chain, genesis: options.genesis, pool: poolOfExecutor.left, headChannel },
      [poolOfExecutor.left],
    )
    const executor = connect<ExecutorService>(executorThread.control)
    await ready(executorThread, executor.info())

    const views = Array.from({ length: config.rpc.viewThreads }, () => ({
      pool: channel(),
      clients: [] as MessagePort[],
    }))
    const sockets = Array.from({ length: config.rpc.socketThreads }, () => ({
      pool: channel(),
      views: views.map((view) => {
        const { left, right } = channel()
        view.clients.push(right)
        return left
      }),
      filters: channel(),
    }))

    const poolClients = [poolOfExecutor, ...views.map(({ pool }) => pool), ...sockets.map(({ pool }) => pool)].map(
      ({ right }) => right,
    )
    const poolThread = start<PoolData>('pool', { location, chain, clients: poolClients, pendingChannel }, poolClients)
    const pool = connect<PoolService>(poolThread.control)
    await ready(poolThread, pool.status())

    const rpcData: Omit<RpcThreadData, 'pool'> = {
      location,
      chain,
      limits: config.rpc.limits,
      clientVersion: options.clientVersion,
      log: config.log,
      headChannel,
    }
    const viewRemotes: Remote<ViewService>[] = []
    for (const [index, view] of views.entries()) {
      const data: ViewData = { ...rpcData, pool: view.pool.left, clients: view.clients }
      const thread = start(`view-${index}`, data, [data.pool, ...data.clients])
      const remote = connect<ViewService>(thread.control)
      viewRemotes.push(remote)
      await ready(thread, remote.metrics())
    }

    const socketRemotes: Remote<SocketService>[] = []
    let rpcPort = config.rpc.port
    for (const [index, socket] of sockets.entries()) {
      // The first socket thread owns the filters; it serves the other threads' calls on them.
      const filterClients = index === 0 ? sockets.slice(1).map(({ filters }) => filters.right) : []
      const filterOwner = index === 0 ? undefined : socket.filters.left
      const data: SocketData = {
        ...rpcData,
        pool: socket.pool.left,
        views: socket.views,
        filterClients,
        filterOwner,
        pendingChannel,
        host: config.rpc.host,
        port: rpcPort,
        sharesPort: sockets.length > 1,
        corsOrigins: config.rpc.corsOrigins,
        identity: options.identity,
        validator: options.validator,
      }
      const ports = [data.pool, ...data.views, ...filterClients, ...(filterOwner === undefined ? [] : [filterOwner])]
      const thread = start(`socket-${index}`, data, ports)
      const remote = connect<SocketService>(thread.control)
      socketRemotes.push(remote)
      rpcPort = await ready(thread, remote.listeningPort())
    }

    return {
      executor,
      rpcPort,
      died: Promise.race(started.map((thread) => thread.died)),
      metrics: () => Promise.all([executor, pool, ...viewRemotes, ...socketRemotes].map((remote) => remote.metrics())),
      stop: async () => {
        await Promise.all(socketRemotes.map((remote) => remote.close()))
        await Promise.all(viewRemotes.map((remote) => remote.close()))
        await pool.close()
        await executor.close()
        await Promise.all(started.map((thread) => thread.stop()))
      },
    }
  } catch (error) {
    await Promise.all(started.map((thread) => thread.stop()))
    throw error
  }
}
