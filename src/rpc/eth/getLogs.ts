import type { ChainReader } from '../../chain/store.ts'
import type { RpcLimits } from '../../config/config.ts'
import { ExecutionTimeout } from '../../evm/engine.ts'
import { invalidParams, responseTooLarge, timedOut } from '../errorResponse.ts'
import { RPC_CODES, RpcError, serverError } from '../errors.ts'
import type { JsonObject } from '../format/json.ts'
import { formatLog } from '../format/log.ts'
import { defineMethod, type RpcContext } from '../method.ts'
import { type LogFilter, readLogFilter } from '../params/logFilter.ts'
import { heightOfTag, prunedHistory } from './blockLookup.ts'
import { findReceipts } from './loadBlock.ts'
import { logMatcher } from './logMatch.ts'

/** Logs of a block or a range of blocks that match a filter, in order. */
export const getLogs = defineMethod({
  name: 'eth_getLogs',
  queue: 'heavy',
  params: [readLogFilter],
  required: 1,
  run: (context, filter) => findLogs(context, filter),
})

/** What eth_getLogs and eth_getFilterLogs answer. @throws RpcError on a wrong range and beyond the limits */
export async function findLogs(context: RpcContext, filter: LogFilter): Promise<JsonObject[]> {
  const { view, limits } = context
  const range = rangeOf(view.chain, filter, limits.logBlockRange)
  const deadline = context.now() + limits.callTimeoutMs
  const pause = context.execution?.yieldUntil(deadline)
  const matches = logMatcher(filter)
  const found: FoundLogs = { logs: [], bytes: 0 }
  try {
    for await (const height of candidateHeights(view.chain, filter, range)) {
      await pause?.()
      collect(view.chain, height, matches, limits, found)
    }
  } catch (error) {
    throw error instanceof ExecutionTimeout ? timedOut() : error
  }
  return found.logs
}

/** What a search has found so far. */
interface FoundLogs {
  readonly logs: JsonObject[]
  /** a lower bound of the answer's length */
  bytes: number
}

interface Range {
  readonly from: number
  readonly to: number
}

function rangeOf(chain: ChainReader, { blockHash, fromBlock, toBlock }: LogFilter, maxBlocks: number): Range {
  if (blockHash !== undefined) {
    const height = chain.heightOf(blockHash)
    if (height === undefined || height > chain.headHeight) throw serverError('unknown block')
    return { from: height, to: height }
  }
  if (fromBlock === 'pending' || toBlock === 'pending') throw invalidParams('pending logs are not supported')
  const from = heightOfTag(chain, fromBlock ?? 'latest')
  const to = heightOfTag(chain, toBlock ?? 'latest')
  const isReversed = from > to
  // geth compares before it knows what tags mean.
  if (isReversed && typeof fromBlock === 'number' && typeof toBlock === 'number') throw reversedRange()
  if (Math.max(from, to) > chain.headHeight) throw invalidParams('block range extends beyond current head block')
  if (isReversed) throw reversedRange()
  if (from < chain.oldestBlock) throw prunedHistory()
  // −32005 rather than −32602: clients then ask for a smaller range
  if (to - from >= maxBlocks) {
    throw new RpcError(RPC_CODES.limitExceeded, `exceed maximum block range ${maxBlocks}`)
  }
  return { from, to }
}

/** One block is read without the index. */
async function* candidateHeights(chain: ChainReader, filter: LogFilter, { from, to }: Range): AsyncIterable<number> {
  if (from === to) yield from
  else yield* chain.logHeights({ addresses: filter.addresses, topics: filter.topics }, from, to)
}

/** Appends the block's logs that match. */
function collect(
  chain: ChainReader,
  height: number,
  matches: ReturnType<typeof logMatcher>,
  limits: Pick<RpcLimits, 'logResults' | 'responseBytes'>,
  found: FoundLogs,
): void {
  const block = findReceipts(chain, { kind: 'number', number: height })
  if (block === undefined) throw new Error(`the log index names block ${height}, which is not there`)
  let logIndex = 0
  block.receipts.forEach((receipt, transactionIndex) => {
    for (const log of receipt.logs) {
      const place = {
        blockNumber: height,
        blockHash: block.hash,
        blockTimestamp: block.header.timestamp,
        transactionHash: block.transactions[transactionIndex]!.transaction.hash,
        transactionIndex,
        logIndex: logIndex++,
      }
      if (!matches(log)) continue
      if (found.logs.length >= limits.logResults) {
        throw new RpcError(RPC_CODES.limitExceeded, `query returned more than ${limits.logResults} results`)
      }
      found.bytes += log.data.length * 2
      if (found.bytes > limits.responseBytes) throw responseTooLarge()
      found.logs.push(formatLog(log, place))
    }
  })
}

function reversedRange(): RpcError {
  return invalidParams('invalid block range params')
}
