import type { ChainReader } from '../../chain/store/store.ts'
import { ExecutionTimeout } from '../../evm/engine.ts'
import type { TransactionWorld } from '../../evm/transition.ts'
import type { ModuleContext } from '../../modules/context.ts'
import { PageResponse } from '../../modules/pagination.ts'
import type { ParamsStore } from '../../modules/params.ts'
import {
  defineMessage,
  embedded,
  type Field,
  type MessageType,
  message,
  repeated,
} from '../../primitives/protoSchema.ts'
import type { NodeInfo } from '../comet/json/nodeInfo.ts'
import type { CallScope } from '../jsonrpc/callScope.ts'
import type { RpcContext } from '../jsonrpc/method.ts'
import type { ViewQueue } from '../jsonrpc/runMethod.ts'
import { GRPC_CODES, QueryError, type QueryFailure } from './queryError.ts'

/** One query of the native layer: one entry for abci_query, REST and the command line. */
export interface NativeQuery<Q = unknown, R = unknown> {
  /** of gRPC, e.g. `/cosmos.bank.v1beta1.Query/Balance` */
  readonly path: string
  readonly rest: readonly RestBinding[]
  readonly request: MessageType<Q>
  readonly response: MessageType<R>
  readonly queue: ViewQueue
  /** @throws QueryError */
  run(context: QueryContext, request: Q): R | Promise<R>
}

/** Where the gateway offers a query. A POST has the request in its body. */
export interface RestBinding {
  readonly method: 'GET' | 'POST'
  /** e.g. `/cosmos/bank/v1beta1/balances/{address}/by_denom`; `{name=**}` takes all that is left of the path */
  readonly template: string
}

/** Queries by gRPC path. */
export type QueryTable = ReadonlyMap<string, NativeQuery>

/**
 * What a query reads: the state after block `block.height`, the chain as of the newest head, and whatever else a request may use.
 * The query has the world for itself: what it writes there is discarded.
 */
export interface QueryContext extends ModuleContext {
  readonly world: TransactionWorld
  readonly chain: ChainReader
  readonly rpc: RpcContext
  readonly node: NodeDescription
  /** other queries, over the same head */
  readonly queries: NativePort
}

/** What queries show of the node itself; it does not change while the node runs. */
export interface NodeDescription {
  readonly identity: NodeInfo
  /** blocks of state that are kept; 0: all */
  readonly pruningWindow: number
}

/** View threads, for native queries. */
export interface NativePort {
  query(queue: ViewQueue, call: NativeCall, scope: CallScope): Promise<NativeAnswer>
}

/**
 * Bytes of a query's request in protobuf, or in the JSON of the Connect protocol. The largest are transactions, of at most 128 KiB, which take
 * a third more in base64. Of the smallest values in a longer one, objects of two bytes each, a thread would make for seconds.
 */
export const MAX_QUERY_BYTES = 262_144

/** A query as it travels to a view thread, in the form of the transport that it came by. */
export interface NativeCall {
  /** of gRPC */
  readonly path: string
  /** JSON of the request for REST, protobuf for abci_query; the answer has the same form */
  readonly request: { readonly json: string } | { readonly protobuf: Uint8Array }
  /** whose state is asked for; 0: the newest */
  readonly height: number
}

export type NativeAnswer =
  | { readonly kind: 'json'; readonly height: number; readonly json: string }
  | { readonly kind: 'protobuf'; readonly height: number; readonly protobuf: Uint8Array }
  | ({ readonly kind: 'error' } & QueryFailure)

// biome-ignore lint/suspicious/noExplicitAny: the type of each field is inferred from it
type Fields = Readonly<Record<string, Field<any>>>
type Values<F extends Fields> = { readonly [K in keyof F]: F[K] extends Field<infer T> ? T : never }

interface QueryDefinition<Q extends Fields, R extends Fields> {
  /** e.g. `cosmos.bank.v1beta1.Query` */
  readonly service: string
  /** e.g. `Balance` */
  readonly name: string
  /** templates of GET requests */
  readonly get?: readonly string[]
  /** templates of POST requests */
  readonly post?: readonly string[]
  /** fields of the request and the response */
  readonly request: Q
  readonly response: R
  /** names of both messages, without the package, where they are not the usual ones */
  readonly messageNames?: readonly [request: string, response: string]
  /** by default `cheap`: a few milliseconds at most between two turns of the event loop */
  readonly queue?: ViewQueue
  readonly run: (context: QueryContext, request: Values<Q>) => Values<R> | Promise<Values<R>>
}

