import { bytesToUpperHex } from '../../primitives/bytes.ts'
import { bytesOf } from '../../primitives/valueBytes.ts'
import { parseEventQuery } from '../events/eventQuery.ts'
import { findBlocks, findTransactions, locateTransaction } from '../events/search.ts'
import type { JsonObject } from '../format/json.ts'
import type { CallScope } from '../jsonrpc/callScope.ts'
import { responseTooLarge } from '../jsonrpc/errors.ts'
import { createMethodTable, type MethodTable, type RpcContext } from '../jsonrpc/method.ts'
import { blocksAt, placeOf } from '../jsonrpc/place.ts'
import type { ViewPool } from '../jsonrpc/runMethod.ts'
import { attackEvidenceMethod } from './attackEvidence.ts'
import { blockViewMethods } from './blocks.ts'
import { consensusParamsViewMethod } from './consensus.ts'
import { type CometChain, heightUnavailable, readHeight, readPage, type WithChain } from './env.ts'
import { checkEvidenceMethod } from './evidence.ts'
import { blockJson } from './json/block.ts'
import { blockResultsJson, txJson } from './json/results.ts'
import { blockIdJson } from './json/values.ts'
import { bool, bytes, type CometMethod, cometFailure, defineCometMethod, int, int64, text } from './method.ts'
import { callView, viewMethod } from './viewMethod.ts'

const QUERY = { name: 'query', type: text } as const
const PROVE = { name: 'prove', type: bool } as const
const PAGE = [
  { name: 'page', type: int },
  { name: 'per_page', type: int },
  { name: 'order_by', type: text },
] as const

/**
 * Creates `tx`, `tx_search`, `block_search` and `block_results` (rpc/core/tx.go, blocks.go). They
 * take too long for the socket threads: these read the parameters, and view threads answer with
 * {@link COMET_VIEW_TABLE}.
 */
export function createResultMethods(withChain: WithChain, views: ViewPool): readonly CometMethod[] {
  const search = (method: string, request: SearchRequest, scope: CallScope) =>
    callView(views, 'heavy', method, [request], scope)
  return [
    defineCometMethod({
      name: 'tx',
      params: [{ name: 'hash', type: bytes }, PROVE],
      run: (hash, prove = false, scope) => {
        if (hash === undefined || hash.length === 0) throw cometFailure('transaction hash cannot be empty')
        const queue = withChain((chain) => {
          const read = blocksAt('body', chain.heightsOfTransaction(hash))
          // Other hashes are looked up in the index of events.
          return read === undefined ? 'heavy' : placeOf('cheap', read, chain)
        })
        return callView(views, queue, COMET_VIEW_METHODS.tx, [hash, prove], scope)
      },
    }),
    defineCometMethod({
      name: 'block_results',
      params: [{ name: 'height', type: int64 }],
      run: (requested, scope) => {
        const [height, queue] = withChain((chain) => {
          const height = resultsHeight(chain, requested)
          return [height, placeOf('cheap', { part: 'body', oldest: height }, chain)] as const
        })
        return callView(views, queue, COMET_VIEW_METHODS.blockResults, [height], scope)
      },
    }),
    defineCometMethod({
      name: 'tx_search',
      params: [QUERY, PROVE, ...PAGE],
      run: (query = '', prove = false, page, perPage, orderBy = '', scope) =>
        search(COMET_VIEW_METHODS.txSearch, { query, prove, page, perPage, orderBy }, scope),
    }),
    defineCometMethod({
      name: 'block_search',
      params: [QUERY, ...PAGE],
      run: (query = '', page, perPage, orderBy = '', scope) =>
        search(COMET_VIEW_METHODS.blockSearch, { query, prove: false, page, perPage, orderBy }, scope),
    }),
  ]
}

/** Names of the methods in view threads; clients cannot call these. */
const COMET_VIEW_METHODS = {
  tx: 'comet/tx',
  txSearch: 'comet/tx_search',
  blockSearch: 'comet/block_search',
  blockResults: 'comet/block_results',
} as const

