import { encodeEthereumBlock, readEthereumHeader } from '../../chain/block/ethereumBlock.ts'
import { ExecutionTimeout } from '../../evm/engine.ts'
import type { ScriptTimer } from '../../evm/tracers/javascript/quickJs.ts'
import { createStructLogger } from '../../evm/tracers/structLogger.ts'
import {
  TraceBudget,
  type TraceCollector,
  type TraceContext,
  TraceError,
  type TracerConfig,
} from '../../evm/tracers/traceCollector.ts'
import { isScript, tracerByName } from '../../evm/tracers/tracerByName.ts'
import { bytesToHex, equalBytes } from '../../primitives/bytes.ts'
import { type Hash, keccak256 } from '../../primitives/hash.ts'
import { DecodingError, enterList, openRLP } from '../../primitives/rlp.ts'
import { parseDuration } from '../../primitives/timeText.ts'
import { findBody, findHeader, stateHeight } from '../eth/blockLookup.ts'
import {
  type CallEnvironment,
  executionOf,
  openCall,
  overrideBlock,
  runCall,
  runCallForGood,
  toCallMessage,
} from '../eth/call.ts'
import { applyStateOverrides } from '../eth/stateOverrides.ts'
import { locateMined } from '../eth/transactions.ts'
import { RPC_CODES, RpcError, serverError } from '../jsonrpc/errors.ts'
import { defineMethod, type ParamReader, type RpcContext, type RpcMethod } from '../jsonrpc/method.ts'
import {
  type BlockSelector,
  byHash,
  byNumber,
  LATEST,
  readBlockNumberOrHash,
  readBlockNumberOrTag,
} from '../params/blockSelector.ts'
import { type CallRequest, readBlockOverrides, readCallRequest, readStateOverrides } from '../params/callRequest.ts'
import {
  jsonKind,
  listReader,
  objectReader,
  readBool,
  readData,
  readHash,
  readIndex,
  TypeMismatch,
} from '../params/values.ts'
import {
  type BlockReplay,
  beginReplay,
  checkTraceDepth,
  logCount,
  replayTransaction,
  replayUpTo,
} from './blockReplay.ts'
import { blockNotFound } from './raw.ts'

const readString: ParamReader<string> = (json) => {
  if (typeof json !== 'string') throw new TypeMismatch(jsonKind(json), 'string')
  return json
}

const readInteger: ParamReader<number> = (json) => {
  if (typeof json !== 'number') throw new TypeMismatch(jsonKind(json), 'int')
  if (!Number.isSafeInteger(json)) throw new TypeMismatch(`number ${json}`, 'int')
  return json
}

const FIELDS = {
  tracer: readString,
  tracerConfig: (json: unknown) => json,
  timeout: readString,
  /** accepted and ignored: old states are stored */
  reexec: readInteger,
  enableMemory: readBool,
  disableStack: readBool,
  disableStorage: readBool,
  enableReturnData: readBool,
  limit: readInteger,
}

/** How debug methods trace (geth: tracers.TraceConfig). */
type TraceConfig = ReturnType<typeof readTraceConfig>

export const readTraceConfig = objectReader('TraceConfig', 'tracers.TraceConfig', FIELDS)

/** The same for debug_traceCall (geth: tracers.TraceCallConfig). */
const readTraceCallConfig = objectReader('TraceCallConfig', 'tracers.TraceCallConfig', {
  ...FIELDS,
  stateOverrides: readStateOverrides,
  blockOverrides: readBlockOverrides,
  txIndex: readIndex,
})

/** Executes a mined transaction again with a tracer. */
export const traceTransaction = defineMethod({
  name: 'debug_traceTransaction',
  runs: 'trace',
  params: [readHash, readTraceConfig],
  required: 1,
  run: async (context, hash, config = {}) => {
    const location = locateMined(context.view, hash)
    if (location === undefined) throw serverError('transaction not found')
    const { height, index } = location
    return runTrace(context, config, async (run) => {
      const replay = await beginReplay(context, byNumber(height), run.pause)
      await replayUpTo(replay, index, run.pause)
      return traceTransactionAt(replay, index, run)
    })
  },
})

