import type { ChainConfig } from '../../chain/genesis/chainConfig.ts'
import type { ChainReader } from '../../chain/store/chainReader.ts'
import type { RpcLimits } from '../../config/config.ts'
import type { Engine } from '../../evm/engine.ts'
import type { PrecompileTable } from '../../evm/precompile.ts'
import type { SystemCallContext } from '../../evm/systemCalls.ts'
import type { BlockHooks } from '../../execution/blockHooks.ts'
import type { TxPort } from '../../mempool/types.ts'
import type { TransactionDecoder } from '../../modules/tx/transactionDecoder.ts'
import type { Journal } from '../../state/journal.ts'
import type { NodeView } from '../../state/view.ts'
import type { LogCache } from '../eth/logCache.ts'
import type { SubmitPort } from '../submit/submitPort.ts'
import type { CacheableRequest } from './answerCache.ts'
import type { CallScope } from './callScope.ts'
import { InvalidArgument, invalidParams, type RpcError } from './errors.ts'
import type { BlocksRead, Runs } from './place.ts'
import type { ResultText } from './resultText.ts'
import type { ShortForm } from './shortForm.ts'

/**
 * One JSON-RPC method. `params` are read in order; the first `required` must be present and not null, the others are
 * `undefined` when they are absent or null. The result is JSON-ready (hex strings, no bigint).
 */
export interface RpcMethod {
  readonly name: string
  readonly runs: Runs
  readonly params: readonly ParamReader<unknown>[]
  readonly required: number
  /**
   * Returns the same request about a decided block. undefined: the answer may change, or there is
   * no such block. Absent: the method has no such requests.
   */
  readonly cacheable?: (chain: ChainReader, args: readonly unknown[]) => CacheableRequest | undefined
  /** Returns the blocks that the call reads; undefined: none except the head's. */
  readonly reads?: (chain: ChainReader, args: readonly unknown[]) => BlocksRead | undefined
  /** of a method that runs as `short` */
  readonly short?: ShortForm<RpcContext, unknown[]>
  run(context: RpcContext, args: readonly unknown[]): unknown
}

/** Reads one parameter from JSON. @throws InvalidArgument with geth's text */
export type ParamReader<T> = (json: unknown) => T

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
  readonly runs: Runs
  readonly params?: P
  readonly required?: R
  readonly cacheable?: (chain: ChainReader, ...args: ArgsOf<P, R>) => CacheableRequest | undefined
  readonly reads?: (chain: ChainReader, ...args: ArgsOf<P, R>) => BlocksRead | undefined
  readonly short?: ShortForm<RpcContext, ArgsOf<P, R>>
  readonly run: (context: RpcContext, ...args: ArgsOf<P, R>) => unknown
}): RpcMethod {
  const { name, runs, params = [], required = params.length, cacheable, reads, short, run } = method
  return {
    name,
    runs,
    params,
    required,
    ...(reads === undefined ? {} : { reads: (chain, args) => reads(chain, ...(args as ArgsOf<P, R>)) }),
    ...(short === undefined ? {} : { short: short as unknown as ShortForm<RpcContext, unknown[]> }),
    ...(cacheable === undefined ? {} : { cacheable: (chain, args) => cacheable(chain, ...(args as ArgsOf<P, R>)) }),
    run: (context, args) => run(context, ...(args as ArgsOf<P, R>)),
  }
}

/**
 * The node's interfaces for a method. A context serves one request; `view` does not move while it
 * runs.
 */
export interface RpcContext {
  readonly view: NodeView
  /** the client of the request, and its deadline */
  readonly scope: CallScope
  readonly txs: TxPort
  /** the thread's */
  readonly decoder: TransactionDecoder
  /** takes transactions for the pool, and checks their signatures in this thread */
  readonly submissions: SubmitPort
  readonly chain: ChainConfig
  readonly limits: RpcLimits
  readonly clientVersion: string
  readonly retention: Retention
  readonly peerCount: () => number
  /** Returns undefined when the node is not catching up. */
  readonly syncing: () => SyncStatus | undefined
  /** Waits for the next block and returns its view, which replaces the one returned before; undefined when `timeoutMs` passed first. */
  readonly nextView: (timeoutMs: number) => Promise<NodeView | undefined>
  /** milliseconds since the epoch */
  readonly now: () => number
  /** see `monotonicMs`: a change of the system clock neither ends a call nor extends it */
  readonly monotonicMs: () => number
  /** only in view threads */
  readonly execution?: ExecutionHost
  /** the thread's log cache; undefined: it has none */
  readonly logCache?: LogCache
}

