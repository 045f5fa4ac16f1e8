import type { BlockHooks } from '../app/blockHooks.ts'
import type { ChainConfig } from '../chain/chainConfig.ts'
import type { RpcLimits } from '../config/config.ts'
import type { Engine } from '../evm/engine.ts'
import type { PrecompileTable } from '../evm/precompile.ts'
import type { TxPort } from '../mempool/types.ts'
import type { NodeView } from '../state/view.ts'

/**
 * Where a method runs: `socket` in the thread that holds the connection (a few database reads at most), `quick` there too as
 * long as the turn of its event loop has time left (a sender's recovery), else like `cheap`; `cheap` and `heavy` in a view
 * thread (`cheap`: work of at most a few milliseconds; `heavy`: EVM code, traces, proofs, log scans, with a deadline).
 */
export type MethodQueue = 'socket' | 'quick' | 'cheap' | 'heavy'

export interface SyncStatus {
  readonly startingBlock: number
  readonly currentBlock: number
  readonly highestBlock: number
}

/** What a method may use. One context serves one request; `view` does not move while it runs. */
export interface RpcContext {
  readonly view: NodeView
  readonly txs: TxPort
  readonly chain: ChainConfig
  readonly limits: RpcLimits
  readonly clientVersion: string
  readonly peerCount: () => number
  /** undefined when the node is not catching up */
  readonly syncing: () => SyncStatus | undefined
  /** The view after the next block, in place of the one that the last call gave; undefined when `timeoutMs` passed first. */
  readonly nextView: (timeoutMs: number) => Promise<NodeView | undefined>
  /** milliseconds since the epoch */
  readonly now: () => number
  /** only in view threads */
  readonly execution?: ExecutionHost
}

export interface ExecutionHost {
  readonly engine: Engine
  readonly precompiles: PrecompileTable
  /** what native modules do around the entries of a block that is executed again */
  readonly hooks: BlockHooks
  /** see `ExecutionEnvironment.yield`; made anew for each request with its deadline, on the clock of `RpcContext.now` */
  readonly yieldUntil: (deadlineMs: number) => () => Promise<void>
}

/** Reads one parameter from JSON. @throws InvalidArgument with the reason in geth's words */
export type ParamReader<T> = (json: unknown) => T

/**
 * One JSON-RPC method. `params` are read in order; the first `required` must be present and not null, the others are
 * `undefined` when they are absent or null. The result is JSON-ready (hex strings, no bigint).
 */
export interface RpcMethod {
  readonly name: string
  readonly queue: MethodQueue
  readonly params: readonly ParamReader<unknown>[]
  readonly required: number
  run(context: RpcContext, args: readonly unknown[]): unknown
}

type ArgsOf<P extends readonly ParamReader<unknown>[], R extends number> = {
  [I in keyof P]: P[I] extends ParamReader<infer T> ? (IsBelow<I, R> extends true ? T : T | undefined) : never
}
type IsBelow<I, R extends number> = I extends `${infer N extends number}` ? Below<N, R> : true
type Below<N extends number, R extends number, Count extends unknown[] = []> = Count['length'] extends R
  ? false
  : Count['length'] extends N
    ? true
    : Below<N, R, [...Count, unknown]>

/** Declares a method with typed arguments. By default it has no parameters, and those that it has are required. */
export function defineMethod<
  const P extends readonly ParamReader<unknown>[] = readonly [],
  const R extends number = P['length'],
>(method: {
  readonly name: string
  readonly queue: MethodQueue
  readonly params?: P
  readonly required?: R
  readonly run: (context: RpcContext, ...args: ArgsOf<P, R>) => unknown
}): RpcMethod {
  const { name, queue, params = [], required = params.length, run } = method
  return { name, queue, params, required, run: (context, args) => run(context, ...(args as ArgsOf<P, R>)) }
}
