import { setTimeout as sleep } from 'node:timers/promises'
import type { ChainReader } from '../../chain/store/store.ts'
import { bytesToHex } from '../../primitives/bytes.ts'
import { findHeader } from '../eth/blockLookup.ts'
import { toQuantity } from '../format/json.ts'
import { type CallScope, monotonicMs, REQUEST_TIMEOUT_MS } from '../jsonrpc/callScope.ts'
import { RPC_CODES, RpcError, type RpcLog, serverError, toRpcError } from '../jsonrpc/errors.ts'
import { type ParamReader, type RpcContext, readArguments } from '../jsonrpc/method.ts'
import { type ResultText, textOf } from '../jsonrpc/resultText.ts'
import { type BlockNumberOrTag, byNumber, readBlockNumberOrTag } from '../params/blockSelector.ts'
import { blockNotFound } from './raw.ts'
import { readTraceConfig } from './traces.ts'

/** Most blocks of one subscription. */
const MAX_BLOCKS = 100_000
/** Milliseconds between two checks whether the client has read what was sent. */
const READ_WAIT_MS = 50

/** Receives the traces of blocks. */
export interface TraceListener {
  /** Sends the JSON text of a result. */
  deliver(result: string): void
  /** Whether the client has not read all that was sent to it: until it has, no block is traced. */
  hasUnread(): boolean
}

/** A view that may be used until it is released. */
interface ViewLease {
  readonly context: Pick<RpcContext, 'view'>
  release(): void
}

interface TraceChainOptions {
  readonly lease: (scope: CallScope) => ViewLease
  /** the view threads, which trace */
  readonly views: {
    call(runs: 'trace', method: string, params: readonly unknown[], scope: CallScope): Promise<ResultText>
  }
  /** of the connection; its deadline is the request's, each block has one of its own */
  readonly scope: CallScope
  readonly log: Pick<RpcLog, 'error'>
}

/**
 * Connections with a traceChain subscription, by their signals: each has at most one, which its
 * controller ends.
 */
const tracing = new WeakMap<AbortSignal, AbortController>()

const readName: ParamReader<unknown> = (json) => json

/**
 * geth's subscription traceChain: the traces of the blocks after `start` up to `end`, one block
 * after the other. Blocks without transactions are left out, except the last one. A block that
 * cannot be traced ends the subscription, with the error instead of traces.
 * @param params of the request, the name first
 * @returns a function that starts it; that one returns a function that ends it
 * @throws RpcError
 */
export function openTraceChain(
  options: TraceChainOptions,
  params: readonly unknown[],
): (listener: TraceListener) => () => void {
  const { scope, lease, log } = options
  const args = readArguments(
    { params: [readName, readBlockNumberOrTag, readBlockNumberOrTag, readTraceConfig], required: 3 },
    params,
  )
  const { context, release } = lease(scope)
  let range: readonly [number, number]
  try {
    range = rangeOf(context, args[1] as BlockNumberOrTag, args[2] as BlockNumberOrTag)
  } finally {
    release()
  }
  if (tracing.has(scope.signal)) {
    throw new RpcError(RPC_CODES.limitExceeded, 'the connection already has a traceChain subscription: end it first')
  }
  return (listener) => {
    const ended = new AbortController()
    const end = (): void => {
      ended.abort()
      if (tracing.get(scope.signal) === ended) tracing.delete(scope.signal)
    }
    tracing.set(scope.signal, ended)
    traceBlocks(options, range, params[3], listener, AbortSignal.any([scope.signal, ended.signal]))
      // Not awaited: without a handler, a rejection would end this thread.
      .catch((error: unknown) => log.error({ error }, 'a traceChain subscription failed'))
      .finally(end)
    return end
  }
}

async function traceBlocks(
  { lease, views, scope, log }: TraceChainOptions,
  [from, to]: readonly [number, number],
  config: unknown,
  { deliver, hasUnread }: TraceListener,
  signal: AbortSignal,
): Promise<void> {
  for (let height = from + 1; height <= to; height++) {
    while (hasUnread() && !signal.aborted) await sleep(READ_WAIT_MS)
    if (signal.aborted) return
    const own = { ...scope, signal, deadlineMs: monotonicMs() + REQUEST_TIMEOUT_MS }
    const number = toQuantity(height)
    let traces: string
    let failed = false
    try {
      traces = textOf(await views.call('trace', 'debug_traceBlockByNumber', [number, config ?? null], own))
    } catch (error) {
      traces = JSON.stringify([{ error: toRpcError(error, log, { method: 'traceChain' }).message }])
      failed = true
    }
    // A trace is discarded when the client has left or unsubscribed meanwhile.
    if (signal.aborted) return
    if (traces !== '[]' || height === to) deliver(resultOf(lease(own), height, number, traces))
    if (failed) return
  }
}

function resultOf({ context, release }: ViewLease, height: number, number: string, traces: string): string {
  try {
    const hash = context.view.chain.hash(height)
    return `{"block":"${number}","hash":${hash === undefined ? 'null' : `"${bytesToHex(hash)}"`},"traces":${traces}}`
  } finally {
    release()
  }
}

/** Reads the range of blocks. @throws RpcError with geth's text */
function rangeOf(
  context: ViewLease['context'],
  start: BlockNumberOrTag,
  end: BlockNumberOrTag,
): readonly [number, number] {
  const heightOf = (chain: ChainReader, at: BlockNumberOrTag): number => {
    const found = findHeader(chain, byNumber(at))
    if (found === undefined) throw blockNotFound(context, byNumber(at))
    return found.height
  }
  const [from, to] = [heightOf(context.view.chain, start), heightOf(context.view.chain, end)]
  if (from >= to) throw serverError(`end block (#${to}) needs to come after start block (#${from})`)
  if (to - from > MAX_BLOCKS)
    throw new RpcError(RPC_CODES.limitExceeded, `the range has ${to - from} blocks: request at most ${MAX_BLOCKS}`)
  return [from, to]
}
