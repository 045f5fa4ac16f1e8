import { randomUUID } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import type { HeaderRules } from '../../chain/retention/headerRetention.ts'
import { firstSegmentDue, moveRules } from '../../chain/segments/moveBlocks.ts'
import type { Config } from '../../config/config.ts'
import { START_MS, startedInTime } from '../../config/startDeadline.ts'
import { chooseEngine } from '../../evm/engines/createEngine.ts'
import type { GenesisState } from '../../execution/genesisBlock.ts'
import { createValidatorProof } from '../../p2p/hello.ts'
import { peerCounts } from '../../p2p/limits.ts'
import { parseNodeId, parsePeerAddress } from '../../p2p/peerAddress.ts'
import type { PeerPolicy } from '../../p2p/peerPolicy.ts'
import { threadEntry } from '../../primitives/location.ts'
import type { Database } from '../../storage/database.ts'
import { columnBytes } from '../../storage/diskBytes.ts'
import { createTracingChannel, type TracingChannel } from '../../telemetry/spans.ts'
import type { MetricsSnapshot } from '../../telemetry/threadMetrics.ts'
import type { BackgroundData, BackgroundService } from '../roles/background/backgroundThread.ts'
import type { ExecutorData, ExecutorService } from '../roles/executor/executorThread.ts'
import { type StartedSpeculators, startSpeculators } from '../roles/executor/speculators.ts'
import type { NetworkTransportOptions } from '../roles/main/networkTransport.ts'
import type { NetworkData, NetworkService } from '../roles/network/networkThread.ts'
import type { PoolData, PoolService } from '../roles/pool/poolThread.ts'
import type { SnapshotsData, SnapshotsService } from '../roles/snapshots/snapshotsThread.ts'
import type { TracingData, TracingService } from '../roles/tracing/tracingThread.ts'
import type { ViewService } from '../roles/view/viewThread.ts'
import { connect, type Remote } from '../wire/port.ts'
import {
  createGate,
  createPoolFilling,
  createPublishedHeight,
  createWatchers,
  openGate,
  untilWaiting,
} from '../wire/sharedMemory.ts'
import { type ClientThreadsOptions, startClientThreads } from './clientThreads.ts'
import type { Home } from './openHome.ts'
import { answered, channel, type Started, type StartThread, spawnThread, type Thread } from './spawn.ts'
import { chooseShadow } from './threadEngine.ts'

/** Enough for threads to load their modules on the slowest machines. */
const LOADING_MS = 20_000
/**
 * Milliseconds in which the threads of a kind have to close, all at the same time; then they are left as they are. A socket
 * thread waits one second for running requests. A view thread may be in the middle of a long trace, and the executor in the
 * middle of a heavy block, which the next start executes again from the write-ahead log.
 */
const CLOSING_MS = { clientsAndPeers: 1_500, readers: 500, executor: 1_000, tracing: 1_200 } as const

export interface ThreadsOptions extends ClientThreadsOptions {
  /** opens the database of {@link location} in this thread; it is made when it is absent */
  readonly openDatabase: () => Promise<Database>
  /** asked once, at the start */
  readonly genesis: () => GenesisState
  /** how long headers are needed */
  readonly headers: HeaderRules
  /** directory of the node's own snapshots */
  readonly snapshots: string
  /** where accepted transactions of clients stay across a restart, if POOL_JOURNAL says so */
  readonly poolJournal: string
  /** the node towards its peers */
  readonly network: Pick<
    NetworkData,
    'seed' | 'validator' | 'moniker' | 'listen' | 'policy' | 'counts' | 'addressBookPath' | 'snapshotsPath'
  >
  /** ends the start */
  readonly signal: AbortSignal
  /**
   * Threads were left as they are: the process has to end without them. To end one of them crashes the process while it loads modules or
   * LevelDB works for it.
   * @param late those that did not close in time; none: the start was ended
   */
  readonly onThreadsLeft: (late: readonly string[]) => void
}