/** The parameters of a search. */
interface SearchRequest {
  readonly query: string
  readonly page: bigint | undefined
  readonly perPage: bigint | undefined
  /** '', 'asc' or 'desc' */
  readonly orderBy: string
  readonly prove: boolean
}

/**
 * The view threads' part of {@link createResultMethods}, and of other methods that take too long
 * for a socket thread.
 */
export const COMET_VIEW_TABLE: MethodTable = createMethodTable([
  checkEvidenceMethod,
  attackEvidenceMethod,
  consensusParamsViewMethod,
  ...blockViewMethods,

  viewMethod(COMET_VIEW_METHODS.tx, 'cheap', async ({ view }, hash: Uint8Array, prove: boolean) => {
    const found = await locateTransaction(view.chain, hash)
    if (found === undefined) {
      throw cometFailure(`tx (${bytesToUpperHex(hash)}) not found`)
    }
    return txJson(view.chain, found, prove)
  }),

  viewMethod(COMET_VIEW_METHODS.blockResults, 'cheap', ({ view, chain }, height: number) =>
    blockResultsJson(view, chain, height),
  ),

  viewMethod(COMET_VIEW_METHODS.txSearch, 'heavy', async (context, request: SearchRequest) => {
    const { chain } = context.view
    const isDescending = readOrder(request.orderBy, false)
    const pause = pauseOf(context)
    const found = await findTransactions(chain, parseEventQuery(request.query), { pause })
    const ordered = isDescending ? found.toReversed() : found
    const { start, end } = readPage(request.page, request.perPage, ordered.length)
    const txs = createBoundedList(context.limits.responseBytes)
    for (const each of ordered.slice(start, end)) {
      await pause()
      txs.push(txJson(chain, each, request.prove))
    }
    return { txs: txs.items, total_count: String(ordered.length) }
  }),

  viewMethod(COMET_VIEW_METHODS.blockSearch, 'heavy', async (context, request: SearchRequest) => {
    const { chain } = context.view
    // Newest first by default, unlike for transactions.
    const isDescending = readOrder(request.orderBy, true)
    const pause = pauseOf(context)
    const found = await findBlocks(chain, parseEventQuery(request.query), { pause })
    const { count } = found
    const { start, end } = readPage(request.page, request.perPage, count)
    const blocks = createBoundedList(context.limits.responseBytes)
    for (let index = start; index < end; index++) {
      await pause()
      const height = found.heightAt(isDescending ? count - 1 - index : index)
      blocks.push({ block_id: blockIdJson(chain.blockId(height)!), block: blockJson(chain.consensusBlock(height)!) })
    }
    return { blocks: blocks.items, total_count: String(count) }
  }),
])

/** Returns the height that `block_results` is called for. @throws CometError */
function resultsHeight(chain: CometChain, requested: bigint | undefined): number {
  const lowest = Math.max(1, chain.oldestBlock)
  const height = readHeight(requested, chain.headHeight, lowest)
  // Before the first block, and right after a restore, the newest block has no results.
  if (height < lowest) throw heightUnavailable(height, lowest)
  return height
}

/** Reads the order. @throws CometError for any other order */
function readOrder(order: string, isDescendingByDefault: boolean): boolean {
  if (order === '') return isDescendingByDefault
  if (order === 'asc') return false
  if (order === 'desc') return true
  throw cometFailure('expected order_by to be either `asc` or `desc` or empty')
}

/**
 * Collects the items of an answer and refuses it as soon as it is too long: each item of a page may
 * be a block.
 */
function createBoundedList(maxBytes: number): { readonly items: readonly JsonObject[]; push(item: JsonObject): void } {
  const items: JsonObject[] = []
  let bytes = 0
  return {
    items,
    push: (item) => {
      bytes += bytesOf(item)
      if (bytes > maxBytes) throw responseTooLarge()
      items.push(item)
    },
  }
}

/**
 * Returns a function that lets other calls run between the parts of a search; it throws when the
 * call's time is over.
 */
function pauseOf({ execution, limits, monotonicMs }: RpcContext): () => Promise<void> {
  if (execution === undefined) throw new Error('searches run in view threads')
  return execution.yieldUntil(monotonicMs() + limits.callTimeoutMs)
}