/**
 * How many of the newest blocks the operator retains with their state, and with their bodies and
 * receipts; undefined: all.
 */
export interface Retention {
  readonly states: number | undefined
  readonly bodies: number | undefined
}

export interface ExecutionHost {
  readonly engine: Engine
  readonly precompiles: PrecompileTable
  /** what native modules do in a block that is executed again or simulated */
  readonly hooks: BlockHooks
  /** undefined on a node: only Ethereum's suite of JSON-RPC simulates blocks of Ethereum */
  readonly ethereumBlocks?: EthereumBlocks
  /**
   * Returns the request's `ExecutionEnvironment.yield`. `deadlineMs` is the deadline of the method,
   * on the clock of `RpcContext.monotonicMs`. The returned function throws `ExecutionTimeout` after
   * the deadline, and as soon as the client no longer waits for the request (`RpcContext.scope`).
   */
  readonly yieldUntil: (deadlineMs: number) => () => Promise<void>
}

/** What a simulated or built block of Ethereum has, and a block of this chain has not. */
interface EthereumBlocks {
  /** gas limit of the block after one with `parent`; on this chain it does not change */
  gasLimitAfter(parent: bigint): bigint
  /** after the last transaction: the system calls for requests (EIP-7685) */
  end(context: SystemCallContext & { readonly world: Journal }): Promise<void>
}

export interface SyncStatus {
  readonly startingBlock: number
  readonly currentBlock: number
  readonly highestBlock: number
}

/** Methods by name. A `Map`, so that no name finds an inherited property. */
export type MethodTable = ReadonlyMap<string, RpcMethod>

/** @throws Error when two methods have one name */
export function createMethodTable(methods: Iterable<RpcMethod>): MethodTable {
  const table = new Map<string, RpcMethod>()
  for (const method of methods) {
    if (table.has(method.name)) throw new Error(`there are two methods ${method.name}`)
    table.set(method.name, method)
  }
  return table
}

/**
 * Returns the list in a request's `params`, which may be absent or null.
 * @throws RpcError for anything but a list
 */
export function positionalParams(params: unknown): readonly unknown[] {
  if (params === undefined || params === null) return []
  if (!Array.isArray(params)) throw invalidParams('non-array args')
  return params
}

/**
 * Reads a method's arguments (geth: rpc/json.go, parsePositionalArguments).
 * @throws RpcError with geth's text
 */
export function readArguments(
  { params: readers, required }: Pick<RpcMethod, 'params' | 'required'>,
  params: readonly unknown[],
): unknown[] {
  const args: unknown[] = []
  for (const [index, json] of params.entries()) {
    const read = readers[index]
    if (read === undefined) throw invalidParams(`too many arguments, want at most ${readers.length}`)
    if (json !== null && json !== undefined) args.push(readArgument(index, () => read(json)))
    else if (index < required) throw missingArgument(index)
    else args.push(undefined)
  }
  if (args.length < required) throw missingArgument(args.length)
  while (args.length < readers.length) args.push(undefined)
  return args
}

function readArgument(index: number, read: () => unknown): unknown {
  try {
    return read()
  } catch (error) {
    if (error instanceof InvalidArgument) throw invalidParams(`invalid argument ${index}: ${error.message}`)
    throw error
  }
}

function missingArgument(index: number): RpcError {
  return invalidParams(`missing value for required argument ${index}`)
}

/** A method's result that is already JSON text: from another thread, or written piece by piece. */
export class RawJson {
  readonly text: ResultText

  constructor(text: ResultText) {
    this.text = text
  }
}

/** Returns the JSON text of a method's result; undefined becomes null. */
export function resultText(result: unknown): ResultText {
  if (result instanceof RawJson) return result.text
  return JSON.stringify(result) ?? 'null'
}
