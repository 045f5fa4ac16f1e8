import { readArguments } from './arguments.ts'
import { invalidParams, invalidRequest, methodNotFound } from './errorResponse.ts'
import { RPC_CODES, RpcError, serverError } from './errors.ts'
import type { EventLoopQuota } from './eventLoopQuota.ts'
import type { ParamReader, RpcContext } from './method.ts'
import type { MethodTable } from './methodTable.ts'
import { TypeMismatch } from './params/values.ts'
import { resultText } from './rawJson.ts'
import type { Session } from './session.ts'
import type { ViewPool } from './viewCall.ts'

/** A context that may be used until it is released. */
export interface ContextLease {
  readonly context: RpcContext
  release(): void
}

export interface MethodRunnerOptions {
  readonly methods: MethodTable
  /** a context on the newest head */
  readonly lease: () => ContextLease
  readonly views: ViewPool
  /** for quick methods; undefined: they run like cheap ones */
  readonly turn: EventLoopQuota | undefined
}

export interface MethodCall {
  readonly method: string
  readonly params: readonly unknown[]
  readonly isNotification: boolean
  /** a batch sees to it itself that the turn has time, and to the order of its calls */
  readonly isInBatch: boolean
}

/**
 * Runs a method in this thread or in a view thread. Gives the result's JSON text, at once where nothing waits.
 * @throws RpcError, or rejects, with what `toRpcError` understands
 */
export type MethodRunner = (call: MethodCall, session: Session | undefined) => string | Promise<string>

/** geth's bound (rpc/handler.go): names go into error texts and logs. */
const MAX_NAME_LENGTH = 2048

export function createMethodRunner({ methods, lease, views, turn }: MethodRunnerOptions): MethodRunner {
  return ({ method: name, params, isNotification, isInBatch }, session) => {
    if (name.length > MAX_NAME_LENGTH) {
      throw invalidRequest(`method name too long: ${name.length} > ${MAX_NAME_LENGTH}`)
    }
    if (name.endsWith('_subscribe')) return subscribe(name, params, isNotification, session)
    if (name.endsWith('_unsubscribe')) return unsubscribe(params, session)
    const method = methods.get(name)
    if (method === undefined) throw methodNotFound(name)
    const { queue } = method
    if (queue === 'cheap' || queue === 'heavy') return views.call(queue, name, params)
    const isHere = queue !== 'quick' || (turn !== undefined && (isInBatch || turn.take()))
    if (!isHere) return views.call('cheap', name, params)
    const { context, release } = lease()
    let result: unknown
    try {
      result = method.run(context, readArguments(method, params))
      if (!(result instanceof Promise)) return resultText(result)
    } finally {
      // The view must stay open as long as the method reads it, even when its caller does not wait any more.
      if (result instanceof Promise) void result.then(release, release)
      else release()
    }
    return result.then(resultText)
  }
}

/** geth: handler.handleSubscribe. */
function subscribe(
  name: string,
  params: readonly unknown[],
  isNotification: boolean,
  session: Session | undefined,
): string {
  if (session === undefined) throw new RpcError(RPC_CODES.methodNotFound, 'notifications not supported')
  const topic = params[0]
  if (typeof topic !== 'string') throw invalidParams('expected subscription name as first argument')
  const namespace = name.slice(0, name.indexOf('_'))
  if (namespace !== 'eth') throw noSuchSubscription(topic, namespace)
  // Nobody would learn the ID.
  if (isNotification) throw invalidRequest()
  return JSON.stringify(session.subscribe(params))
}

export function noSuchSubscription(topic: string, namespace: string): RpcError {
  const shown = JSON.stringify(topic.slice(0, MAX_NAME_LENGTH))
  return new RpcError(RPC_CODES.methodNotFound, `no ${shown} subscription in ${namespace} namespace`)
}

const readSubscriptionId: ParamReader<string> = (json) => {
  if (typeof json !== 'string') throw new TypeMismatch(Array.isArray(json) ? 'array' : typeof json, 'rpc.ID')
  return json
}

function unsubscribe(params: readonly unknown[], session: Session | undefined): string {
  const [id] = readArguments({ params: [readSubscriptionId], required: 1 }, params)
  if (session?.unsubscribe(id as string) !== true) throw serverError('subscription not found')
  return 'true'
}
