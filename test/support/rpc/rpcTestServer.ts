import { createClientAddresses } from '../../../src/config/clientAddress.ts'
import { NAMESPACES } from '../../../src/config/namespaces.ts'
import type { PooledTransaction } from '../../../src/mempool/types.ts'
import type { CometEventHub } from '../../../src/rpc/comet/eventHub.ts'
import { createCometTable } from '../../../src/rpc/comet/method.ts'
import type { RestOptions } from '../../../src/rpc/cosmos/rest/routes.ts'
import { createRestRouter } from '../../../src/rpc/cosmos/rest/routes.ts'
import { createAnswerCache } from '../../../src/rpc/jsonrpc/answerCache.ts'
import { type CallScope, monotonicMs, OWN_SCOPE } from '../../../src/rpc/jsonrpc/callScope.ts'
import { createDispatcher, type Dispatcher, type DispatcherOptions } from '../../../src/rpc/jsonrpc/dispatch.ts'
import {
  createMethodTable,
  type MethodTable,
  type RpcMethod,
  type SyncStatus,
} from '../../../src/rpc/jsonrpc/method.ts'
import { createSocketMethods, METHODS } from '../../../src/rpc/jsonrpc/methodTable.ts'
import { methodsOf } from '../../../src/rpc/jsonrpc/namespaces.ts'
import { answerString } from '../../../src/rpc/jsonrpc/resultText.ts'
import { type ShortCalls, serveViewCall, type ViewPool } from '../../../src/rpc/jsonrpc/runMethod.ts'
import { createFilterStore, type FilterStore } from '../../../src/rpc/subscriptions/filters.ts'
import {
  createSubscriptionHub,
  type HeadFeed,
  type SubscriptionHub,
} from '../../../src/rpc/subscriptions/subscriptions.ts'
import { type ClientBudget, createClientBudget } from '../../../src/rpc/transport/clientBudget.ts'
import { compressBytes } from '../../../src/rpc/transport/compressBytes.ts'
import type { Compressor } from '../../../src/rpc/transport/compression.ts'
import {
  type CosmosOptions,
  createRpcServer,
  type RpcServer,
  type RpcServerOptions,
} from '../../../src/rpc/transport/http.ts'
import type { Health, ProbeSource } from '../../../src/rpc/transport/probes.ts'
import { createRateLimit, type RateLimit } from '../../../src/rpc/transport/rateLimit.ts'
import type { NodeView } from '../../../src/state/view.ts'
import { type MemoryNode, TEST_LIMITS } from './memoryNode.ts'

/** A feed that tests publish to by hand. */
interface TestFeed extends HeadFeed {
  head(view: NodeView): void
  pending(transactions: readonly PooledTransaction[]): void
  /** who is told of heads */
  readonly listeners: number
}

function createTestFeed(): TestFeed {
  const heads = new Set<(view: NodeView) => void>()
  const pools: ((transactions: readonly PooledTransaction[]) => void)[] = []
  return {
    onHead: (listener) => {
      heads.add(listener)
      return () => void heads.delete(listener)
    },
    onPendingTransactions: (listener) => void pools.push(listener),
    get listeners() {
      return heads.size
    },
    head: (view) => {
      for (const listener of heads) listener(view)
    },
    pending: (transactions) => {
      for (const listener of pools) listener(transactions)
    },
  }
}

/** The RPC part of one socket thread on an in-memory node, without a network. */
export interface TestThread {
  readonly dispatcher: Dispatcher
  readonly hub: SubscriptionHub
  readonly feed: TestFeed
  readonly methods: MethodTable
  /** what was logged as an error */
  readonly logged: unknown[]
  /** contexts that were not released yet */
  leases(): number
  setSyncing(status: SyncStatus | undefined): void
  answer(text: string): Promise<string | undefined>
  /** Answers the request and reads the answer. */
  ask(request: unknown): Promise<unknown>
}

interface TestThreadOptions {
  readonly extraMethods?: readonly RpcMethod[]
  readonly limits?: Partial<typeof TEST_LIMITS>
  readonly requestTimeoutMs?: number
  readonly runsQuickCalls?: boolean
  readonly filters?: FilterStore
  readonly budget?: ClientBudget
  readonly views?: ViewPool
  readonly shortCalls?: ShortCalls
  readonly rateLimit?: RateLimit
  readonly metrics?: DispatcherOptions['metrics']
}