/**
 * Returns the identity that the network thread shows to peers. The validator's key stays in this
 * thread; only a proof is passed on.
 */
export function networkIdentity(config: Config, { chain, paths, nodeKey, ownKey }: Home): ThreadsOptions['network'] {
  const { host, port, maxPeers } = config.p2p
  return {
    seed: nodeKey.seed,
    // The protocol of remote signers has no message for it.
    validator: ownKey && createValidatorProof(ownKey, nodeKey.publicKey, chain.genesisHash),
    moniker: config.moniker,
    listen: { host, port },
    policy: peerPolicy(config.p2p),
    counts: peerCounts(maxPeers),
    addressBookPath: paths.addressBook,
    snapshotsPath: paths.snapshots,
  }
}

function peerPolicy(p2p: Config['p2p']): PeerPolicy {
  const peersOf = (peers: Config['p2p']['seeds']): PeerPolicy['seeds'] =>
    peers.map(({ id, address }) => ({ id: parseNodeId(id), address: parsePeerAddress(address)! }))
  return {
    persistent: peersOf(p2p.persistentPeers),
    seeds: peersOf(p2p.seeds),
    isSeed: p2p.isSeed,
    exchangesPeers: p2p.exchangesPeers,
    privateIds: new Set(p2p.privatePeerIds.map(parseNodeId)),
    unconditionalIds: new Set(p2p.unconditionalPeerIds.map(parseNodeId)),
    isBookStrict: p2p.isBookStrict,
  }
}

/** All threads but the main one, connected with each other. */
export interface Threads {
  readonly executor: Remote<ExecutorService>
  readonly network: Remote<NetworkService>
  readonly background: Remote<BackgroundService>
  /** how this thread records spans too; undefined: it records none */
  readonly tracing: TracingChannel | undefined
  /** asks the threads without which no block is made or followed whether they still serve */
  readonly pings: Readonly<Record<'executor' | 'pool' | 'network', () => Promise<unknown>>>
  /** the main thread's ends, see `createNetworkTransport` */
  readonly networkPorts: Pick<NetworkTransportOptions, 'control' | 'reports' | 'evidence'>
  /** the main thread's own calls, on channels of their own: they do not wait for calls of clients */
  readonly views: readonly Remote<ViewService>[]
  /** Resolves when the RPC servers listen: soon after the first block is published, so that clients see no chain without blocks. */
  listening(): Promise<void>
  /** rejects when any of the threads dies */
  readonly died: Promise<never>
  metrics(): Promise<readonly MetricsSnapshot[]>
  /** see `columnBytes`; not to be called after `stop` */
  columnBytes(): Promise<ReadonlyMap<string, number>>
  /** Ends all threads in the order that {@link startThreads} describes. */
  stop(): Promise<void>
}

/**
 * Starts the node's threads and connects them with each other and with this one, the main thread:
 *
 * 1. The main thread opens the database, although it reads nothing there. What all handles share belongs to the handle that was opened
 *    first (see `Database`), and this one outlives every thread, whichever dies.
 * 2. V8's flags are set before there are threads: a thread takes them over when it starts.
 * 3. All threads start, to load their modules at the same time: executor, speculators, pool, network, views, sockets,
 *    background, snapshots. All except the executor then wait at a gate, since there may be no database yet.
 * 4. The executor answers when the database is open and holds a chain: the gate opens, and the others open it too.
 * 5. Pool, views and network answer when they are ready, which consensus needs. So does the thread for traces, which misses
 *    what was recorded before. The sockets are not waited for: they let clients in once there is a first block, which
 *    consensus has yet to make (`listening`).
 *
 * The stop closes each thread before those that it asks: sockets (no more clients), network (no more peers) and snapshots, views and
 * pool, executor. Whatever client or block keeps one of them busy, the stop continues after a time ({@link CLOSING_MS}).
 * When all have closed, the threads end, and the main thread's handle of the database closes last. Otherwise all threads
 * stay until the end of the process.
 * @throws DatabaseError, or an error that names the thread that failed, with its error as the cause; the signal's reason when the start
 * is to end: the threads that there are then are left too
 */