/** Declares a query. Its messages are named as the SDK does: `QueryBalanceRequest`, in other services `GetTxRequest`. */
export function defineQuery<const Q extends Fields, const R extends Fields>(
  definition: QueryDefinition<Q, R>,
): NativeQuery {
  const { service, name, get = [], post = [], queue = 'cheap', run } = definition
  const dot = service.lastIndexOf('.')
  const prefix = service.endsWith('.Query') ? 'Query' : ''
  const [requestName, responseName] = definition.messageNames ?? [`${prefix}${name}Request`, `${prefix}${name}Response`]
  const query: NativeQuery<Values<Q>, Values<R>> = {
    path: `/${service}/${name}`,
    rest: [
      ...get.map((template): RestBinding => ({ method: 'GET', template })),
      ...post.map((template): RestBinding => ({ method: 'POST', template })),
    ],
    request: defineMessage(`${service.slice(0, dot)}.${requestName}`, definition.request),
    response: defineMessage(`${service.slice(0, dot)}.${responseName}`, definition.response),
    queue,
    run,
  }
  return query as unknown as NativeQuery
}

/** A page of a list and what a client needs for the next one. */
export interface Page<T> {
  readonly items: readonly T[]
  readonly pagination: PageResponse
}

/** A single item, for a request with its whole key; the answer to other requests is a page. */
interface SingleItem<T> {
  readonly items: readonly [T]
  readonly pagination: undefined
}

interface PagedQueryDefinition<Q extends Fields, T> extends Omit<QueryDefinition<Q, Fields>, 'response' | 'run'> {
  /** name of the list in the response, and the type of its items */
  readonly list: readonly [name: string, item: Field<T>]
  readonly run: (
    context: QueryContext,
    request: Values<Q>,
  ) => Promise<Page<NonNullable<T>> | SingleItem<NonNullable<T>>>
}

/** Declares a query that answers with a page of a list, in the heavy queue, as pages may be long: the list is the response's field 1, `pagination` its field 2. */
export function definePagedQuery<const Q extends Fields, T>(definition: PagedQueryDefinition<Q, T>): NativeQuery {
  const { list, run, ...query } = definition
  const [name, item] = list
  return defineQuery({
    queue: 'heavy',
    ...query,
    response: { [name]: repeated(item), pagination: message(2, PageResponse) },
    run: async (context, request) => {
      const { items, pagination } = await run(context, request)
      return { [name]: items, pagination }
    },
  })
}

/** Declares the query `Params`, which shows all parameters of a module. @param base of its REST paths */
export function defineParamsQuery<T>(service: string, base: string, params: ParamsStore<T>): NativeQuery {
  return defineQuery({
    service,
    name: 'Params',
    get: [`${base}/params`],
    request: {},
    response: { params: embedded(1, params.type) },
    run: ({ world }) => ({ params: params.get(world.native) }),
  })
}

/** @throws Error when two queries have one path */
export function createQueryTable(queries: readonly NativeQuery[]): QueryTable {
  const table = new Map(queries.map((query) => [query.path, query]))
  if (table.size !== queries.length) throw new Error('two queries have one path')
  return table
}

/**
 * Lets the thread's other calls have a turn; for queries whose work depends on how much there is.
 * @throws QueryError (rejects) when nobody waits for the query any more
 */
export function pauseUntilDeadline({
  execution,
  monotonicMs,
  limits,
}: Pick<RpcContext, 'execution' | 'monotonicMs' | 'limits'>): () => Promise<void> {
  if (execution === undefined) throw new Error('queries run in view threads')
  const pause = execution.yieldUntil(monotonicMs() + limits.callTimeoutMs)
  return async () => {
    try {
      await pause()
    } catch (error) {
      if (!(error instanceof ExecutionTimeout)) throw error
      throw new QueryError(GRPC_CODES.deadlineExceeded, 'the query takes too long; ask for less, without a total')
    }
  }
}
