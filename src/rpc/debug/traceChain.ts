import { setTimeout as sleep } from 'node:timers/promises'
import { toQuantity } from '../../primitives/bytes.ts'
import { heightOfTag, prunedHistory } from '../eth/blockLookup.ts'
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
  /** the view threads, which read and trace the blocks */
  readonly views: {
    call(queue: 'heavy' | 'trace', method: string, params: readonly unknown[], scope: CallScope): Promise<ResultText>
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
  { views, scope, log }: TraceChainOptions,
  [from, to]: readonly [number, number],
  config: unknown,
  { deliver, hasUnread }: TraceListener,
  signal: AbortSignal,
): Promise<void> {
  for (let height = from + 1; height <= to; height++) {
    while (hasUnread() && !signal.aborted) await sleep(READ_WAIT_MS)
    if (signal.aborted) return
    const number = toQuantity(height)
    const ask: Ask = async (queue, method, ...params) => {
      const own = { ...scope, signal, deadlineMs: monotonicMs() + REQUEST_TIMEOUT_MS }
      return textOf(await views.call(queue, method, params, own))
    }
    let traces: string
    let failed = false
    try {
      traces = await ask('trace', 'debug_traceBlockByNumber', number, config ?? null)
    } catch (error) {
      traces = JSON.stringify([{ error: toRpcError(error, log, { method: 'traceChain' }).message }])
      failed = true
    }
    // A trace is discarded when the client has left or unsubscribed meanwhile.
    if (signal.aborted) return
    if (traces !== '[]' || height === to) {
      const hash = await readHash(ask, number, log)
      if (signal.aborted) return
      deliver(`{"block":"${number}","hash":${JSON.stringify(hash)},"traces":${traces}}`)
    }
    if (failed) return
  }
}

/** Runs a method in a view thread. Returns the result's JSON text. */
type Ask = (queue: 'heavy' | 'trace', method: string, ...params: readonly unknown[]) => Promise<string>

/**
 * Reads a block's hash in a view thread, because the block may be in a segment. Null when no view thread answers: the traces are
 * delivered without it.
 */
async function readHash(ask: Ask, number: string, log: Pick<RpcLog, 'error'>): Promise<string | null> {
  try {
    const header = JSON.parse(await ask('heavy', 'eth_getHeaderByNumber', number)) as { readonly hash: string } | null
    return header?.hash ?? null
  } catch (error) {
    toRpcError(error, log, { method: 'traceChain' })
    return null
  }
}

/** Reads the range by the chain's bounds alone: a block of it may be in a segment. @throws RpcError with geth's text */
function rangeOf(
  context: ViewLease['context'],
  start: BlockNumberOrTag,
  end: BlockNumberOrTag,
): readonly [number, number] {
  const { chain } = context.view
  const heightOf = (at: BlockNumberOrTag): number => {
    const height = heightOfTag(chain, at)
    if (height > chain.headHeight) throw blockNotFound(context, byNumber(at))
    // Every node has the header of block 0.
    if (height < chain.base && height > 0) throw prunedHistory(chain)
    return height
  }
  const [from, to] = [heightOf(start), heightOf(end)]
  if (from >= to) throw serverError(`end block (#${to}) needs to come after start block (#${from})`)
  if (to - from > MAX_BLOCKS)
    throw new RpcError(RPC_CODES.limitExceeded, `the range has ${to - from} blocks: request at most ${MAX_BLOCKS}`)
  return [from, to]
}