export async function startThreads(options: ThreadsOptions): Promise<Threads> {
  // 1.
  const database = await options.openDatabase()
  let areThreadsLeft = false
  const onThreadsLeft = (late: readonly string[]): void => {
    areThreadsLeft = true
    options.onThreadsLeft(late)
  }
  // Threads that are left may use what belongs to this handle.
  const close = async (): Promise<void> => {
    if (!areThreadsLeft) await database.close()
  }
  try {
    options.signal.throwIfAborted()
    const threads = await startAll({ ...options, onThreadsLeft })
    return { ...threads, columnBytes: () => columnBytes(database), stop: () => threads.stop().then(close) }
  } catch (error) {
    await close()
    throw error
  }
}

async function startAll(options: ThreadsOptions): Promise<Omit<Threads, 'columnBytes'>> {
  const { signal } = options
  // 2.
  setV8Flags()
  const wiring = wire(options.config)
  const engine = await chooseEngine(options.config.evmEngine)
  const shadow = await chooseShadow(options.config)
  /** by name: one that is started again takes the place of the one that ended */
  const started = new Map<string, Thread>()
  /** threads that come to the gate, or were there: all but the executor, which opens the database, that for traces, which needs none, and those that died */
  let living = 0
  const start: StartThread = (role, index, data, transfer) => {
    const name = index === undefined ? role : `${role}-${index}`
    const thread = spawnThread(name, threadEntry(role), data, transfer)
    started.set(name, thread)
    if (role !== 'executor' && role !== 'tracing') {
      living++
      thread.died.catch(() => {
        living--
      })
    }
    return { thread, remote: connect(thread.control) }
  }
  try {
    // 3.
    const speculators = startSpeculatorThreads(options, wiring, engine, start)
    const executor = startExecutor(options, wiring, { engine, shadow, speculators: speculators?.links }, start)
    const pool = startPool(options, wiring, start)
    const network = startNetwork(options, wiring, start)
    const links = { ...wiring, engine, pool: pool.thread.control, network: network.thread.control }
    const clients = startClientThreads(options, links, start)
    const background = startBackground(options, wiring, start)
    const snapshots = options.config.snapshots.interval === 0 ? [] : [startSnapshots(options, wiring, start)]
    const tracing = startTracing(options, wiring, start)
    const others = [executor, pool, network, background, ...snapshots, ...tracing]
    const lasting = others.map(({ thread }) => thread.died)
    const died = Promise.race([...lasting, clients.failed])
    // Nothing awaits it before consensus runs.
    died.catch(() => undefined)

    // 4.
    const info = answered(executor.thread, executor.remote.info())
    await unlessAborted(signal, startedInTime('executor', info, START_MS.executor))
    openGate(wiring.databaseGate)

    // 5.
    for (const { thread, remote } of [pool, network, ...tracing])
      await unlessAborted(signal, startedInTime(thread.name, answered(thread, remote.ready())))
    await unlessAborted(signal, clients.viewsReady())

    let hasClients = false
    return {
      executor: executor.remote,
      network: network.remote,
      background: background.remote,
      tracing: wiring.tracing,
      pings: { executor: executor.remote.ready, pool: pool.remote.ready, network: network.remote.ready },
      networkPorts: {
        control: network.thread.control,
        reports: wiring.network.reports.right,
        evidence: wiring.network.evidence.right,
      },
      views: clients.views,
      listening: async () => {
        await clients.listening()
        hasClients = true
      },
      died,
      metrics: async () => [
        ...(await Promise.all(others.map(({ remote }) => remote.metrics()))),
        ...(await clients.metrics()),
        // One that ended has nothing to report.
        ...(await Promise.allSettled((speculators?.threads ?? []).map(({ remote }) => remote.metrics()))).flatMap(
          (metrics) => (metrics.status === 'fulfilled' ? [metrics.value] : []),
        ),
      ],
      stop: async () => {
        const { sockets, views } = clients.halt()
        const late = [
          // Sockets that do not listen yet cannot close: they wait for the first block.
          ...(await close([...(hasClients ? sockets : []), network, ...snapshots], CLOSING_MS.clientsAndPeers)),
          ...(await close([...views, pool, background], CLOSING_MS.readers)),
          ...(await close([executor], CLOSING_MS.executor)),
          ...(await close(speculators?.threads ?? [], CLOSING_MS.readers)),
          ...(await close(tracing, CLOSING_MS.tracing)),
        ]
        if (late.length > 0 || !hasClients) options.onThreadsLeft(late)
        else await Promise.all(started.values().map((thread) => thread.stop()))
      },
    }
  } catch (error) {
    if (error === signal.reason) {
      options.onThreadsLeft([])
    } else {
      await untilWaiting(wiring.databaseGate, () => living, LOADING_MS)
      await Promise.all(started.values().map((thread) => thread.stop()))
    }
    throw error
  }
}

