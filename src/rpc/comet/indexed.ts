import { RawJson } from '../rawJson.ts'
import type { ViewPool, ViewQueue } from '../viewCall.ts'
import { bool, bytes, int, int64, text } from './params.ts'
import { CometError, type CometMethod, cometFailure, defineCometMethod } from './table.ts'
import { COMET_VIEW_METHODS, type SearchRequest } from './viewMethods.ts'

/** `tx`, `tx_search`, `block_search` and `block_results`, which view threads answer. */
export function createIndexedMethods(views: ViewPool): readonly CometMethod[] {
  const search = (name: string, method: string): CometMethod =>
    defineCometMethod({
      name,
      params: [
        { name: 'query', type: text },
        ...(name === 'tx_search' ? [{ name: 'prove', type: bool }] : []),
        { name: 'page', type: int },
        { name: 'per_page', type: int },
        { name: 'order_by', type: text },
      ],
      run: (...args: readonly unknown[]) => {
        const [query, prove, page, perPage, orderBy] = name === 'tx_search' ? args : [args[0], false, ...args.slice(1)]
        const request = { query: query ?? '', prove: prove ?? false, page, perPage, orderBy: orderBy ?? '' }
        return ask(views, 'heavy', method, [request as SearchRequest])
      },
    })
  return [
    defineCometMethod({
      name: 'tx',
      params: [
        { name: 'hash', type: bytes },
        { name: 'prove', type: bool },
      ],
      run: (hash, prove = false) => {
        if (hash === undefined || hash.length === 0) throw cometFailure('transaction hash cannot be empty')
        return ask(views, 'cheap', COMET_VIEW_METHODS.tx, [hash, prove])
      },
    }),
    defineCometMethod({
      name: 'block_results',
      params: [{ name: 'height', type: int64 }],
      run: (height) => ask(views, 'cheap', COMET_VIEW_METHODS.blockResults, [height]),
    }),
    search('tx_search', COMET_VIEW_METHODS.txSearch),
    search('block_search', COMET_VIEW_METHODS.blockSearch),
  ]
}

/** @throws CometError with what the view thread says is wrong */
async function ask(views: ViewPool, queue: ViewQueue, method: string, params: readonly unknown[]): Promise<RawJson> {
  try {
    return new RawJson(await views.call(queue, method, params))
  } catch (error) {
    // By name: an error that crossed threads has lost its class.
    const { name, code, message, data } = error as Error & { readonly code?: number; readonly data?: unknown }
    if (name !== 'RpcError' || code === undefined) throw error
    throw typeof data === 'string' ? new CometError(code, message, data) : cometFailure(message)
  }
}
