import type { ChainReader } from '../../chain/reader.ts'
import type { TransactionWorld } from '../../evm/transition.ts'
import type { ModuleContext } from '../../modules/context.ts'
import { defineMessage, type Field, type MessageType } from '../../primitives/protoSchema.ts'
import type { RpcContext } from '../method.ts'
import type { ViewQueue } from '../viewCall.ts'
import type { NativePort } from './nativeCall.ts'
import type { NodeDescription } from './nodeDescription.ts'

/**
 * What a query reads: the state after block `block.height`, the chain as of the newest head, and whatever else a request may use.
 * The world is the query's own: what it writes goes nowhere.
 */
export interface QueryContext extends ModuleContext {
  readonly world: TransactionWorld
  readonly chain: ChainReader
  readonly rpc: RpcContext
  readonly node: NodeDescription
  /** other queries, over the same head */
  readonly queries: NativePort
}

/** Where the gateway offers a query. A POST has the request in its body. */
export interface RestBinding {
  readonly method: 'GET' | 'POST'
  /** e.g. `/cosmos/bank/v1beta1/balances/{address}/by_denom`; `{name=**}` takes all that is left of the path */
  readonly template: string
}

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

// biome-ignore lint/suspicious/noExplicitAny: the type of each field is inferred from it
type Fields = Readonly<Record<string, Field<any>>>
type Values<F extends Fields> = { readonly [K in keyof F]: F[K] extends Field<infer T> ? T : never }

export interface QueryDefinition<Q extends Fields, R extends Fields> {
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

/** Queries by gRPC path. */
export type QueryTable = ReadonlyMap<string, NativeQuery>

/** @throws Error when two queries have one path */
export function createQueryTable(queries: readonly NativeQuery[]): QueryTable {
  const table = new Map(queries.map((query) => [query.path, query]))
  if (table.size !== queries.length) throw new Error('two queries have one path')
  return table
}