/** Executes a block again with a tracer for each of its transactions. */
export const traceBlockByNumber = defineMethod({
  name: 'debug_traceBlockByNumber',
  runs: 'trace',
  params: [readBlockNumberOrTag, readTraceConfig],
  required: 1,
  run: (context, number, config = {}) => traceBlock(context, byNumber(number), config),
})

export const traceBlockByHash = defineMethod({
  name: 'debug_traceBlockByHash',
  runs: 'trace',
  params: [readHash, readTraceConfig],
  required: 1,
  run: (context, hash, config = {}) => traceBlock(context, byHash(hash), config),
})

/**
 * The same for a block that the client sends as RLP. The block must be one of this chain: the
 * others depend on data that only this chain's consensus has.
 */
export const traceBlockOfRlp = defineMethod({
  name: 'debug_traceBlock',
  runs: 'trace',
  params: [readData, readTraceConfig],
  required: 1,
  run: (context, rlp, config = {}) => {
    const { hash, parentHash, number } = readHeaderOf(rlp)
    if (number === 0) throw serverError('genesis is not traceable')
    const { chain } = context.view
    if (chain.heightOf(parentHash) === undefined) throw serverError(`parent ${bytesToHex(parentHash)} not found`)
    const block = findBody(chain, byHash(hash))
    if (block === undefined || !equalBytes(encodeEthereumBlock(block.header, block.transactions), rlp)) {
      throw serverError(`block ${bytesToHex(hash)} is not of this chain: only its blocks can be executed again`)
    }
    return traceBlock(context, byHash(hash), config)
  },
})

/**
 * Reads the hash and header of a block.
 * @throws RpcError when the bytes do not start like a block
 */
function readHeaderOf(rlp: Uint8Array): { readonly hash: Hash; readonly parentHash: Hash; readonly number: number } {
  try {
    const cursor = openRLP(rlp)
    enterList(cursor, { type: 'types.extblock', path: '' })
    const start = cursor.offset
    const { parentHash, number } = readEthereumHeader(cursor)
    return { hash: keccak256(rlp.subarray(start, cursor.offset)), parentHash, number }
  } catch (error) {
    if (error instanceof DecodingError) throw serverError(`could not decode block: ${error.message}`)
    throw error
  }
}

/** Most calls in one request: each may run for the request's whole time. */
const MAX_CALLS = 1_000

/**
 * Reads a number of transactions: a JSON number, as erigon and reth take it, or a QUANTITY. A
 * negative number means all.
 */
const readTransactionCount: ParamReader<number> = (json) =>
  typeof json === 'number' ? readInteger(json) : readIndex(json)

const readBundle = objectReader('Bundle', 'tracers.Bundle', {
  transactions: listReader(readCallRequest, '[]ethapi.TransactionArgs'),
  blockOverride: readBlockOverrides,
})

const readBundles = listReader(readBundle, '[]tracers.Bundle')

const readStateContext = objectReader('StateContext', 'tracers.StateContext', {
  blockNumber: readBlockNumberOrHash,
  transactionIndex: readTransactionCount,
})

/**
 * Traces calls one after the other, each on the state that the calls before it have left (erigon,
 * reth). They come in bundles, each in a block with its own overrides. `transactionIndex`: how many
 * transactions of the block run first; by default all.
 */
export const traceCallMany = defineMethod({
  name: 'debug_traceCallMany',
  runs: 'trace',
  params: [readBundles, readStateContext, readTraceCallConfig],
  required: 1,
  run: (context, bundles, state = {}, config = {}) => {
    const { blockNumber: selector = LATEST, transactionIndex = -1 } = state
    const count = bundles.reduce((sum, { transactions = [] }) => sum + transactions.length, 0)
    if (count === 0) throw serverError('empty bundles')
    if (count > MAX_CALLS)
      throw new RpcError(RPC_CODES.limitExceeded, `the request has ${count} calls: send at most ${MAX_CALLS}`)
    if (findHeader(context.view.chain, selector) === undefined) throw blockNotFound(context, selector)
    const before = transactionIndex < 0 ? {} : { txIndex: transactionIndex }
    return runTrace(context, config, async (run) => {
      const environment = await openTraceCall(context, selector, { ...config, ...before }, run.pause)
      const traces: unknown[][] = []
      for (const { transactions = [], blockOverride = {} } of bundles) {
        const block = overrideBlock(environment.block, blockOverride)
        const traced: unknown[] = []
        for (const request of transactions) {
          traced.push(await traceCallFor(context, { ...environment, block }, request, run, runCallForGood))
        }
        traces.push(traced)
      }
      return traces
    })
  },
})

