import type { RpcMethod } from './method.ts'

/** Methods by name. A `Map`, so that no name finds what objects inherit. */
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
 * The one ordered method that keeps its order by itself: calls in a row may be under way together, since they reach the
 * pool one after the other.
 */
export const PIPELINED_METHOD = 'eth_sendRawTransaction'

/**
 * Methods that change something, in the node or in what later methods of the same batch see: a batch runs them in their turn,
 * apart from others.
 */
export const ORDERED_METHODS: ReadonlySet<string> = new Set([
  PIPELINED_METHOD,
  'eth_sendRawTransactionSync',
  'eth_newFilter',
  'eth_newBlockFilter',
  'eth_newPendingTransactionFilter',
  'eth_getFilterChanges',
  'eth_getFilterLogs',
  'eth_uninstallFilter',
  'eth_subscribe',
  'eth_unsubscribe',
])
