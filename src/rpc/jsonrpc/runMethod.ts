import { openTraceChain, type TraceListener } from '../debug/traceChain.ts'
import type { EventLoopQuota } from '../transport/eventLoopQuota.ts'
import type { AnswerCache } from './answerCache.ts'
import type { CallScope } from './callScope.ts'
import {
  invalidParams,
  invalidRequest,
  methodNotFound,
  RPC_CODES,
  RpcError,
  type RpcLog,
  responseTooLarge,
  serverError,
  toRpcError,
} from './errors.ts'
import { readIdentifier } from './identifier.ts'
import { type MethodTable, type RpcContext, type RpcMethod, readArguments, resultText } from './method.ts'
import { namespaceOf } from './namespaces.ts'
import { placeOf, type Runs, type ViewQueue } from './place.ts'
import { packText, type ResultText } from './resultText.ts'

/**
 * Runs a method in this thread or in a view thread. Returns the result's JSON text, at once when
 * nothing waits.
 * @throws RpcError, or rejects, with an error that `toRpcError` understands
 */
export type MethodRunner = (call: MethodCall, session: Session | undefined) => ResultText | Promise<ResultText>

interface MethodCall {
  readonly method: string
  readonly params: readonly unknown[]
  readonly scope: CallScope
  readonly isNotification: boolean
  /**
   * whether it is part of a batch, which takes the quota for its calls itself and keeps their order
   */
  readonly isInBatch: boolean
}

export interface MethodRunnerOptions {
  readonly methods: MethodTable
  /** namespaces that have subscriptions */
  readonly namespaces: ReadonlySet<string>
  /** a context on the newest head */
  readonly lease: (scope: CallScope) => ContextLease
  readonly views: ViewPool
  /** for quick methods; undefined: they run like cheap ones */
  readonly quota: EventLoopQuota | undefined
  /** undefined: all calls run in view threads */
  readonly shortCalls?: ShortCalls | undefined
  /** undefined: no answers are cached */
  readonly answerCache?: AnswerCache | undefined
  readonly log: Pick<RpcLog, 'error'>
}

/** Runs calls that turn out to be short in this thread. */
export interface ShortCalls {
  /**
   * Returns the result's JSON text; undefined: the call has to run in a view thread.
   * @throws RpcError, which is the call's answer
   */
  tryCall(method: RpcMethod, params: readonly unknown[], scope: CallScope): string | undefined
}

/** A context that may be used until it is released. */
export interface ContextLease {
  readonly context: RpcContext
  release(): void
}

/** The view threads, as a socket thread uses them. */
export interface ViewPool {
  /**
   * Runs a method in a view thread, on a head at least as new as the caller's. Returns the result's
   * JSON text; rejects with an error that has the name, code, message and data of an `RpcError`.
   * Work whose `scope` has ended does not start, or stops.
   */
  call(queue: ViewQueue, method: string, params: readonly unknown[], scope: CallScope): Promise<ResultText>
}

/** geth's bound (rpc/handler.go): names go into error texts and logs. */
const MAX_NAME_LENGTH = 2048

export function createMethodRunner({
  methods,
  namespaces,
  lease,
  views,
  quota,
  shortCalls,
  answerCache,
  log,
}: MethodRunnerOptions): MethodRunner {
  return ({ method: name, params, isNotification, isInBatch, scope }, session) => {
    if (name.length > MAX_NAME_LENGTH) {
      throw invalidRequest(`method name too long: ${name.length} > ${MAX_NAME_LENGTH}`)
    }
    if (name.endsWith('_subscribe')) {
      const openDebug = (): Begin => openTraceChain({ lease, views, scope, log }, params)
      return subscribe(name, params, isNotification, session, { namespaces, openDebug })
    }
    if (name.endsWith('_unsubscribe')) return unsubscribe(params, session)
    const method = methods.get(name)
    if (method === undefined) throw methodNotFound(name)
    const { runs, reads, cacheable } = method
    const inView = (queue: ViewQueue) => views.call(queue, name, params, scope)
    if (runs === 'short') return shortCalls?.tryCall(method, params, scope) ?? inView('heavy')
    if (runs === 'quick' && !(quota !== undefined && (isInBatch || quota.take()))) return inView('cheap')
    if (isViewQueue(runs) && reads === undefined && cacheable === undefined) return inView(runs)

    const { context, release } = lease(scope)
    let result: unknown
    try {
      const { chain } = context.view
      const args = readArguments(method, params)
      const place = placeOf(runs, reads?.(chain, args), chain)
      if (isViewQueue(place)) {
        const request = answerCache && cacheable?.(chain, args)
        const answer =
          request && answerCache.find(chain, request, (same) => views.call(place, same.method, same.params, scope))
        return answer ?? inView(place)
      }
      result = method.run(context, args)
      return result instanceof Promise ? result.then(resultText) : resultText(result)
    } finally {
      // The view must stay open as long as the method reads it, even when its caller no longer
      // waits.
      if (result instanceof Promise) void result.then(release, release)
      else release()
    }
  }
}