type Overrides = Pick<ReturnType<typeof readTraceCallConfig>, 'stateOverrides' | 'blockOverrides' | 'txIndex'>

/**
 * Traces a call on the state after a block, or with `txIndex` on the state before that transaction
 * of the block. The configuration has the state and block overrides.
 */
export const traceCall = defineMethod({
  name: 'debug_traceCall',
  runs: 'trace',
  params: [readCallRequest, readBlockNumberOrHash, readTraceCallConfig],
  required: 1,
  run: (context, request, selector = LATEST, config = {}) => {
    if (selector.kind === 'number' && selector.number === 'pending') {
      throw serverError('tracing on top of pending is not supported')
    }
    if (findHeader(context.view.chain, selector) === undefined) throw blockNotFound(context, selector)
    return runTrace(context, config, async (run) => {
      const environment = await openTraceCall(context, selector, config, run.pause)
      return traceCallFor(context, environment, request, run, runCall)
    })
  },
})

/** Traces a call that `execute` runs. @throws RpcError when it cannot start */
async function traceCallFor(
  context: RpcContext,
  environment: CallEnvironment,
  request: CallRequest,
  run: TraceRun,
  execute: typeof runCall,
): Promise<unknown> {
  const { tracer, result } = run.collect({
    fork: environment.rules.fork,
    blockNumber: environment.block.number,
    blockHash: undefined,
    transactionHash: undefined,
    transactionIndex: 0,
    firstLogIndex: 0,
  })
  const outcome = await execute(environment, toCallMessage(request, context), tracer)
  if (outcome.kind === 'skipped') throw serverError(`tracing failed: ${outcome.reason}`)
  return result()
}

/** The methods of the `debug` namespace that execute transactions again. */
export const traceMethods: readonly RpcMethod[] = [
  traceBlockByHash,
  traceBlockByNumber,
  traceBlockOfRlp,
  traceCall,
  traceCallMany,
  traceTransaction,
]

function traceBlock(context: RpcContext, selector: BlockSelector, config: TraceConfig): Promise<unknown> {
  return runTrace(context, config, async (run) => {
    const replay = await beginReplay(context, selector, run.pause)
    const traces: { readonly txHash: string; readonly result: unknown }[] = []
    for (const [index, { transaction }] of replay.transactions.entries()) {
      await run.pause()
      await replayUpTo(replay, index, run.pause)
      traces.push({ txHash: bytesToHex(transaction.hash), result: await traceTransactionAt(replay, index, run) })
    }
    return traces
  })
}

/** Executes the transaction with a tracer, after all transactions before it. */
async function traceTransactionAt(replay: BlockReplay, index: number, run: TraceRun): Promise<unknown> {
  const { execution, rules, hash, transactions } = replay
  const { tracer, result } = run.collect({
    fork: rules.fork,
    blockNumber: execution.seed.number,
    blockHash: hash,
    transactionHash: transactions[index]!.transaction.hash,
    transactionIndex: index,
    firstLogIndex: logCount(execution),
  })
  await replayTransaction(replay, tracer)
  return result()
}

async function openTraceCall(
  context: RpcContext,
  selector: BlockSelector,
  { stateOverrides = [], blockOverrides, txIndex }: Overrides,
  pause: () => Promise<void>,
): Promise<CallEnvironment> {
  if (txIndex === undefined) {
    checkTraceDepth(context, stateHeight(context.view, selector))
    return { ...openCall(context, selector, { state: stateOverrides, block: blockOverrides }), pause }
  }
  const replay = await beginReplay(context, selector, pause)
  const { execution, rules, transactions } = replay
  if (txIndex >= transactions.length) {
    throw serverError(`transaction index ${txIndex} out of range for block ${execution.seed.number}`)
  }
  await replayUpTo(replay, txIndex, pause)
  const { world } = execution
  const tables = applyStateOverrides(
    world,
    stateOverrides,
    { registered: executionOf(context).precompiles, precompileGasLimit: context.chain.precompileGasLimit },
    rules,
  )
  return { ...openCall(context, selector, { block: blockOverrides }), ...tables, world, pause }
}

