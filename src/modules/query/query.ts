import type { ChainReader } from '../../chain/store/chainReader.ts'
import type { TransactionWorld } from '../../evm/transition.ts'
import type { Address } from '../../primitives/address.ts'
import {
  defineMessage,
  embedded,
  type Field,
  type MessageType,
  message,
  repeated,
} from '../../primitives/protoSchema.ts'
import type { ModuleContext } from '../context.ts'
import { PageResponse } from '../pagination.ts'
import type { ParamsStore } from '../params.ts'

/** One query of the native layer: one entry for abci_query, REST and the command line. */
export interface NativeQuery<Q = unknown, R = unknown, C = QueryContext> {
  /** of gRPC, e.g. `/cosmos.bank.v1beta1.Query/Balance` */
  readonly path: string
  readonly rest: readonly RestBinding[]
  readonly request: MessageType<Q>
  readonly response: MessageType<R>
  readonly runs: QueryQueue
  /** @throws QueryError */
  run(context: C, request: Q): R | Promise<R>
}

/**
 * Where a query runs: `socket` in the thread that holds the connection (it reads no state, and no
 * block after it has waited); in the queues of the view threads `cheap` (a few milliseconds at most
 * between two turns of the event loop) and `heavy` (longer, or on old blocks). On the state after an
 * old block all queries are heavy.
 */
export type QueryQueue = 'socket' | 'cheap' | 'heavy'

/** Where the gateway offers a query. A POST has the request in its body. */
export interface RestBinding {
  readonly method: 'GET' | 'POST'
  /** e.g. `/cosmos/bank/v1beta1/balances/{address}/by_denom`; `{name=**}` takes all that is left of the path */
  readonly template: string
}

/**
 * The data that modules' queries read: the state after block `block.height`, and the chain as of
 * the newest head. Each query has a world of its own: its writes there are discarded.
 */
export interface QueryContext extends ModuleContext {
  readonly world: TransactionWorld
  readonly chain: ChainReader
  /** acoin per gas, of the block after `block` */
  nextBaseFee(): bigint
  /** Returns the state after a block of `height`. @throws StateUnavailable */
  worldAt(height: number): Pick<TransactionWorld, 'native'>
  /** addresses of all accounts of the newest state, ascending or descending, from `start` (included) on */
  accounts(options: { readonly start?: Address; readonly reverse: boolean }): AsyncIterable<Address>
  /**
   * Begins work whose amount depends on the size of the data. The returned function lets other
   * calls of the thread run, and throws (rejects with) a QueryError once the time is over or the
   * client no longer waits for the answer.
   */
  beginPauses(): () => Promise<void>
}

// biome-ignore lint/suspicious/noExplicitAny: the type of each field is inferred from it
export type Fields = Readonly<Record<string, Field<any>>>
type Values<F extends Fields> = { readonly [K in keyof F]: F[K] extends Field<infer T> ? T : never }

export interface QueryDefinition<Q extends Fields, R extends Fields, C> {
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
  readonly runs?: QueryQueue
  readonly run: (context: C, request: Values<Q>) => Values<R> | Promise<Values<R>>
}

/** Declares a query. Its messages are named as the SDK does: `QueryBalanceRequest`, in other services `GetTxRequest`. */
export function defineQuery<const Q extends Fields, const R extends Fields, C = QueryContext>(
  definition: QueryDefinition<Q, R, C>,
): NativeQuery<unknown, unknown, C> {
  const { service, name, get = [], post = [], runs = 'cheap', run } = definition
  const dot = service.lastIndexOf('.')
  const prefix = service.endsWith('.Query') ? 'Query' : ''
  const [requestName, responseName] = definition.messageNames ?? [`${prefix}${name}Request`, `${prefix}${name}Response`]
  const query: NativeQuery<Values<Q>, Values<R>, C> = {
    path: `/${service}/${name}`,
    rest: [
      ...get.map((template): RestBinding => ({ method: 'GET', template })),
      ...post.map((template): RestBinding => ({ method: 'POST', template })),
    ],
    request: defineMessage(`${service.slice(0, dot)}.${requestName}`, definition.request),
    response: defineMessage(`${service.slice(0, dot)}.${responseName}`, definition.response),
    runs,
    run,
  }
  return query as unknown as NativeQuery<unknown, unknown, C>
}

/** A page of a list, with the data that a client needs for the next one. */
export interface Page<T> {
  readonly items: readonly T[]
  readonly pagination: PageResponse
}

/** A single item, for a request with its whole key; the answer to other requests is a page. */
interface SingleItem<T> {
  readonly items: readonly [T]
  readonly pagination: undefined
}

interface PagedQueryDefinition<Q extends Fields, T>
  extends Omit<QueryDefinition<Q, Fields, QueryContext>, 'response' | 'run'> {
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
    runs: 'heavy',
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