export function createTestThread(node: MemoryNode, options: TestThreadOptions = {}): TestThread {
  const { extraMethods = [], budget = createClientBudget({ total: 1e8 }), requestTimeoutMs = 30_000 } = options
  const { filters = createFilterStore({ criteria: budget }) } = options
  const limits = { ...TEST_LIMITS, ...options.limits }
  const feed = createTestFeed()
  const logged: unknown[] = []
  const log = { error: (fields: unknown) => void logged.push(fields), warn: () => undefined }
  let syncing: SyncStatus | undefined
  let leases = 0
  const viewMethods = createMethodTable([...METHODS.values(), ...extraMethods])
  // Parameters and errors cross a thread in production.
  const views: ViewPool = options.views ?? {
    call: async (_, method, params, scope) => {
      const call = { method, params: structuredClone(params) }
      try {
        return await serveViewCall(viewMethods, node.context({ limits, scope }), call, log)
      } catch (error) {
        const { name, message, ...fields } = error as Error
        throw Object.assign(new Error(message), fields, { name })
      }
    },
  }
  const namespaces = new Set(NAMESPACES)
  const ownMethods = methodsOf(createSocketMethods({ filters, views }), namespaces)
  const methods = createMethodTable([...ownMethods.values(), ...extraMethods])
  const lease = (scope: CallScope) => {
    leases++
    return { context: node.context({ limits, scope, syncing: () => syncing }), release: () => void leases-- }
  }
  const dispatcher = createDispatcher({
    methods,
    namespaces,
    lease,
    views,
    shortCalls: options.shortCalls,
    answerCache: createAnswerCache(1_048_576),
    limits,
    log,
    metrics: options.metrics,
    ...(options.rateLimit === undefined ? {} : { rateLimit: options.rateLimit }),
    ...(options.runsQuickCalls === undefined ? {} : { runsQuickCalls: options.runsQuickCalls }),
  })
  const answer = async (text: string): Promise<string | undefined> => {
    const deadlineMs = monotonicMs() + requestTimeoutMs
    const found = await dispatcher.answer(text, { ...OWN_SCOPE, deadlineMs })
    return found && answerString(found)
  }
  const hub = createSubscriptionHub({
    feed,
    headHeight: () => node.view().chain.headHeight,
    lease: () => lease(OWN_SCOPE),
    syncing: () => syncing,
    budget,
    log,
  })
  feed.onPendingTransactions(filters.addTransactions)
  return {
    dispatcher,
    hub,
    feed,
    methods,
    logged,
    answer,
    leases: () => leases,
    setSyncing: (status) => {
      syncing = status
    },
    ask: async (request) => {
      const text = await answer(typeof request === 'string' ? request : JSON.stringify(request))
      return text === undefined ? undefined : JSON.parse(text)
    },
  }
}

const NO_REST: RestOptions = {
  router: createRestRouter(new Map()),
  port: { query: () => Promise.reject(new Error('there are no native queries here')) },
}

const NO_EVENTS: CometEventHub = { add: () => () => undefined }

/** The paths of Cosmos clients, empty where a test does not need them. */
export const NO_COSMOS: CosmosOptions = {
  comet: createCometTable([]),
  cometHub: NO_EVENTS,
  rest: NO_REST,
  grpc: { paths: [], services: () => Promise.reject(new Error('there is no gRPC here')) },
}

/** Compresses in this thread. From another one, bytes come without the class `Buffer`. */
const ownCompressor: Compressor = {
  compress: async (encoding, { read }) => new Uint8Array(await compressBytes(encoding, read(), async () => undefined)),
}

export interface TestServer extends RpcServer {
  readonly url: string
  readonly wsUrl: string
}

/** A real server on a free port of the loopback interface. */
/** What probes show of a node that is in step and alone, but for the given fields; the executor owes an answer for `silentMs`. */
export function probesOf(health: () => Partial<Health>, silentMs = 0): ProbeSource {
  return {
    health: () => ({ height: 0, ageMs: 0, catchingUp: false, peers: 0, lag: 0, ...health() }),
    silence: () => ({ thread: 'executor', silentMs }),
  }
}

export async function startTestServer(
  node: MemoryNode,
  thread: TestThread,
  options: Partial<RpcServerOptions> = {},
): Promise<TestServer> {
  const server = await createRpcServer({
    dispatcher: thread.dispatcher,
    hub: thread.hub,
    cosmos: NO_COSMOS,
    probes: probesOf(() => ({ height: node.view().chain.headHeight })),
    host: '127.0.0.1',
    port: 0,
    clients: createClientAddresses([]),
    rateLimit: createRateLimit({ perSecond: 0 }),
    connectionRate: createRateLimit({ perSecond: 0 }),
    allowedOrigins: ['*'],
    requestBytes: TEST_LIMITS.requestBytes,
    responseBytes: TEST_LIMITS.responseBytes,
    compressor: ownCompressor,
    log: { error: (fields) => void thread.logged.push(fields), warn: () => undefined },
    ...options,
  })
  const { port } = server.address
  return { ...server, url: `http://127.0.0.1:${port}`, wsUrl: `ws://127.0.0.1:${port}/ws` }
}
