import { setTimeout } from 'node:timers/promises'
import type { MessagePort } from 'node:worker_threads'
import type { Evidence } from '../../chain/comet/types.ts'
import type { ChainConfig } from '../../chain/genesis/chainConfig.ts'
import type { Config } from '../../config/config.ts'
import { startedInTime } from '../../config/startDeadline.ts'
import type { ValidatorIdentity } from '../../consensus/validatorKeys.ts'
import type { EngineChoice } from '../../evm/engines/createEngine.ts'
import type { NodeIdentity } from '../../rpc/comet/status.ts'
import type { TracingChannel } from '../../telemetry/spans.ts'
import type { MetricsSnapshot } from '../../telemetry/threadMetrics.ts'
import type { NetworkService } from '../roles/network/networkThread.ts'
import type { PoolService } from '../roles/pool/poolThread.ts'
import { type NodeCopies, serveEvidence } from '../roles/socket/cometNode.ts'
import type { SocketData, SocketService } from '../roles/socket/socketThread.ts'
import type { ViewData, ViewService } from '../roles/view/viewThread.ts'
import { connectReplaceable, notify, type Remote, type Service } from '../wire/port.ts'
import type { RpcThreadData } from '../wire/rpcContext.ts'
import { forgetWatchers, type Gate, type NodeState, type PublishedHeight, type Watchers } from '../wire/sharedMemory.ts'
import { answered, channel, type Started, type StartThread } from './spawn.ts'

/** A thread that has run for this long begins again with the shortest wait. */
const STEADY_MS = 60_000
/** The wait before a thread is started again: twice as long each time while it does not become steady. */
const RESTART_MS = { shortest: 100, longest: 30_000 } as const

export interface ClientThreadsOptions {
  readonly config: Config
  /** directory of the database */
  readonly location: string
  readonly chain: ChainConfig
  readonly clientVersion: string
  readonly identity: NodeIdentity
  readonly validator: readonly ValidatorIdentity[]
  readonly nodeState: NodeState
  /** what socket threads know of consensus and the network */
  readonly copies: NodeCopies
  /** takes new evidence from clients, which is valid */
  readonly addEvidence: (evidence: Evidence) => void
  readonly genesisPath: string
  /** a thread has ended and is started again after a wait */
  readonly onRestart: (thread: string, error: unknown, waitMs: number) => void
}

/** Memory that client threads share with others, and the threads that they are linked with. */
export interface ClientThreadsLinks {
  readonly databaseGate: Gate
  readonly publishedHeight: PublishedHeight
  readonly pendingChannel: string
  readonly pendingWatch: Watchers
  readonly engine: EngineChoice
  readonly tracing: TracingChannel | undefined
  /** control ports: their threads take the ends of new channels there */
  readonly pool: MessagePort
  readonly network: MessagePort
}

export interface ClientThreads {
  /** the main thread's own calls, on channels of their own: they do not wait for calls of clients */
  readonly views: readonly Remote<ViewService>[]
  /** Resolves when all view threads are ready. Rejects with the error of one that died before. */
  viewsReady(): Promise<void>
  /** Resolves when the RPC servers listen. Rejects as `viewsReady`. */
  listening(): Promise<void>
  /** rejects when one of them died that cannot be started again */
  readonly failed: Promise<never>
  /** those that run */
  metrics(): Promise<readonly MetricsSnapshot[]>
  /** Starts no thread again from now on. Returns the running ones. */
  halt(): { readonly sockets: readonly Started<SocketService>[]; readonly views: readonly Started<ViewService>[] }
}

/** One thread after the other in the same place. */
interface Place<S extends Service> {
  /** undefined between two */
  readonly present: Started<S> | undefined
  /** of the first */
  readonly ready: Promise<void>
}

/**
 * Starts the view and socket threads, whose work is only for clients. A thread that ends, for whatever reason, is started
 * again: clients lose only their connections, or the answers to running requests. Channels are made when a thread starts,
 * and their other ends are passed to the running threads, for the first thread of a place as for its successors.
 *
 * After damage of the database no thread is started again: it ends the node. So does a thread that fails when the node
 * starts.
 */