function isViewQueue(place: Runs): place is ViewQueue {
  return place === 'cheap' || place === 'heavy' || place === 'trace'
}

interface ViewCall {
  readonly method: string
  readonly params: readonly unknown[]
}

/**
 * The view thread's side of {@link ViewPool}: reads the arguments, runs the method, writes the result.
 * @throws RpcError
 */
export async function serveViewCall(
  methods: MethodTable,
  context: RpcContext,
  { method: name, params }: ViewCall,
  log: Pick<RpcLog, 'error'>,
): Promise<ResultText> {
  try {
    const method = methods.get(name)
    if (method === undefined) throw methodNotFound(name)
    const text = resultText(await method.run(context, readArguments(method, params)))
    // Checked here, so that a text which the client cannot get is not sent to the other thread.
    if (text.length > context.limits.responseBytes) throw responseTooLarge()
    return typeof text === 'string' ? packText(text) : text
  } catch (error) {
    throw toRpcError(error, log, { method: name })
  }
}

/** A connection that can carry notifications, as the dispatcher sees it. */
export interface Session {
  /**
   * Starts a subscription of the eth namespace; `params` are those of the request, the name first. Returns its ID. No
   * notification is sent before the answer to the request.
   * @throws RpcError
   */
  subscribe(params: readonly unknown[]): string
  /** Starts a subscription of another namespace by `begin`. Returns its ID. @throws RpcError */
  start(namespace: string, begin: Begin): string
  /** Ends a subscription. Returns whether there was such a subscription. */
  unsubscribe(id: string): boolean
}

/** Starts a subscription; returns a function that ends it. */
export type Begin = (listener: TraceListener) => () => void

/** geth: handler.handleSubscribe. */
function subscribe(
  name: string,
  params: readonly unknown[],
  isNotification: boolean,
  session: Session | undefined,
  { namespaces, openDebug }: { readonly namespaces: ReadonlySet<string>; readonly openDebug: () => Begin },
): string {
  if (session === undefined) throw new RpcError(RPC_CODES.methodNotFound, 'notifications not supported')
  const topic = params[0]
  if (typeof topic !== 'string') throw invalidParams('expected subscription name as first argument')
  const namespace = namespaceOf(name)
  const isDebug = namespace === 'debug' && topic === 'traceChain'
  if (!(namespace === 'eth' || isDebug) || !namespaces.has(namespace)) throw noSuchSubscription(topic, namespace)
  // The client would never get the ID.
  if (isNotification) throw invalidRequest()
  return JSON.stringify(isDebug ? session.start(namespace, openDebug()) : session.subscribe(params))
}

function unsubscribe(params: readonly unknown[], session: Session | undefined): string {
  const [id] = readArguments({ params: [readIdentifier], required: 1 }, params)
  if (session?.unsubscribe(id as string) !== true) throw serverError('subscription not found')
  return 'true'
}

export function noSuchSubscription(topic: string, namespace: string): RpcError {
  const shown = JSON.stringify(topic.slice(0, MAX_NAME_LENGTH))
  return new RpcError(RPC_CODES.methodNotFound, `no ${shown} subscription in ${namespace} namespace`)
}
