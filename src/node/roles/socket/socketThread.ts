import { readFileSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { BroadcastChannel, type MessagePort, workerData } from 'node:worker_threads'
import { genesisHash, parseGenesis } from '../../../chain/genesis/genesis.ts'
import type { Genesis } from '../../../chain/genesis/genesisSchema.ts'
import { createClientAddresses } from '../../../config/clientAddress.ts'
import type { CallRights, PrivateListenerConfig } from '../../../config/config.ts'
import { grpcListener, listenAs, listener } from '../../../config/listeners.ts'
import type { Namespace } from '../../../config/namespaces.ts'
import type { AddressRange } from '../../../config/valueKind.ts'
import type { ValidatorIdentity } from '../../../consensus/validatorKeys.ts'
import type { EngineChoice } from '../../../evm/engines/createEngine.ts'
import type { PooledTransaction } from '../../../mempool/types.ts'
import { createTransactionDecoder } from '../../../modules/tx/transactionDecoder.ts'
import { equalBytes } from '../../../primitives/bytes.ts'
import { recoverNatively } from '../../../primitives/secp256k1.ts'
import { checkKnownAnswers, PRIMITIVE_ANSWERS } from '../../../primitives/selfTest.ts'
import { createCometEventHub } from '../../../rpc/comet/eventHub.ts'
import { createCometMethods } from '../../../rpc/comet/methods.ts'
import type { NodeIdentity } from '../../../rpc/comet/status.ts'
import { createNativePort } from '../../../rpc/cosmos/nativeCall.ts'
import { QUERIES } from '../../../rpc/cosmos/queries.ts'
import { createRestRouter } from '../../../rpc/cosmos/rest/routes.ts'
import { createShortCalls } from '../../../rpc/eth/shortCalls.ts'
import { createAnswerCache } from '../../../rpc/jsonrpc/answerCache.ts'
import { createDispatcher } from '../../../rpc/jsonrpc/dispatch.ts'
import { createSocketMethods } from '../../../rpc/jsonrpc/methodTable.ts'
import { methodsOf } from '../../../rpc/jsonrpc/namespaces.ts'
import type { ShortCalls } from '../../../rpc/jsonrpc/runMethod.ts'
import { createSubmitPort } from '../../../rpc/submit/submitPort.ts'
import { createFilterStore, type FilterPort, type FilterStore } from '../../../rpc/subscriptions/filters.ts'
import { createSubscriptionHub } from '../../../rpc/subscriptions/subscriptions.ts'
import { createClientBudget } from '../../../rpc/transport/clientBudget.ts'
import { createEventLoopQuota } from '../../../rpc/transport/eventLoopQuota.ts'
import { createRpcServer } from '../../../rpc/transport/http.ts'
import { createPrivateAccess, readJwtSecret } from '../../../rpc/transport/privateAccess.ts'
import { createRateLimit, type RateLimit } from '../../../rpc/transport/rateLimit.ts'
import type { NodeView } from '../../../state/view.ts'
import { Database } from '../../../storage/database.ts'
import { createLogger } from '../../../telemetry/logger.ts'
import { createSocketMetrics } from '../../../telemetry/metrics.ts'
import { openTracer } from '../../../telemetry/spans.ts'
import { createThreadMetrics } from '../../../telemetry/threadMetrics.ts'
import { collectWhenIdle } from '../../start/idleCollection.ts'
import { endThread, type ThreadData } from '../../start/spawn.ts'
import { openShortEngine } from '../../start/threadEngine.ts'
import { watchSilence } from '../../start/threadSilence.ts'
import { connectReplaceable, serve } from '../../wire/port.ts'
import { followRoundEvents } from '../../wire/roundEvents.ts'
import { closePool, connectPool, createContextSource, type RpcThreadData } from '../../wire/rpcContext.ts'
import {
  countWatchers,
  getPeerCount,
  getPublishedHeight,
  getSyncStatus,
  isCatchingUp,
  type Watchers,
  waitAtGate,
} from '../../wire/sharedMemory.ts'
import { followHeads } from '../../wire/viewFeed.ts'
import type { ViewService } from '../view/viewThread.ts'
import { connectCometNode, type NodeCopies } from './cometNode.ts'
import { createViewCompressor } from './viewCompressor.ts'
import { createAuthorityRecovery, createSubmissionCheck, createViewPool } from './viewPool.ts'

/**
 * Data of a socket thread, which serves clients: HTTP and WebSocket, JSON-RPC, CometBFT's RPC and
 * REST. It runs short reads itself, hands transactions to the pool, and everything longer to the
 * view threads.
 */
export interface SocketData extends RpcThreadData {
  /** for short calls */
  readonly engine: EngineChoice
  /** among the socket threads: the first one has the filters of all */
  readonly index: number
  /** number of view threads; their ports come by `connectView` */
  readonly viewThreads: number
  /** name of the broadcast channel for transactions that became executable */
  readonly pendingChannel: string
  /** counts the clients that want these transactions */
  readonly pendingWatch: Watchers
  readonly host: string
  readonly port: number
  /** undefined: no gRPC, except gRPC-Web */
  readonly grpcPort: number | undefined
  /** other socket threads listen on the same port */
  readonly sharesPort: boolean
  /** requests per second of one client; 0: no limit */
  readonly rateLimit: number
  readonly trustedProxies: readonly AddressRange[]
  readonly corsOrigins: readonly string[]
  readonly namespaces: readonly Namespace[]
  readonly rights: CallRights
  /** only in the first socket thread, if the node has a private listener */
  readonly privateListener: PrivateListenerConfig | undefined
  /** copies of the state of consensus and the network */
  readonly copies: NodeCopies
  /** to the main thread, for new evidence */
  readonly main: MessagePort
  readonly genesisPath: string
  readonly identity: NodeIdentity
  readonly validator: readonly ValidatorIdentity[]
}

export type SocketService = typeof service

/**
 * How long clients wait for the first block of a fresh chain; after that they are served without
 * one.
 */
const FIRST_BLOCK_WAIT_MS = 3_000

/** Memory of this thread for criteria and queries of clients' filters and subscriptions. */
const CRITERIA_BYTES = 64 * 1_048_576

/**
 * Memory for cached answers about decided blocks: a full block with its transactions and receipts
 * takes up to a megabyte, most answers take little.
 */
const ANSWER_CACHE_BYTES = 8 * 1_048_576

/**
 * A client may open as many connections per second as it may send requests, and may save up this
 * many seconds of them.
 */
const CONNECTION_BURST_SECONDS = 2

/** Rights of clients of the private listener. */
const PRIVATE_RIGHTS: CallRights = { jsTracers: true, traceDepth: Number.POSITIVE_INFINITY }

/**
 * Signatures of transactions by CometBFT's RPC, REST and gRPC that are checked in a row, before
 * other connections have their turn.
 */
const SIGNATURES_PER_TURN = 64

const { control, data } = workerData as ThreadData<SocketData>
checkKnownAnswers(PRIMITIVE_ANSWERS)
const threadMetrics = createThreadMetrics('socket')
const metrics = createSocketMetrics(threadMetrics.registry)
const log = createLogger(data.log, { thread: 'socket' }).child({ part: 'rpc' })
await waitAtGate(data.databaseGate)
const database = await Database.open(data.location, { readOnly: true, onDamage: endThread })
const feed = followHeads(database, data.publishedHeight)
const pending = new BroadcastChannel(data.pendingChannel)

const pendingListeners: ((transactions: readonly PooledTransaction[]) => void)[] = []
pending.onmessage = (event) => {
  // The channel is the node's own: only the pool thread posts on it.
  const transactions = (event as { readonly data: readonly PooledTransaction[] }).data
  for (const listener of pendingListeners) listener(transactions)
}

/** for the criteria of log subscriptions and filters, and the queries of event subscriptions */
const criteriaBudget = createClientBudget({
  total: CRITERIA_BYTES,
  onChange: (bytes) => metrics.criteriaBytes.set(bytes),
  onRefused: () => metrics.refusedTotal.inc({ reason: 'criteria' }),
})
const dropped = (): void => metrics.refusedTotal.inc({ reason: 'events' })
const remoteFilters = connectReplaceable<FilterPort>()
const filters: FilterPort = data.index === 0 ? ownFilters() : remoteFilters.remote

function watchPending(change: 1 | -1): void {
  countWatchers(data.pendingWatch, data.index, change)
}

function ownFilters(): FilterStore {
  const store = createFilterStore({
    watchPending,
    criteria: criteriaBudget,
    onRefused: () => metrics.refusedTotal.inc({ reason: 'filters' }),
  })
  pendingListeners.push((transactions) => store.addTransactions(transactions))
  return store
}

/**
 * Reads the genesis file.
 * @throws Error when it is not the genesis that the node has started with
 */
function readGenesisOf({ genesisHash: expected }: SocketData['chain'], path: string): Genesis {
  const genesis = parseGenesis(readFileSync(path, 'utf8'))
  if (!equalBytes(genesisHash(genesis), expected)) throw new Error(`${path} was changed while the node runs`)
  return genesis
}

/** Runs `read` on the newest published blocks and their state. */
function withView<T>(read: (view: NodeView) => T): T {
  const { view, release } = feed.lease()
  try {
    return read(view)
  } finally {
    release()
  }
}

const viewThreads = Array.from({ length: data.viewThreads }, () => connectReplaceable<ViewService>())
const remoteViews = viewThreads.map(({ remote }) => remote)
const pool = connectPool(data.pool, openTracer(data.tracing), createAuthorityRecovery(remoteViews))
const decoder = createTransactionDecoder(data.chain)
const ownSubmissions = createSubmitPort({ decoder, limits: data.limits, pool })
const contexts = createContextSource({ data, feed, pool, decoder, submissions: ownSubmissions })
const views = createViewPool(remoteViews, () => withView(({ chain }) => chain.packedBelow))
/** For CometBFT's RPC, REST and gRPC; JSON-RPC uses the other one, and has a quota of its own for calls. */
const submissions = createSubmitPort({
  decoder,
  limits: data.limits,
  pool,
  otherThreads: {
    // Without the native addon a check of a signature takes too long for this thread.
    quota: recoverNatively === undefined ? undefined : createEventLoopQuota(SIGNATURES_PER_TURN),
    verify: createSubmissionCheck(remoteViews),
  },
})
const queries = createNativePort({
  queries: QUERIES,
  node: data.node,
  log,
  views,
  lease: (scope) => {
    const { context, release } = contexts.lease(scope)
    return { context: { ...context, submissions }, release }
  },
})
const compressor = createViewCompressor(remoteViews)
const node = connectCometNode(data.copies, data.main)
const rounds = followRoundEvents(data.copies.roundEvents, data.index)
const threadSilence = watchSilence(data.copies.silence, () => performance.now())
const headHeight = (): number => withView(({ chain }) => chain.headHeight)
const hub = createSubscriptionHub({
  feed: {
    onHead: (listener) => feed.onHead(listener),
    onPendingTransactions: (listener) => void pendingListeners.push(listener),
  },
  headHeight,
  syncing: () => getSyncStatus(data.nodeState, headHeight()),
  lease: contexts.lease,
  watchPending,
  budget: criteriaBudget,
  onDropped: dropped,
  log,
})

const rateLimit = createRateLimit({
  perSecond: data.rateLimit,
  onRefused: () => metrics.refusedTotal.inc({ reason: 'rate' }),
})
const connectionRate = createRateLimit({
  perSecond: data.rateLimit,
  burstSeconds: CONNECTION_BURST_SECONDS,
  onRefused: () => metrics.refusedTotal.inc({ reason: 'connections' }),
})

// Clients see a fresh chain from its first block on, except one whose genesis time is still to come.
const opening = await feed.next(0, FIRST_BLOCK_WAIT_MS)
opening?.release()

const methods = createSocketMethods({ filters, views })

const answerCache = createAnswerCache(ANSWER_CACHE_BYTES)

/** Absent with the reference engine, which has no bounded runs. */
const shortCalls = data.engine.kind === 'wasm' ? openShortCalls(data.engine) : undefined

function openShortCalls(engine: Extract<EngineChoice, { readonly kind: 'wasm' }>): ShortCalls {
  return createShortCalls({
    chain: data.chain,
    lease: contexts.lease,
    headHeight: () => getPublishedHeight(data.publishedHeight),
    openEngine: () => openShortEngine(engine),
    nowMs: () => performance.now(),
    onError: (error) => log.error({ error }, 'short calls cannot run in this thread: view threads run them instead'),
    metrics,
  })
}

/** Returns the options that both listeners share. */
function listenerOptions(namespaces: readonly Namespace[], rights: CallRights, rate: RateLimit) {
  const served = new Set(namespaces)
  return {
    dispatcher: createDispatcher({
      methods: methodsOf(methods, served),
      namespaces: served,
      rights,
      lease: contexts.lease,
      views,
      shortCalls,
      answerCache,
      limits: data.limits,
      rateLimit: rate,
      // Without the native addon the recovery of a sender takes too long for this thread.
      runsQuickCalls: recoverNatively !== undefined,
      log,
      metrics,
    }),
    hub,
    probes: {
      silence: threadSilence.silence,
      health: () =>
        withView(({ chain }) => {
          const { headHeight } = chain
          const timeMs = chain.consensusBlock(headHeight)?.header.timeMs ?? data.chain.genesisTimeMs
          return {
            height: headHeight,
            ageMs: Math.max(0, Date.now() - timeMs),
            catchingUp: isCatchingUp(data.nodeState),
            peers: getPeerCount(data.nodeState),
            lag: (getSyncStatus(data.nodeState, headHeight)?.highestBlock ?? headHeight) - headHeight,
          }
        }),
    },
    rateLimit: rate,
    requestBytes: data.limits.requestBytes,
    responseBytes: data.limits.responseBytes,
    compressor,
    log,
    metrics,
  }
}

const clientAddresses = createClientAddresses(data.trustedProxies, (address) =>
  log.warn(
    { address },
    'a request has a header of a proxy (such as X-Forwarded-For), but TRUSTED_PROXIES does not contain its address: add the address if the proxy is yours',
  ),
)

/** Loads gRPC's services, at the first call by gRPC. */
const loadGrpcServices = async () => {
  const { grpcServices } = await import('../../../rpc/cosmos/grpc/services.ts')
  return grpcServices({ queries: QUERIES, port: queries, metrics })
}
const { grpcPort } = data
const grpcServer =
  grpcPort === undefined
    ? undefined
    : await listenAs(grpcListener(data.host, grpcPort), () => startGrpcServer(grpcPort))
const privateServer = data.privateListener === undefined ? undefined : await startPrivateServer(data.privateListener)
const server = await listenAs(listener('RPC', data.host, data.port), () =>
  createRpcServer({
    ...listenerOptions(data.namespaces, data.rights, rateLimit),
    cosmos: {
      comet: createCometMethods({
        identity: data.identity,
        validator: data.validator,
        chain: data.chain,
        readGenesis: () => readGenesisOf(data.chain, data.genesisPath),
        withChain: (read) => withView(({ chain }) => read(chain)),
        withView,
        isCatchingUp: () => isCatchingUp(data.nodeState),
        node,
        mempool: {
          submissions,
          pool,
          lease: contexts.lease,
          onError: (error) => log.error({ error }, 'a transaction was lost: its sender did not wait for the answer'),
        },
        abci: { queries: QUERIES, port: queries, version: data.identity.version },
        views,
        nowMs: () => Date.now(),
        monotonicMs: () => performance.now(),
      }),
      cometHub: createCometEventHub({
        onHead: (listener) => feed.onHead(({ chain }) => listener(chain.headHeight)),
        rounds,
        headHeight,
        lease: contexts.lease,
        budget: criteriaBudget,
        onDropped: dropped,
        log,
      }),
      rest: { router: createRestRouter(QUERIES), port: queries, metrics },
      grpc: { paths: QUERIES.keys(), services: loadGrpcServices },
    },
    host: data.host,
    port: data.port,
    reusePort: data.sharesPort,
    clients: clientAddresses,
    connectionRate,
    allowedOrigins: data.corsOrigins,
  }),
)

async function startGrpcServer(port: number) {
  const { createGrpcServer } = await import('../../../rpc/cosmos/grpc/server.ts')
  return createGrpcServer({
    services: await loadGrpcServices(),
    host: data.host,
    port,
    reusePort: data.sharesPort,
    clients: clientAddresses,
    rateLimit,
    connectionRate,
    requestBytes: data.limits.requestBytes,
    responseBytes: data.limits.responseBytes,
    metrics,
  })
}

/** Starts the operator's listener: without rate limits, and with all rights. */
async function startPrivateServer({ host, port, namespaces, hostNames, jwtSecretFile }: PrivateListenerConfig) {
  const jwtSecret = jwtSecretFile === undefined ? undefined : readJwtSecret(jwtSecretFile)
  const noLimit = createRateLimit({ perSecond: 0 })
  const open = () =>
    createRpcServer({
      ...listenerOptions(namespaces, PRIVATE_RIGHTS, noLimit),
      cosmos: undefined,
      access: createPrivateAccess({ hostNames, jwtSecret, nowMs: () => Date.now() }),
      host,
      port,
      clients: createClientAddresses([]),
      connectionRate: noLimit,
      allowedOrigins: [],
    })
  return listenAs(listener('PRIVATE_RPC', host, port), open)
}

/** ports of the socket threads that use this thread's filters */
const filterClients = new Set<MessagePort>()

const service = {
  /** Takes the port to a view thread, or to its replacement. */
  connectView: (index: number, port: MessagePort): void => viewThreads[index]!.replace(port),
  /** Takes the port to the thread that has the filters. */
  connectFilters: (port: MessagePort): void => remoteFilters.replace(port),
  /** Lets another socket thread use the filters of this one. */
  attachFilterClient: (port: MessagePort): void => {
    serve<FilterPort>(port, filters)
    filterClients.add(port)
    port.on('close', () => filterClients.delete(port))
  },
  /** Returns once the thread serves. */
  ready: (): void => undefined,
  metrics: () => threadMetrics.snapshot(),
  close: async () => {
    await Promise.all([server.close(), privateServer?.close(), grpcServer?.close()])
    pending.close()
    closePool(data.pool)
    for (const port of [...viewThreads, remoteFilters, ...filterClients]) port.close()
    node.close()
    rounds.close()
    threadSilence.close()
    await feed.close()
    await database.close()
    log.flush()
  },
}

serve(control, service)

collectWhenIdle()
// Now, because a killed process cannot write its compile cache at the end.
flushCompileCache()