/** State that all traces of one request share. */
interface TraceRun {
  /** bytes that the answer may have */
  readonly budget: TraceBudget
  /** see `ExecutionEnvironment.yield` */
  readonly pause: () => Promise<void>
  /** @throws TraceError when there is no such tracer */
  readonly collect: (context: Omit<TraceContext, 'budget'>) => TraceCollector
}

/** geth's default for one trace. */
const DEFAULT_TIMEOUT_MS = 5_000

/**
 * Runs `trace` with the request's tracer, time limit (within the node's own) and size limit.
 * @throws RpcError with geth's text when it takes too long, gets too large or cannot be done
 */
export async function runTrace<T>(
  context: RpcContext,
  config: TraceConfig,
  trace: (run: TraceRun) => Promise<T>,
): Promise<T> {
  const { limits, monotonicMs } = context
  const requested = config.timeout === undefined ? DEFAULT_TIMEOUT_MS : millisecondsOf(config.timeout)
  const timeoutMs = Math.max(0, Math.min(requested, limits.callTimeoutMs))
  const budget = new TraceBudget(limits.responseBytes)
  const deadlineMs = monotonicMs() + timeoutMs
  const pause = executionOf(context).yieldUntil(deadlineMs)
  let turns = 0
  const scripts = await openScriptsFor(config, context, { deadlineMs, turns: () => turns })
  let isLate = false
  try {
    return await trace({
      budget,
      async pause() {
        // Stop before the run does work that the answer would not show.
        budget.check()
        try {
          await pause()
          turns++
        } catch (error) {
          isLate ||= error instanceof ExecutionTimeout
          throw error
        }
      },
      collect: (traced) => createCollector(config, { ...traced, ...scripts, budget }),
    })
  } catch (error) {
    // eth_call and similar methods report their deadline with another text.
    if (isLate || error instanceof ExecutionTimeout) throw serverError('execution timeout')
    if (!(error instanceof TraceError)) throw error
    throw new RpcError(error.isTooLarge ? RPC_CODES.responseTooLarge : RPC_CODES.server, error.message)
  }
}

/** Opens JavaScript tracers when the request names one and its caller may use them. */
async function openScriptsFor(
  { tracer, tracerConfig }: TraceConfig,
  { scope, monotonicMs }: Pick<RpcContext, 'scope' | 'monotonicMs'>,
  timer: Pick<ScriptTimer, 'deadlineMs' | 'turns'>,
): Promise<Pick<TraceContext, 'createScript'>> {
  const names = tracer === 'muxTracer' ? Object.keys(readTracerConfig(tracerConfig)) : [tracer ?? '']
  if (!scope.jsTracers || !names.some(isScript)) return {}
  // Loaded on demand: few nodes run such tracers.
  const { openScripts } = await import('../../evm/tracers/javascript/javaScriptTracer.ts')
  return { createScript: await openScripts({ nowMs: monotonicMs, ...timer }) }
}

function createCollector(config: TraceConfig, context: TraceContext): TraceCollector {
  if (config.tracer !== undefined) return tracerByName(config.tracer, readTracerConfig(config.tracerConfig), context)
  const { enableMemory = false, disableStack = false, disableStorage = false, enableReturnData = false } = config
  return createStructLogger(
    { enableMemory, disableStack, disableStorage, enableReturnData, limit: config.limit ?? 0 },
    context,
  )
}

/** Reads a duration. @throws RpcError with Go's text (time.ParseDuration) */
function millisecondsOf(duration: string): number {
  const nanos = parseDuration(duration)
  if (nanos === undefined) throw serverError(`time: invalid duration ${JSON.stringify(duration)}`)
  return Number(nanos) / 1e6
}

function readTracerConfig(json: unknown): TracerConfig {
  if (json === undefined || json === null) return {}
  if (typeof json !== 'object' || Array.isArray(json)) throw serverError('invalid tracer configuration: not an object')
  return json as TracerConfig
}
