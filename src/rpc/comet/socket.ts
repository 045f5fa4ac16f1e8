import type { SocketMetrics } from '../../telemetry/metrics.ts'
import { EventQueryError, EventQueryLengthError, parseEventQuery } from '../events/eventQuery.ts'
import type { RpcLog } from '../jsonrpc/errors.ts'
import type { RateLimit } from '../transport/rateLimit.ts'
import type { NotificationEnd, SocketProtocol, SocketSubscriptions } from '../transport/socketProtocol.ts'
import {
  answerCometJson,
  type CometText,
  cometRateLimited,
  idText,
  invalidParams,
  parseCometText,
  readParams,
} from './answer.ts'
import type { CometEventHub } from './eventHub.ts'
import { CometError, CometParamError, type CometTable, cometFailure, text } from './method.ts'

interface CometSocketOptions {
  readonly table: CometTable
  readonly hub: CometEventHub
  readonly log: Pick<RpcLog, 'error'>
  readonly responseBytes: number
  readonly rateLimit?: Pick<RateLimit, 'charge'>
  readonly metrics?: Pick<SocketMetrics, 'refusedTotal'> | undefined
  /** of one socket */
  readonly maxSubscriptions: number
}

interface Request {
  /** JSON text */
  readonly id: string
  readonly method: string
  readonly params: unknown
}

/** Methods that only WebSockets have. */
export const SOCKET_METHODS: ReadonlySet<string> = new Set(['subscribe', 'unsubscribe', 'unsubscribe_all'])
const QUERY_METHOD = { params: [{ name: 'query', type: text }] } as const
/** CometBFT's error texts (libs/pubsub, ErrAlreadySubscribed and ErrSubscriptionNotFound). */
const ALREADY_SUBSCRIBED = 'already subscribed'
const NOT_FOUND = 'subscription not found'

/**
 * Serves CometBFT's methods over a WebSocket, and `subscribe`, `unsubscribe` and `unsubscribe_all`
 * (rpc/core/events.go). Events come as further answers to the request that subscribed.
 */
export function createCometSocket(options: CometSocketOptions): SocketProtocol {
  const { table, hub, maxSubscriptions } = options

  const run = ({ id, method, params }: Request, client: string, subscriptions: SocketSubscriptions): void => {
    if (method === 'unsubscribe_all') {
      if (subscriptions.count === 0) throw cometFailure(NOT_FOUND)
      subscriptions.endAll()
      return
    }
    const [requested] = readParams(QUERY_METHOD, params)
    if (method === 'subscribe' && subscriptions.count >= maxSubscriptions) {
      throw cometFailure(`max_subscriptions_per_client ${maxSubscriptions} reached`)
    }
    const query = parseEventQuery((requested as string | undefined) ?? '')
    // Queries that differ only in spaces are the same subscription.
    const { canonical } = query
    if (method === 'unsubscribe') {
      if (!subscriptions.end(canonical)) throw cometFailure(NOT_FOUND)
      return
    }
    if (subscriptions.has(canonical)) throw cometFailure(ALREADY_SUBSCRIBED)
    const start = `{"jsonrpc":"2.0","id":${id},"result":{"query":${JSON.stringify(query.text)},`
    const hasStarted = subscriptions.start(canonical, (deliver, drop) => {
      const subscriber = {
        client,
        startLength: start.length,
        deliver: (end: NotificationEnd) => deliver(start, end),
        drop,
      }
      const stop = hub.add(query, subscriber)
      if (stop === undefined) throw cometFailure('event queries take too much memory')
      return stop
    })
    if (!hasStarted) throw cometFailure('too many subscriptions')
  }

  return {
    answer: async (text, scope, subscriptions) => {
      const read = parseCometText(text)
      const request = read instanceof CometError ? undefined : ownRequest(read)
      if (request === undefined) {
        const { json } = await answerCometJson(table, read, scope, options)
        return json === '' ? undefined : json
      }
      const head = `{"jsonrpc":"2.0","id":${request.id},`
      try {
        run(request, scope.client, subscriptions)
        return `${head}"result":{}}`
      } catch (error) {
        return `${head}"error":${errorText(toCometError(error, options.log))}}`
      }
    },
    refuse: cometRateLimited,
    // The request of a subscription that was started has been answered.
    confirms: () => true,
  }
}

/**
 * Returns a request for one of the methods that only sockets have; undefined for all others,
 * including batches.
 */
function ownRequest({ json, numberIds }: CometText): Request | undefined {
  if (typeof json !== 'object' || json === null) return undefined
  const { id, method, params } = json as Readonly<Record<string, unknown>>
  if (typeof method !== 'string' || !SOCKET_METHODS.has(method)) return undefined
  if (typeof id !== 'string' && typeof id !== 'number') return undefined
  return { id: idText(id, numberIds[0]), method, params }
}

function toCometError(error: unknown, log: CometSocketOptions['log']): CometError {
  if (error instanceof CometError) return error
  if (error instanceof EventQueryLengthError) return cometFailure(error.message)
  if (error instanceof EventQueryError) return cometFailure(`failed to parse query: ${error.message}`)
  if (error instanceof CometParamError) return invalidParams(error, 'json')
  log.error({ error }, 'a subscription failed')
  return cometFailure('')
}

function errorText({ code, message, data }: CometError): string {
  return JSON.stringify({ code, message, data })
}