export function startClientThreads(
  options: ClientThreadsOptions,
  links: ClientThreadsLinks,
  start: StartThread,
): ClientThreads {
  const { viewThreads, socketThreads } = options.config.rpc
  const failure = Promise.withResolvers<never>()
  // Nothing awaits it before consensus runs.
  failure.promise.catch(() => undefined)
  const halting = new AbortController()
  const mainViews = Array.from({ length: viewThreads }, () => connectReplaceable<ViewService>())
  const views: Place<ViewService>[] = []
  const sockets: Place<SocketService>[] = []

  const startView = (index: number): Started<ViewService> => {
    const view = start<ViewService>('view', index, ...viewData(options, links))
    linkView(view, (port) => mainViews[index]!.replace(port))
    linkView(view, (port) => notify<NetworkService, 'connectView'>(links.network, 'connectView', index, port))
    linkView(view, (port) => notify<PoolService, 'connectView'>(links.pool, 'connectView', index, port))
    for (const { present } of sockets) if (present !== undefined) linkSocket(present, view, index)
    return view
  }
  const startSocket = (index: number): Started<SocketService> => {
    forgetWatchers(links.pendingWatch, index)
    forgetWatchers(options.copies.roundEvents.watchers, index)
    const socket = start<SocketService>('socket', index, ...socketData(options, links, index))
    for (const [at, { present }] of views.entries()) if (present !== undefined) linkSocket(socket, present, at)
    const first = index === 0 ? socket : sockets[0]?.present
    const others = index === 0 ? sockets.slice(1).map(({ present }) => present) : [socket]
    for (const other of others) if (first !== undefined && other !== undefined) linkFilters(other, first)
    return socket
  }

  /** Keeps a thread running: starts it, and its successors. `ask` waits for its first answer, which says that it is ready. */
  const keep = <S extends Service>(begin: () => Started<S>, ask: (remote: Remote<S>) => Promise<unknown>): Place<S> => {
    let present: Started<S> | undefined
    let waitMs: number = RESTART_MS.shortest
    let wasReady = false
    const run = (): Started<S> => {
      const started = begin()
      const sinceMs = performance.now()
      present = started
      started.thread.died.catch(async (error: unknown) => {
        present = undefined
        if (halting.signal.aborted) return
        if (!wasReady || isDamage(error)) return failure.reject(error)
        if (performance.now() - sinceMs > STEADY_MS) waitMs = RESTART_MS.shortest
        options.onRestart(started.thread.name, error, waitMs)
        await setTimeout(waitMs, undefined, { signal: halting.signal, ref: false }).catch(() => undefined)
        waitMs = Math.min(waitMs * 2, RESTART_MS.longest)
        if (!halting.signal.aborted) run()
      })
      return started
    }
    const { thread, remote } = run()
    const ready = answered(thread, ask(remote)).then(() => {
      wasReady = true
    })
    // Awaited by `viewsReady` and `listening`, if the start comes so far.
    ready.catch(() => undefined)
    return {
      get present() {
        return present
      },
      ready,
    }
  }
  for (let index = 0; index < viewThreads; index++)
    views.push(
      keep(
        () => startView(index),
        (view) => view.ready(),
      ),
    )
  for (let index = 0; index < socketThreads; index++)
    sockets.push(
      keep(
        () => startSocket(index),
        (socket) => socket.ready(),
      ),
    )

  return {
    views: mainViews.map(({ remote }) => remote),
    // The time counts from the question on: before that the threads wait for the database, which may take long.
    viewsReady: () => allInTime('view', views),
    listening: () => allInTime('socket', sockets),
    failed: failure.promise,
    metrics: async () => {
      const running = [...views, ...sockets].flatMap(({ present }) => present ?? [])
      const snapshots = await Promise.allSettled(running.map(({ remote }) => remote.metrics()))
      // One that ended meanwhile has nothing to report.
      return snapshots.flatMap((snapshot) => (snapshot.status === 'fulfilled' ? [snapshot.value] : []))
    },
    halt: () => {
      halting.abort()
      for (const view of mainViews) view.close()
      return {
        sockets: sockets.flatMap(({ present }) => present ?? []),
        views: views.flatMap(({ present }) => present ?? []),
      }
    },
  }
}