/**
 * Returns what `work` resolves with.
 * @throws the signal's reason when it is aborted before; nothing waits for `work` then
 */
export function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort)
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

/**
 * Asks the threads to close. A thread that died cannot: `died` has its error.
 * @returns the names of those that have not closed in time
 */
async function close(
  threads: readonly { readonly thread: Thread; readonly remote: { close(): Promise<unknown> } }[],
  timeoutMs: number,
): Promise<readonly string[]> {
  const closings = threads.map(async ({ thread, remote }) => {
    const closed = remote.close().then(
      () => true,
      () => true,
    )
    const isInTime = await Promise.race([closed, setTimeout(timeoutMs, false, { ref: false })])
    return isInTime ? [] : [thread.name]
  })
  return (await Promise.all(closings)).flat()
}

/** Ten times V8's own number. */
const CALLS_BEFORE_LAST_TIER = 30_000

/**
 * Sets V8's flags for all threads. The first lets V8 wait longer before it compiles a function with
 * its slowest compiler. Every thread compiles for itself, and right after the start all of them do:
 * with V8's own setting this took a sixth of all processor time in the first seconds of full load.
 * Functions that are called often enough are compiled a little later; the code of the tier before
 * is nearly as fast.
 */
function setV8Flags(): void {
  setFlagsFromString(`--invocation-count-for-turbofan=${CALLS_BEFORE_LAST_TIER}`)
  // Shows the collector to `collectWhenIdle`.
  setFlagsFromString('--expose-gc')
  // Otherwise each thread maps V8's own code, 2 MB, a second time, nearer to the code that it compiles.
  setFlagsFromString('--no-short-builtin-calls')
}

/**
 * The channels between threads (the left end is the caller's, the right end the server's) but those of the threads for clients, and the
 * memory that all share.
 */
type Wiring = ReturnType<typeof wire>

function wire({ rpc, tracing }: Config) {
  const instance = randomUUID()
  return {
    /** undefined: no spans are recorded */
    tracing: tracing && createTracingChannel(`coind-spans-${instance}`, tracing.share),
    /** opens when the database holds a chain */
    databaseGate: createGate(),
    publishedHeight: createPublishedHeight(),
    pendingChannel: `coind-pending-${instance}`,
    pendingWatch: createWatchers(rpc.socketThreads),
    executorToPool: channel(),
    poolFilling: createPoolFilling(),
    network: {
      /** transactions of peers, to the pool */
      admissions: channel(),
      /** transactions of this node's clients, from the pool */
      announcements: channel(),
      /** messages and events of peers to the main thread, messages for them back */
      reports: channel(),
      /** evidence of peers, for the main thread to check */
      evidence: channel(),
    },
  }
}

