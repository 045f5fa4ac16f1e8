import { ExecutionTimeout } from '../../evm/engine.ts'
import {
  defineQuery,
  type Fields,
  type NativeQuery as ModuleQuery,
  type QueryContext as ModuleQueryContext,
  type QueryDefinition,
} from '../../modules/query/query.ts'
import { GRPC_CODES, QueryError, type QueryFailure } from '../../modules/query/queryError.ts'
import type { NodeInfo } from '../comet/json/nodeInfo.ts'
import type { CallScope } from '../jsonrpc/callScope.ts'
import type { RpcContext } from '../jsonrpc/method.ts'
import type { ViewQueue } from '../jsonrpc/place.ts'

/** A query of a module, or one that uses more of the node: simulations, transactions, blocks. */
export type NativeQuery = ModuleQuery<unknown, unknown, QueryContext>

/** Queries by gRPC path. */
export type QueryTable = ReadonlyMap<string, NativeQuery>

/** What a query reads, and whatever else a request may use. */
export interface QueryContext extends ModuleQueryContext {
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

/** Declares a query that uses more than the state and the chain. */
export function defineNodeQuery<const Q extends Fields, const R extends Fields>(
  definition: QueryDefinition<Q, R, QueryContext>,
): NativeQuery {
  return defineQuery<Q, R, QueryContext>(definition)
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
