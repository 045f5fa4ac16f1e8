import { setImmediate as nextTurn } from 'node:timers/promises'
import { decodeTransaction } from '../../chain/block/transaction.ts'
import type { ChainReader } from '../../chain/store/chainReader.ts'
import type { PooledTransaction } from '../../mempool/types.ts'
import { bytesToHex, toQuantity } from '../../primitives/bytes.ts'
import { formatPendingTransaction } from '../format/transaction.ts'
import { type CallScope, callCancelled } from '../jsonrpc/callScope.ts'
import { RPC_CODES, RpcError, serverError } from '../jsonrpc/errors.ts'
import { readIdentifier } from '../jsonrpc/identifier.ts'
import { defineMethod, type ParamReader, RawJson, type RpcContext, type RpcMethod } from '../jsonrpc/method.ts'
import type { ResultText } from '../jsonrpc/resultText.ts'
import type { ViewPool } from '../jsonrpc/runMethod.ts'
import { type LogFilter, readLogFilter } from '../params/logFilter.ts'
import { readBool } from '../params/values.ts'
import type { FilterPoll, FilterPort, FilterSpec } from '../subscriptions/filters.ts'
import { watchedRange } from './logs.ts'

export interface FilterMethodsOptions {
  readonly filters: FilterPort
  readonly views: ViewPool
}

/** Reads a log filter, together with its JSON. */
const readFilterRequest: ParamReader<{ readonly filter: LogFilter; readonly json: unknown }> = (json) => ({
  filter: readLogFilter(json),
  json,
})

/**
 * Creates the filter methods of the eth namespace (geth: eth/filters/api.go). Logs are looked up as
 * by eth_getLogs, in view threads.
 */
export function createFilterMethods({ filters, views }: FilterMethodsOptions): readonly RpcMethod[] {
  const add = async ({ view, scope }: RpcContext, spec: FilterSpec): Promise<string> => {
    const id = await filters.add(spec, view.chain.headHeight, scope.client)
    if (id === undefined) throw new RpcError(RPC_CODES.limitExceeded, 'too many filters')
    return id
  }
  return [
    defineMethod({
      name: 'eth_newFilter',
      runs: 'socket',
      params: [readFilterRequest],
      run: (context, { filter, json }) => add(context, logSpec(context.view.chain, filter, json)),
    }),
    defineMethod({
      name: 'eth_newBlockFilter',
      runs: 'socket',
      run: (context) => add(context, { kind: 'blocks' }),
    }),
    defineMethod({
      name: 'eth_newPendingTransactionFilter',
      runs: 'socket',
      params: [readBool],
      required: 0,
      run: (context, full) => add(context, { kind: 'transactions', full: full === true }),
    }),
    defineMethod({
      name: 'eth_uninstallFilter',
      runs: 'socket',
      params: [readIdentifier],
      run: (_, id) => filters.remove(id),
    }),
    defineMethod({
      name: 'eth_getFilterLogs',
      runs: 'socket',
      params: [readIdentifier],
      run: async ({ scope }, id) => {
        const spec = await filters.describe(id)
        if (spec?.kind !== 'logs') throw serverError('filter not found')
        return new RawJson(await views.call('heavy', 'eth_getLogs', [JSON.parse(spec.request)], scope))
      },
    }),
    defineMethod({
      name: 'eth_getFilterChanges',
      runs: 'socket',
      params: [readIdentifier],
      run: async ({ view, scope }, id) => {
        const { headHeight } = view.chain
        const poll = await filters.poll(id, headHeight)
        if (poll === undefined) throw serverError('filter not found')
        if (poll.kind === 'transactions') return pooledJson(poll, scope)
        if (poll.from > poll.to) return []
        if (poll.kind === 'blocks') return blockHashes(view.chain, poll)
        return new RawJson(await newLogs({ filters, views }, id, poll, scope))
      },
    }),
  ]
}

/** Returns the filter to watch with: only new blocks, within the filter's range if it has one. */
function logSpec(chain: ChainReader, filter: LogFilter, json: unknown): FilterSpec {
  const { blockHash, fromBlock, toBlock, addresses, topics } = filter
  const { from, to } = watchedRange(chain, filter)
  const wanted = { fromBlock, toBlock, blockHash: blockHash && bytesToHex(blockHash) }
  const criteria = {
    address: addresses.map(bytesToHex),
    topics: topics.map((alternatives) => (alternatives.length === 0 ? null : alternatives.map(bytesToHex))),
  }
  return {
    kind: 'logs',
    request: JSON.stringify({ ...criteria, ...rangeFields(json, wanted) }),
    criteria: JSON.stringify(criteria),
    fromBlock: from,
    toBlock: to,
  }
}

/** Returns the range as the client wrote it, without the other fields of the object. */
function rangeFields(json: unknown, read: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const fields = new Map(Object.entries(json as object))
  const present = Object.keys(read).filter((key) => read[key] !== undefined)
  return Object.fromEntries(present.map((key) => [key, fields.get(key)]))
}

function blockHashes(chain: ChainReader, { from, to }: Extract<FilterPoll, { kind: 'blocks' }>): string[] {
  const hashes: string[] = []
  for (let height = from; height <= to; height++) {
    const hash = chain.hash(height)
    if (hash !== undefined) hashes.push(bytesToHex(hash))
  }
  return hashes
}

/**
 * Whole transactions that are decoded and formatted in a row (about 3 ms), before other connections
 * have their turn.
 */
const TRANSACTIONS_PER_TURN = 64

async function pooledJson(
  { transactions, full }: Extract<FilterPoll, { kind: 'transactions' }>,
  { signal }: CallScope,
): Promise<RawJson> {
  const texts: string[] = []
  for (const pooled of transactions) {
    texts.push(JSON.stringify(formatPooled(pooled, full)))
    if (full && texts.length % TRANSACTIONS_PER_TURN === 0) await nextTurn()
    if (signal.aborted) throw callCancelled()
  }
  return new RawJson(`[${texts.join(',')}]`)
}

function formatPooled({ raw, hash, sender }: PooledTransaction, full: boolean): unknown {
  return full ? formatPendingTransaction(decodeTransaction(raw), sender) : bytesToHex(hash)
}

/**
 * Returns the logs of the blocks that a poll covers, as JSON text. When they exceed the limits of
 * eth_getLogs, only those of the first blocks are returned, and the next poll continues from there.
 * After any other failure the next poll covers the same blocks again.
 */
async function newLogs(
  { filters, views }: FilterMethodsOptions,
  id: string,
  { criteria, from, to }: Extract<FilterPoll, { kind: 'logs' }>,
  scope: CallScope,
): Promise<ResultText> {
  const filter: object = JSON.parse(criteria)
  for (let last = to; ; last = from + Math.floor((last - from) / 2)) {
    try {
      const range = { fromBlock: toQuantity(from), toBlock: toQuantity(last) }
      const logs = await views.call('heavy', 'eth_getLogs', [{ ...filter, ...range }], scope)
      if (last < to) await filters.rewind(id, last + 1)
      return logs
    } catch (error) {
      if (isTooMuch(error) && last > from) continue
      await filters.rewind(id, from)
      throw error
    }
  }
}

function isTooMuch(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false
  return error.code === RPC_CODES.limitExceeded || error.code === RPC_CODES.responseTooLarge
}