function startExecutor(
  { config, location, chain, genesis, headers }: ThreadsOptions,
  { publishedHeight, executorToPool, poolFilling, tracing }: Wiring,
  execution: Pick<ExecutorData, 'engine' | 'shadow' | 'speculators'>,
  start: StartThread,
): Started<ExecutorService> {
  const data: ExecutorData = {
    config,
    location,
    chain,
    genesis: genesis(),
    headers,
    ...execution,
    pool: executorToPool.left,
    poolFilling,
    publishedHeight,
    tracing,
  }
  return start('executor', undefined, data, [data.pool, ...(execution.speculators?.ports ?? [])])
}

/** Starts the threads that execute alongside the executor; undefined: there are no such threads. */
function startSpeculatorThreads(
  { config, location, chain }: ThreadsOptions,
  { databaseGate }: Wiring,
  engine: ExecutorData['engine'],
  start: StartThread,
): StartedSpeculators | undefined {
  const { executionThreads } = config
  if (executionThreads === 1) return undefined
  return startSpeculators(executionThreads, { location, databaseGate, chain, engine }, start)
}

function startPool(
  { config, location, chain, nodeState, poolJournal }: ThreadsOptions,
  { databaseGate, executorToPool, poolFilling, network, pendingChannel, pendingWatch, tracing }: Wiring,
  start: StartThread,
): Started<PoolService> {
  const data: PoolData = {
    location,
    databaseGate,
    chain,
    acceptsUnprotected: config.rpc.limits.acceptsUnprotected,
    executor: executorToPool.right,
    filling: poolFilling,
    journalPath: config.poolJournal ? poolJournal : undefined,
    viewThreads: config.rpc.viewThreads,
    gossip: { admissions: network.admissions.right, announcements: network.announcements.left },
    nodeState,
    log: config.log,
    pendingChannel,
    pendingWatch,
    tracing,
  }
  return start('pool', undefined, data, [data.executor, ...Object.values(data.gossip)])
}

function startNetwork(
  { config, location, chain, network, identity, copies }: ThreadsOptions,
  { databaseGate, publishedHeight, network: channels, tracing }: Wiring,
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
    viewThreads: config.rpc.viewThreads,
    copies,
    tracing,
  }
  return start('network', undefined, data, [data.reports, data.evidence, ...Object.values(pool)])
}

function startBackground(
  { config, location, headers }: ThreadsOptions,
  { databaseGate, publishedHeight }: Wiring,
  start: StartThread,
): Started<BackgroundService> {
  const rules = moveRules(config.pruning, config.blockHistory)
  const data: BackgroundData = {
    location,
    databaseGate,
    publishedHeight,
    moveRules: rules,
    headers,
    firstSegmentDue: firstSegmentDue(rules),
    log: config.log,
  }
  return start('background', undefined, data, [])
}

/** Starts the thread that sends spans to a collector, if the settings name one. */
function startTracing(
  { config, chain, identity }: ThreadsOptions,
  { tracing: channel }: Wiring,
  start: StartThread,
): Started<TracingService>[] {
  const { tracing, moniker, log } = config
  if (tracing === undefined || channel === undefined) return []
  const data: TracingData = {
    tracing,
    identity: { chainId: chain.chainId, nodeId: identity.id },
    moniker,
    channel,
    log,
  }
  return [start('tracing', undefined, data, [])]
}

function startSnapshots(
  { config, location, chain, snapshots }: ThreadsOptions,
  { databaseGate, publishedHeight }: Wiring,
  start: StartThread,
): Started<SnapshotsService> {
  const data: SnapshotsData = {
    location,
    databaseGate,
    chain,
    shelf: snapshots,
    ...config.snapshots,
    publishedHeight,
    log: config.log,
  }
  return start('snapshots', undefined, data, [])
}
