import type { Transaction } from '../../chain/block/transaction.ts'
import type { ChainConfig } from '../../chain/genesis/chainConfig.ts'
import { createParityTracer, type ParityTraceResult, type ParityTraceType } from '../../evm/tracers/parityTracer.ts'
import type { SkippedChecks } from '../../evm/transactionChecks.ts'
import type { CallMessage } from '../../evm/transition.ts'
import { rulesAt } from '../../execution/blockContext.ts'
import { bytesToHex } from '../../primitives/bytes.ts'
import type { Hash } from '../../primitives/hash.ts'
import { beginReplay, checkTraceDepth } from '../debug/blockReplay.ts'
import { findHeader, stateHeight } from '../eth/blockLookup.ts'
import { type CallEnvironment, openCall, runCallForGood, toCallMessage } from '../eth/call.ts'
import { readRawTransaction, readSender } from '../eth/sendRawTransaction.ts'
import { locateMined } from '../eth/transactions.ts'
import { InvalidArgument, RPC_CODES, RpcError, serverError } from '../jsonrpc/errors.ts'
import { defineMethod, type ParamReader, type RpcContext, type RpcMethod } from '../jsonrpc/method.ts'
import { type BlockSelector, byNumber, LATEST, readBlockNumberOrHash } from '../params/blockSelector.ts'
import { type CallRequest, readBlockOverrides, readCallRequest, readStateOverrides } from '../params/callRequest.ts'
import { jsonKind, listReader, readCount, readData, readHash, TypeMismatch } from '../params/values.ts'
import { localize, type TraceLimits, traceAll, traceTransactionAt } from './replayTraces.ts'
import { filter } from './traceFilter.ts'
import { withLimits } from './withLimits.ts'

const TYPES: readonly ParityTraceType[] = ['trace', 'stateDiff', 'vmTrace']
const CALLS_ONLY: ReadonlySet<ParityTraceType> = new Set(['trace'])

const readType: ParamReader<ParityTraceType> = (json) => {
  const type = TYPES.find((name) => name === json)
  if (type === undefined)
    throw new InvalidArgument(`unknown trace type ${JSON.stringify(json)}: want ${TYPES.join(', ')}`)
  return type
}

const readTypeList = listReader(readType, '[]string')
const readTypes: ParamReader<ReadonlySet<ParityTraceType>> = (json) => new Set(readTypeList(json))

/** The calls of all transactions of a block; null for an unknown block. */
const block = defineMethod({
  name: 'trace_block',
  runs: 'trace',
  params: [readBlockNumberOrHash],
  run: (context, selector) => {
    const found = findHeader(context.view.chain, selector)
    if (found === undefined) return null
    if (found.header.number === 0) return []
    return withLimits(context, async (limits) => {
      const replay = await beginReplay(context, selector, limits.pause)
      const out: unknown[] = []
      for await (const traced of traceAll(replay, CALLS_ONLY, limits)) out.push(...localize(traced, replay))
      return out
    })
  },
})

/** The calls of a transaction; null for an unknown one. */
const transaction = defineMethod({
  name: 'trace_transaction',
  runs: 'trace',
  params: [readHash],
  run: (context, hash) => transactionTraces(context, hash),
})

const readPath = listReader(readCount, '[]hexutil.Uint')

/** One call of a transaction, by its path of indices; null when there is no such call. */
const get = defineMethod({
  name: 'trace_get',
  runs: 'trace',
  params: [readHash, readPath],
  run: async (context, hash, path) => {
    const traces = await transactionTraces(context, hash)
    const isWanted = (address: readonly number[]): boolean =>
      address.length === path.length && address.every((index, depth) => index === path[depth])
    return traces?.find(({ traceAddress }) => isWanted(traceAddress)) ?? null
  },
})

/** The traces of a mined transaction; null for an unknown one. */
const replayTransaction = defineMethod({
  name: 'trace_replayTransaction',
  runs: 'trace',
  params: [readHash, readTypes],
  run: (context, hash, types) => {
    const location = locateMined(context.view, hash)
    if (location === undefined) return null
    return withLimits(context, async (limits) => {
      const replay = await beginReplay(context, byNumber(location.height), limits.pause)
      return (await traceTransactionAt(replay, location.index, types, limits)).result
    })
  },
})

/** The traces of each transaction of a block; null for an unknown block. */
const replayBlockTransactions = defineMethod({
  name: 'trace_replayBlockTransactions',
  runs: 'trace',
  params: [readBlockNumberOrHash, readTypes],
  run: (context, selector, types) => {
    const found = findHeader(context.view.chain, selector)
    if (found === undefined) return null
    if (found.header.number === 0) return []
    return withLimits(context, async (limits) => {
      const replay = await beginReplay(context, selector, limits.pause)
      const out: unknown[] = []
      for await (const { hash, result } of traceAll(replay, types, limits)) {
        out.push({ ...result, transactionHash: bytesToHex(hash) })
      }
      return out
    })
  },
})

