import { nextBaseFee } from '../../chain/block/baseFee.ts'
import { BlockUnavailable } from '../../chain/segments/segments.ts'
import { ExecutionTimeout } from '../../evm/engine.ts'
import { runningParams } from '../../execution/blockContext.ts'
import { GRPC_CODES, invalidArgument, QueryError, tooLarge } from '../../modules/query/queryError.ts'
import { SDK_ERRORS } from '../../modules/sdkError.ts'
import { ProtobufError } from '../../primitives/protobuf.ts'
import { type Json, JsonFormError } from '../../primitives/protoScalars.ts'
import { StateUnavailable } from '../../state/head.ts'
import { openViewWorld } from '../eth/viewWorld.ts'
import type { CallScope } from '../jsonrpc/callScope.ts'
import { RpcError, type RpcLog } from '../jsonrpc/errors.ts'
import type { RpcContext } from '../jsonrpc/method.ts'
import type { ContextLease } from '../jsonrpc/runMethod.ts'
import { JSON_TYPES_OF_ANY } from './anyTypes.ts'
import {
  MAX_QUERY_BYTES,
  type NativeAnswer,
  type NativeCall,
  type NativePort,
  type NativeQuery,
  type NodeDescription,
  pauseUntilDeadline,
  type QueryContext,
  type QueryTable,
  type ViewQueries,
} from './queryPort.ts'

/** The answer of an overloaded thread. */
export const TOO_BUSY = {
  kind: 'error',
  code: GRPC_CODES.resourceExhausted,
  message: 'too many requests, try again later',
  abci: undefined,
} as const satisfies NativeAnswer

/** The answer to a query whose time was over before it ran. */
export const EXPIRED = {
  kind: 'error',
  code: GRPC_CODES.deadlineExceeded,
  message: 'request timed out',
  abci: undefined,
} as const satisfies NativeAnswer

/** The answer to a query whose thread has ended. */
export const THREAD_LOST = {
  kind: 'error',
  code: GRPC_CODES.unavailable,
  message: 'the thread that worked on this has ended, and another one takes its place: try again',
  abci: undefined,
} as const satisfies NativeAnswer

/** The answer to a client that is gone. */
export const CANCELLED = {
  kind: 'error',
  code: GRPC_CODES.cancelled,
  message: 'request cancelled',
  abci: undefined,
} as const satisfies NativeAnswer

interface NativeCallOptions {
  readonly queries: QueryTable
  readonly node: NodeDescription
  readonly log: Pick<RpcLog, 'error'>
}

interface SocketQueriesOptions extends NativeCallOptions {
  readonly views: ViewQueries
  /** a context on the newest head, for queries of the queue `socket` */
  readonly lease: (scope: CallScope) => ContextLease
}

/** The port of a thread that has sockets. */
export function createNativePort({ views, lease, ...options }: SocketQueriesOptions): NativePort {
  return {
    query: async (queue, call, scope) => {
      if (queue !== 'socket') return views.query(queue, call, scope)
      // A view thread opens a state that the client names, and parses what is longer than any submission.
      if (call.height !== 0 || lengthOf(call) > MAX_QUERY_BYTES) return views.query('cheap', call, scope)
      if (scope.signal.aborted) return CANCELLED
      const { context, release } = lease(scope)
      try {
        // Not awaited: a query of this queue reads nothing of the view once it waits, and it may wait for the pool.
        return answerNativeCall(options, context, call)
      } finally {
        release()
      }
    },
  }
}

function lengthOf({ request }: NativeCall): number {
  return 'json' in request ? request.json.length : request.protobuf.length
}