/** Waits for the first threads of all places. @throws ThreadStartTimeout; the error of a thread that has died */
async function allInTime(role: string, places: readonly { readonly ready: Promise<void> }[]): Promise<void> {
  await Promise.all(places.map(({ ready }, index) => startedInTime(`${role}-${index}`, ready)))
}

/** Passes a new channel to a view thread, and its other end to `take`, for calls. */
function linkView({ thread }: Started<ViewService>, take: (port: MessagePort) => void): void {
  const { left, right } = channel()
  notify<ViewService, 'attach'>(thread.control, 'attach', right)
  take(left)
}

function linkSocket(socket: Started<SocketService>, view: Started<ViewService>, index: number): void {
  linkView(view, (port) => notify<SocketService, 'connectView'>(socket.thread.control, 'connectView', index, port))
}

/** Links a socket thread with the first one, which has the filters of all. */
function linkFilters(socket: Started<SocketService>, first: Started<SocketService>): void {
  const { left, right } = channel()
  notify<SocketService, 'attachFilterClient'>(first.thread.control, 'attachFilterClient', right)
  notify<SocketService, 'connectFilters'>(socket.thread.control, 'connectFilters', left)
}

/** Data that a thread is started with, and the ports that move to it. */
type Data<T> = readonly [data: T, transfer: readonly MessagePort[]]

function viewData(options: ClientThreadsOptions, links: ClientThreadsLinks): Data<ViewData> {
  const { config } = options
  const data: ViewData = {
    ...rpcData(options, links),
    engine: links.engine,
    heavyCalls: config.rpc.heavyCalls,
    skipUpgrades: config.skipUpgrades,
  }
  return [data, Object.values(data.pool)]
}

function socketData(options: ClientThreadsOptions, links: ClientThreadsLinks, index: number): Data<SocketData> {
  const { config, identity, validator, genesisPath } = options
  const toMain = channel()
  serveEvidence(toMain.right, options.addEvidence)
  const data: SocketData = {
    ...rpcData(options, links),
    engine: links.engine,
    index,
    viewThreads: config.rpc.viewThreads,
    pendingChannel: links.pendingChannel,
    pendingWatch: links.pendingWatch,
    host: config.rpc.host,
    port: config.rpc.port,
    grpcPort: config.rpc.grpcPort,
    sharesPort: config.rpc.socketThreads > 1,
    rateLimit: config.rpc.rateLimit,
    trustedProxies: config.rpc.trustedProxies,
    corsOrigins: config.rpc.corsOrigins,
    namespaces: config.rpc.namespaces,
    rights: config.rpc.rights,
    privateListener: index === 0 ? config.rpc.privateListener : undefined,
    identity,
    validator,
    copies: options.copies,
    main: toMain.left,
    genesisPath,
  }
  return [data, [...Object.values(data.pool), data.main]]
}

/** Returns the start data common to view and socket threads, with new channels to the pool. */
function rpcData(
  { config, location, chain, clientVersion, identity, nodeState }: ClientThreadsOptions,
  { databaseGate, publishedHeight, pool, tracing }: ClientThreadsLinks,
): RpcThreadData {
  const calls = channel()
  const admissions = channel()
  notify<PoolService, 'attach'>(pool, 'attach', calls.right, admissions.right)
  return {
    location,
    databaseGate,
    chain,
    limits: config.rpc.limits,
    clientVersion,
    node: { identity, pruningWindow: config.pruning === 'archive' ? 0 : config.pruning },
    retention: {
      states: config.pruning === 'archive' ? undefined : config.pruning,
      bodies: config.blockHistory === 0 ? undefined : config.blockHistory,
    },
    log: config.log,
    pool: { calls: calls.left, admissions: admissions.left },
    publishedHeight,
    nodeState,
    tracing,
  }
}

/** Recognizes damage by the error's name: an error from another thread has lost its class. */
function isDamage(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause) if (at.name === 'DatabaseError') return true
  return false
}
