import type { RpcLimits } from '../../config/config.ts'
import { ExecutionTimeout } from '../../evm/engine.ts'
import { toQuantity } from '../../primitives/bytes.ts'
import { InvalidArgument, invalidParams, responseTooLarge, timedOut } from '../jsonrpc/errors.ts'
import { defineMethod, type ParamReader, RawJson, type RpcContext } from '../jsonrpc/method.ts'
import { type LogFilter, readLogFilter } from '../params/logFilter.ts'
import { decodeBlockNumber, jsonKind, TypeMismatch } from '../params/values.ts'
import { type LogRange, LogScan, rangeOf } from './logs.ts'

interface CursorRequest {
  readonly filter: LogFilter
  /** the block from which on the client wants the remaining logs */
  readonly cursor: number | undefined
}

/** Reads a filter as of eth_getLogs, with the `cursor` of an earlier answer. */
const readCursorRequest: ParamReader<CursorRequest> = (json) => {
  const filter = readLogFilter(json)
  const { cursor } = json as { readonly cursor?: unknown }
  if (cursor === undefined || cursor === null) return { filter, cursor: undefined }
  if (typeof cursor !== 'string') throw new TypeMismatch(jsonKind(cursor), 'string')
  if (filter.blockHash !== undefined) throw new InvalidArgument('cannot specify both BlockHash and cursor')
  return { filter, cursor: readCursor(cursor) }
}

function readCursor(text: string): number {
  try {
    return decodeBlockNumber(text)
  } catch {
    throw new InvalidArgument('invalid cursor: send one as an answer had it')
  }
}

/**
 * Most blocks of one answer, in multiples of what eth_getLogs may cover: a rare log is found with
 * few requests.
 */
const MAX_STEPS = 100

/**
 * Logs of a range of any length, a part in each answer (MegaETH). A cursor is the block from which
 * the next answer continues. An answer has all matching logs of the blocks that it covers, so
 * clients get each log exactly once. An answer without a cursor completes the range. An answer ends
 * when it is full, after {@link MAX_STEPS} times RPC_LOG_BLOCK_RANGE blocks, or after half the time
 * of a log scan.
 */
export const getLogsWithCursor = defineMethod({
  name: 'eth_getLogsWithCursor',
  runs: 'heavy',
  params: [readCursorRequest],
  run: async (context, { filter, cursor }) => {
    const range = wholeRange(context, filter, cursor)
    const { texts, next } = range === undefined ? { texts: [], next: undefined } : await scan(context, filter, range)
    const end = next === undefined ? '' : `,"cursor":"${toQuantity(next)}"`
    return new RawJson(`{"logs":[${texts.join(',')}]${end}}`)
  },
})

/**
 * Returns the remaining blocks; undefined: there are none.
 * @throws RpcError as eth_getLogs, except for long ranges
 */
function wholeRange(
  { view }: Pick<RpcContext, 'view'>,
  filter: LogFilter,
  cursor: number | undefined,
): LogRange | undefined {
  if (cursor === undefined) return rangeOf(view.chain, filter, Number.POSITIVE_INFINITY)
  const { fromBlock, toBlock = 'latest' } = filter
  if (typeof fromBlock === 'number' && cursor < fromBlock) throw invalidParams('the cursor is before fromBlock')
  const { headHeight } = view.chain
  const isBeyond = typeof toBlock === 'number' ? cursor > toBlock : cursor > headHeight
  // There was nothing left before the cursor's block was decided, or the range ended there.
  if (isBeyond) return undefined
  return rangeOf(view.chain, { ...filter, fromBlock: cursor }, Number.POSITIVE_INFINITY)
}

interface Page {
  readonly texts: readonly string[]
  /** the first block that the page does not cover; undefined: it completes the range */
  readonly next: number | undefined
}

async function scan(context: RpcContext, filter: LogFilter, { from, to }: LogRange): Promise<Page> {
  const { limits, monotonicMs } = context
  const startMs = monotonicMs()
  const logs = new LogScan(context, filter)
  const page = new PageOfLogs(limits)
  let next = from
  try {
    for (let step = 0; step < MAX_STEPS && next <= to; step++) {
      if (step > 0 && monotonicMs() - startMs > limits.callTimeoutMs / 2) break
      const last = Math.min(to, next + limits.logBlockRange - 1)
      for await (const { height, logs: found } of logs.matches({ from: next, to: last })) {
        if (!page.add(found.map(({ text }) => text()))) return { texts: page.texts, next: height }
        next = height + 1
      }
      next = last + 1
    }
  } catch (error) {
    if (!(error instanceof ExecutionTimeout)) throw error
    // The logs that were found are complete up to `next`.
    if (next === from) throw timedOut()
  }
  return { texts: page.texts, next: next > to ? undefined : next }
}

/** Logs of whole blocks, as many as an answer may have. */
class PageOfLogs {
  readonly texts: string[] = []
  readonly #limits: Pick<RpcLimits, 'logResults' | 'responseBytes'>
  #bytes = 0

  constructor(limits: Pick<RpcLimits, 'logResults' | 'responseBytes'>) {
    this.#limits = limits
  }

  /**
   * Adds the logs of a block; false: the page is full. A page takes at least one block with logs,
   * however many these are, so that the client makes progress.
   * @throws RpcError when the logs of one block are too large for an answer
   */
  add(texts: readonly string[]): boolean {
    if (texts.length === 0) return true
    const { logResults, responseBytes } = this.#limits
    const bytes = texts.reduce((sum, text) => sum + text.length + 1, 0)
    const isTooLarge = this.#bytes + bytes > responseBytes - ENVELOPE_BYTES
    if (this.texts.length === 0) {
      if (isTooLarge) throw responseTooLarge()
    } else if (isTooLarge || this.texts.length + texts.length > logResults) {
      return false
    }
    for (const text of texts) this.texts.push(text)
    this.#bytes += bytes
    return true
  }
}

/** Bytes of an answer besides its logs, with a long id. */
const ENVELOPE_BYTES = 1_024