/** Traces a call on the state after a block. */
const call = defineMethod({
  name: 'trace_call',
  runs: 'trace',
  params: [readCallRequest, readTypes, readBlockNumberOrHash, readStateOverrides, readBlockOverrides],
  required: 2,
  run: (context, request, types, selector = LATEST, state, overrides) =>
    withLimits(context, (limits) => {
      const environment = openTraceCall(context, selector, limits, { state, block: overrides })
      return traceMessage(context, environment, toCallMessage(request, context), types, limits)
    }),
})

/** Most calls in one request: each may run for the request's whole time. */
const MAX_CALLS = 1_000

type TracedCall = readonly [CallRequest, ReadonlySet<ParityTraceType>]

const readTracedCall: ParamReader<TracedCall> = (json) => {
  if (!Array.isArray(json) || json.length !== 2) throw new TypeMismatch(jsonKind(json), '[]interface {}')
  return [readCallRequest(json[0]), readTypes(json[1])]
}

const readTracedCalls = listReader(readTracedCall, '[][]interface {}')

/** Traces calls one after the other, each on the state that the calls before it have left. */
const callMany = defineMethod({
  name: 'trace_callMany',
  runs: 'trace',
  params: [readTracedCalls, readBlockNumberOrHash],
  required: 1,
  run: (context, calls, selector = LATEST) => {
    if (calls.length > MAX_CALLS)
      throw new RpcError(RPC_CODES.limitExceeded, `the request has ${calls.length} calls: send at most ${MAX_CALLS}`)
    return withLimits(context, async (limits) => {
      const environment = openTraceCall(context, selector, limits)
      const out: ParityTraceResult[] = []
      for (const [request, types] of calls) {
        out.push(await traceMessage(context, environment, toCallMessage(request, context), types, limits))
      }
      return out
    })
  },
})

/** A signed transaction gets the same checks as in a block. */
const NOTHING_SKIPPED: SkippedChecks = {}

/**
 * Reads DATA, or the list of numbers that Foundry's `cast trace --raw` sends; reth accepts both.
 */
const readRawBytes: ParamReader<Uint8Array> = (json) => {
  if (!Array.isArray(json)) return readData(json)
  const isByte = (value: unknown): boolean =>
    Number.isInteger(value) && (value as number) >= 0 && (value as number) < 256
  if (!json.every(isByte)) throw new InvalidArgument('a list of bytes has numbers from 0 to 255')
  return Uint8Array.from(json as number[])
}

/** Traces a signed transaction on the state after a block, without sending it. */
const rawTransaction = defineMethod({
  name: 'trace_rawTransaction',
  runs: 'trace',
  params: [readRawBytes, readTypes, readBlockNumberOrHash],
  required: 2,
  run: (context, raw, types, selector = LATEST) =>
    withLimits(context, (limits) => {
      const message = messageOf(readRawTransaction(raw, { feeCapAcoin: 0n, acceptsUnprotected: true }), context.chain)
      const environment = openTraceCall(context, selector, limits)
      return traceMessage(context, environment, message, types, limits, NOTHING_SKIPPED)
    }),
})

/** The `trace` namespace: traces of transactions in Parity's form. */
export const traceNamespaceMethods: readonly RpcMethod[] = [
  block,
  call,
  callMany,
  filter,
  get,
  rawTransaction,
  replayBlockTransactions,
  replayTransaction,
  transaction,
]

async function transactionTraces(context: RpcContext, hash: Hash) {
  const location = locateMined(context.view, hash)
  if (location === undefined) return null
  return withLimits(context, async (limits) => {
    const replay = await beginReplay(context, byNumber(location.height), limits.pause)
    return localize(await traceTransactionAt(replay, location.index, CALLS_ONLY, limits), replay)
  })
}

function openTraceCall(
  context: RpcContext,
  selector: BlockSelector,
  { pause }: TraceLimits,
  overrides: Parameters<typeof openCall>[2] = {},
): CallEnvironment {
  checkTraceDepth(context, stateHeight(context.view, selector))
  return { ...openCall(context, selector, overrides), pause }
}

async function traceMessage(
  { chain }: RpcContext,
  environment: CallEnvironment,
  message: CallMessage,
  types: ReadonlySet<ParityTraceType>,
  { budget }: TraceLimits,
  skipped?: SkippedChecks,
): Promise<ParityTraceResult> {
  const { number } = environment.block
  const { tracer, result } = createParityTracer(types, {
    fork: rulesAt(chain, number).fork,
    blockNumber: number,
    blockHash: undefined,
    transactionHash: undefined,
    transactionIndex: 0,
    firstLogIndex: 0,
    budget,
  })
  const outcome = await runCallForGood(environment, message, tracer, skipped)
  if (outcome.kind === 'skipped') throw serverError(`tracing failed: ${outcome.reason}`)
  return result()
}

function messageOf(signed: Transaction, chain: Pick<ChainConfig, 'evmChainId' | 'allowsUnprotected'>): CallMessage {
  return { ...signed, sender: readSender(signed, chain) }
}
