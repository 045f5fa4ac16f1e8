import type { Log } from '../../chain/block/receipt.ts'
import type { ChainReader } from '../../chain/store/chainReader.ts'
import type { RpcLimits } from '../../config/config.ts'
import { ExecutionTimeout } from '../../evm/engine.ts'
import { bytesKey, bytesToHex, toQuantity } from '../../primitives/bytes.ts'
import type { CacheableRequest } from '../jsonrpc/answerCache.ts'
import { invalidParams, RPC_CODES, RpcError, responseTooLarge, serverError, timedOut } from '../jsonrpc/errors.ts'
import { defineMethod, RawJson, type RpcContext } from '../jsonrpc/method.ts'
import { byHash, byNumber } from '../params/blockSelector.ts'
import { type LogFilter, readLogFilter } from '../params/logFilter.ts'
import { logTextsOf } from './blockLogs.ts'
import { cacheableHeight, findReceipts, heightOfTag, prunedHistory } from './blockLookup.ts'
import { createLogCache, type LogCache, type LogText } from './logCache.ts'

/** Criteria of a log. */
type LogCriteria = Pick<LogFilter, 'addresses' | 'topics'>

/**
 * Cached logs that are examined between two pauses: matching and formatting takes a few
 * microseconds each at most.
 */
const LOGS_PER_PAUSE = 200

const NO_LOG_CACHE = createLogCache(0)

/** Logs of a block or a range of blocks that match a filter, in order. */
export const getLogs = defineMethod({
  name: 'eth_getLogs',
  runs: 'heavy',
  params: [readLogFilter],
  cacheable: (chain, filter) => cacheableLogs(chain, filter),
  run: async (context, filter) => {
    const { view, limits } = context
    const range = rangeOf(view.chain, filter, limits.logBlockRange)
    const found: FoundLogs = { texts: [], bytes: 0 }
    try {
      for await (const { logs } of new LogScan(context, filter).matches(range)) addMatches(found, logs, limits)
    } catch (error) {
      throw error instanceof ExecutionTimeout ? timedOut() : error
    }
    return new RawJson(`[${found.texts.join(',')}]`)
  },
})

/**
 * Returns the request with the range resolved: users of one application, and indexers that share a
 * node, request the same logs. Undefined for a range that has to be refused.
 */
function cacheableLogs(
  chain: ChainReader,
  { blockHash, fromBlock = 'latest', toBlock = 'latest', addresses, topics }: LogFilter,
): CacheableRequest | undefined {
  if (fromBlock === 'pending' || toBlock === 'pending') return undefined
  const from = cacheableHeight(chain, blockHash === undefined ? byNumber(fromBlock) : byHash(blockHash))
  const to = blockHash === undefined ? cacheableHeight(chain, byNumber(toBlock)) : from
  if (from === undefined || to === undefined || from > to) return undefined
  const filter = {
    fromBlock: toQuantity(from),
    toBlock: toQuantity(to),
    address: addresses.map(bytesToHex),
    topics: topics.map((alternatives) => alternatives.map(bytesToHex)),
  }
  return { from, to, method: 'eth_getLogs', params: [filter] }
}

/** Logs that a search has found so far. */
interface FoundLogs {
  readonly texts: string[]
  /** a lower bound of the answer's length */
  bytes: number
}

/** Heights, both included. */
export interface LogRange {
  readonly from: number
  readonly to: number
}

/** Searches blocks for the logs of a filter, in order, until the time of a log scan is over. */
export class LogScan {
  readonly #chain: ChainReader
  readonly #filter: LogFilter
  readonly #logCache: LogCache
  readonly #pause: (() => Promise<void>) | undefined
  readonly #matches: (log: Log) => boolean
  #sincePause = 0

  constructor(context: RpcContext, filter: LogFilter) {
    const { view, limits, logCache = NO_LOG_CACHE } = context
    this.#chain = view.chain
    this.#filter = filter
    this.#logCache = logCache
    this.#pause = context.execution?.yieldUntil(context.monotonicMs() + limits.callTimeoutMs)
    this.#matches = logMatcher(filter)
  }