/** Runs a query in this thread. */
export async function answerNativeCall(
  options: NativeCallOptions,
  context: RpcContext,
  { path, request, height }: NativeCall,
): Promise<NativeAnswer> {
  const { queries, log } = options
  try {
    const query = queries.get(path)
    if (query === undefined) throw new QueryError(GRPC_CODES.unimplemented, `unknown method ${path}`)
    const message = readRequest(query, request)
    const opened = openQuery(options, context, height)
    const response = await query.run(opened, message)
    if ('json' in request) {
      const json = JSON.stringify(query.response.toJson(response, JSON_TYPES_OF_ANY))
      if (json.length > context.limits.responseBytes) throw tooLarge()
      return { kind: 'json', height: opened.block.height, json }
    }
    const protobuf = query.response.encode(response)
    if (protobuf.length > context.limits.responseBytes) throw tooLarge()
    return { kind: 'protobuf', height: opened.block.height, protobuf }
  } catch (error) {
    const { code, message, abci } = toQueryError(error, log, path)
    return { kind: 'error', code, message, abci }
  }
}

/** JSON has few levels: `answerRest` has counted them. @throws QueryError */
function readRequest(query: NativeQuery, request: NativeCall['request']): unknown {
  try {
    if ('protobuf' in request) return query.request.decode(request.protobuf)
    const json = JSON.parse(request.json) as Json
    return query.request.fromJson(json, JSON_TYPES_OF_ANY)
  } catch (error) {
    const isWrong = error instanceof ProtobufError || error instanceof JsonFormError || error instanceof SyntaxError
    throw isWrong ? invalidArgument(error.message) : error
  }
}

/** ErrInvalidHeight of the SDK (types/errors/errors.go) */
const INVALID_HEIGHT = 26

/**
 * Opens the state that a query reads.
 * @throws QueryError when the state of this height is not there yet or no longer there
 */
function openQuery(options: NativeCallOptions, context: RpcContext, requested: number): QueryContext {
  const { view, chain: config } = context
  const { chain } = view
  if (requested < 0) throw invalidArgument('cannot query with height < 0; please provide a valid height')
  if (requested > chain.headHeight) {
    const reason = 'cannot query with height in the future; please provide a valid height'
    const abci = { codespace: 'sdk', code: INVALID_HEIGHT, log: `${reason}: invalid height` }
    throw new QueryError(GRPC_CODES.invalidArgument, reason, abci)
  }
  const height = requested === 0 ? chain.headHeight : requested
  const world = openViewWorld(context, view.stateAt(height))
  let timeMs: number | undefined
  const block = {
    height,
    // Read on first use: few queries need it, and it is in the block's body.
    get timeMs(): number {
      timeMs ??= chain.consensusBlock(height)?.header.timeMs ?? secondsOf(chain.header(height)?.timestamp)
      return timeMs ?? config.genesisTimeMs
    },
  }
  const queries: NativePort = { query: (_, call) => answerNativeCall(options, context, call) }
  return {
    world,
    block,
    chain,
    nextBaseFee: () => {
      const header = chain.header(height)
      if (header === undefined) throw new Error(`the header of block ${height} is missing`)
      return nextBaseFee(header, runningParams(world.native, config).feeMarket)
    },
    worldAt: (other) => openViewWorld(context, view.stateAt(other)),
    accounts: (range) => view.accounts(range),
    beginPauses: () => pauseUntilDeadline(context),
    rpc: context,
    node: options.node,
    queries,
  }
}

function secondsOf(timestamp: number | undefined): number | undefined {
  return timestamp === undefined ? undefined : timestamp * 1000
}

function toQueryError(error: unknown, log: Pick<RpcLog, 'error'>, path: string): QueryError {
  if (error instanceof QueryError) return error
  if (error instanceof StateUnavailable) {
    const log = `failed to load state at height ${error.height}; ${error.message}: not found`
    const abci = { codespace: 'sdk', code: SDK_ERRORS.notFound[0], log }
    return new QueryError(GRPC_CODES.failedPrecondition, error.message, abci)
  }
  if (error instanceof BlockUnavailable) return new QueryError(GRPC_CODES.notFound, error.message)
  if (error instanceof ExecutionTimeout) return new QueryError(GRPC_CODES.deadlineExceeded, 'the query takes too long')
  // Some queries use functions of JSON-RPC methods.
  if (error instanceof RpcError) return new QueryError(GRPC_CODES.unknown, error.message)
  log.error({ error, path }, 'a native query failed')
  return new QueryError(GRPC_CODES.internal, 'internal error')
}