  /**
   * Yields the matching logs of each block that the index names.
   * @throws ExecutionTimeout, RpcError
   */
  async *matches(range: LogRange): AsyncGenerator<{ readonly height: number; readonly logs: readonly LogText[] }> {
    for await (const heights of candidateHeights(this.#chain, this.#filter, range, this.#pause)) {
      for (const height of heights) {
        const cached = this.#logCache.find(this.#chain, height)
        this.#sincePause += cached === undefined ? LOGS_PER_PAUSE : 1 + cached.length
        if (this.#sincePause >= LOGS_PER_PAUSE) {
          this.#sincePause = 0
          await this.#pause?.()
        }
        const logs = cached ?? readLogs(this.#chain, height, this.#logCache)
        yield { height, logs: logs.filter(({ log }) => this.#matches(log)) }
      }
    }
  }
}

/**
 * Resolves the range of a filter.
 * @throws RpcError for a range that is wrong, too long or no longer retained
 */
export function rangeOf(chain: ChainReader, { blockHash, fromBlock, toBlock }: LogFilter, maxBlocks: number): LogRange {
  if (blockHash !== undefined) {
    const height = chain.heightOf(blockHash)
    if (height === undefined || height > chain.headHeight) throw serverError('unknown block')
    return { from: height, to: height }
  }
  if (fromBlock === 'pending' || toBlock === 'pending') throw invalidParams('pending logs are not supported')
  const from = heightOfTag(chain, fromBlock ?? 'latest')
  const to = heightOfTag(chain, toBlock ?? 'latest')
  // geth takes `latest` for the highest of all numbers (eth/filters/filter.go), so it also comes
  // after numbers above the head.
  const isFromLatest = (fromBlock ?? 'latest') === 'latest'
  const isBeyondHead = to > chain.headHeight
  if (from > to || (isFromLatest && isBeyondHead)) throw reversedRange()
  if (isBeyondHead) throw invalidParams('block range extends beyond current head block')
  // A single block is read: some blocks without receipts have no logs either.
  if (from < chain.oldestBlock && from < to) throw prunedHistory(chain)
  // −32005 rather than −32602: clients then ask for a smaller range.
  if (to - from >= maxBlocks) {
    throw new RpcError(RPC_CODES.limitExceeded, `exceed maximum block range ${maxBlocks}`)
  }
  return { from, to }
}

/**
 * Returns the range of new blocks that a filter or a subscription watches; undefined bounds are
 * open.
 * @throws RpcError with geth's text for a range that is wrong
 */
export function watchedRange(
  chain: Pick<ChainReader, 'headHeight' | 'base' | 'oldestBlock'>,
  { fromBlock, toBlock }: Pick<LogFilter, 'fromBlock' | 'toBlock'>,
): { readonly from: number | undefined; readonly to: number | undefined } {
  if (fromBlock === 'pending' || toBlock === 'pending') throw invalidParams('pending logs are not supported')
  const from = fromBlock === undefined ? undefined : heightOfTag(chain, fromBlock)
  const to = typeof toBlock === 'number' || toBlock === 'earliest' ? heightOfTag(chain, toBlock) : undefined
  if (from !== undefined && to !== undefined && from > to) throw reversedRange()
  return { from, to }
}

function reversedRange(): RpcError {
  return invalidParams('invalid block range params')
}

/** Yields the heights that the index names, ascending; a single block is read without the index. */
async function* candidateHeights(
  chain: ChainReader,
  { addresses, topics }: LogFilter,
  { from, to }: LogRange,
  pause: (() => Promise<void>) | undefined,
): AsyncIterable<readonly number[]> {
  if (from === to) yield [from]
  else yield* chain.logHeights({ addresses, topics }, from, to, pause)
}

/**
 * Reads the logs of a block into the cache.
 * @throws RpcError when the database no longer has them
 */
function readLogs(chain: ChainReader, height: number, cache: LogCache): readonly LogText[] {
  const block = findReceipts(chain, byNumber(height))
  if (block === undefined) throw new Error(`the log index names block ${height}, which is not there`)
  const logs = logTextsOf(block)
  cache.add(height, logs)
  return logs
}

/** Adds matching logs of a block. @throws RpcError beyond the limits of an answer */
function addMatches(
  found: FoundLogs,
  logs: readonly LogText[],
  limits: Pick<RpcLimits, 'logResults' | 'responseBytes'>,
): void {
  for (const { log, text } of logs) {
    if (found.texts.length >= limits.logResults) {
      throw new RpcError(RPC_CODES.limitExceeded, `query returned more than ${limits.logResults} results`)
    }
    found.bytes += log.data.length * 2
    if (found.bytes > limits.responseBytes) throw responseTooLarge()
    found.texts.push(text())
  }
}

/** Returns the logs of a block, in order. @throws Error when the block has no receipts */
export function readBlockLogs(
  chain: Pick<ChainReader, 'header' | 'hash' | 'transactions' | 'receipts'>,
  height: number,
): readonly LogText[] {
  const header = chain.header(height)
  const hash = chain.hash(height)
  const transactions = chain.transactions(height)
  const receipts = chain.receipts(height)
  if (header === undefined || hash === undefined || transactions === undefined || receipts === undefined) {
    throw new Error(`block ${height} was published without its receipts`)
  }
  return logTextsOf({ header, hash, transactions, receipts })
}

/**
 * Returns a test of logs against addresses and topics: any of the addresses, and in each position
 * any of the topics. A position without topics matches any topic, but the log must have it (geth:
 * filters.filterLogs).
 */
export function logMatcher({ addresses, topics }: LogCriteria): (log: Log) => boolean {
  const wantedAddresses = new Set(addresses.map(bytesKey))
  const wantedTopics = topics.map((alternatives) => new Set(alternatives.map(bytesKey)))
  return (log) => {
    if (wantedAddresses.size > 0 && !wantedAddresses.has(bytesKey(log.address))) return false
    if (wantedTopics.length > log.topics.length) return false
    return wantedTopics.every((wanted, position) => wanted.size === 0 || wanted.has(bytesKey(log.topics[position]!)))
  }
}
