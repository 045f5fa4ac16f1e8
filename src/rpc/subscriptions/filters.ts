import type { PooledTransaction } from '../../mempool/types.ts'
import { newIdentifier } from '../jsonrpc/identifier.ts'
import { type ClientBudget, createClientBudget } from '../transport/clientBudget.ts'

/** Subject of a filter: logs, blocks or pool transactions. */
export type FilterSpec =
  | { readonly kind: 'blocks' }
  | {
      readonly kind: 'logs'
      /** JSON text of the filter object as the client sent it, for eth_getFilterLogs */
      readonly request: string
      /** JSON text of an object with its address and topics alone */
      readonly criteria: string
      /** bounds of the blocks that it watches; absent: none */
      readonly fromBlock?: number | undefined
      readonly toBlock?: number | undefined
    }
  | { readonly kind: 'transactions'; readonly full: boolean }

/** Data that a poll has to read. An empty range (`from` > `to`) means that nothing is new. */
export type FilterPoll =
  | { readonly kind: 'blocks'; readonly from: number; readonly to: number }
  | { readonly kind: 'logs'; readonly criteria: string; readonly from: number; readonly to: number }
  | { readonly kind: 'transactions'; readonly full: boolean; readonly transactions: readonly PooledTransaction[] }

/**
 * The filters of the whole node. They are in one thread; other threads reach it through a port,
 * because a client may poll over any connection. Arguments and results are structured-clonable.
 */
export type FilterPort = {
  /**
   * Adds a filter of `client` for events after `height`. Returns its ID; undefined when the client
   * or all clients have too many filters, or their criteria take too much memory.
   */
  readonly add: (spec: FilterSpec, height: number, client: string) => Promise<string | undefined>
  /**
   * Returns what is new up to `height` since the last poll, and marks it as polled. undefined:
   * there is no such filter
   */
  readonly poll: (id: string, height: number) => Promise<FilterPoll | undefined>
  /** Marks the blocks from `from` on as not polled, because the poll's result could not be delivered. */
  readonly rewind: (id: string, from: number) => Promise<void>
  /** Returns a filter's spec; undefined: there is no such filter. */
  readonly describe: (id: string) => Promise<FilterSpec | undefined>
  /** Removes a filter. Returns whether there was such a filter. */
  readonly remove: (id: string) => Promise<boolean>
}

/** {@link FilterPort} in the thread that owns the filters. */
export interface FilterStore extends FilterPort {
  /** Adds transactions that became executable, for the next polls. */
  addTransactions(transactions: readonly PooledTransaction[]): void
}

interface FilterLimits {
  readonly filters: number
  /** milliseconds without a poll after which a filter is removed (geth: eth/filters, 5 minutes) */
  readonly lifetimeMs: number
  /** blocks that one poll covers; the next poll continues from there */
  readonly blocksPerPoll: number
  /** transactions, and their bytes, that are retained for the next poll; the oldest are dropped */
  readonly transactions: number
  readonly transactionBytes: number
}

interface FilterStoreOptions {
  readonly limits?: FilterLimits
  readonly now?: () => number
  /** called for each filter of pool transactions that is added (1) or removed (-1) */
  readonly watchPending?: (change: 1 | -1) => void
  /** bytes for the criteria of log filters */
  readonly criteria: ClientBudget
  /** called when a client gets no filter because there are too many */
  readonly onRefused?: () => void
}

export const DEFAULT_FILTER_LIMITS: FilterLimits = {
  filters: 10_000,
  lifetimeMs: 5 * 60_000,
  blocksPerPoll: 5_000,
  transactions: 200_000,
  transactionBytes: 64 * 1_048_576,
}

interface Filter {
  readonly client: string
  readonly spec: FilterSpec
  /** its part of the memory budget */
  readonly bytes: number
  /**
   * the first block that was not polled; for `transactions` the number of the first one in {@link
   * RecentTransactions}
   */
  next: number
  polledMs: number
}

/**
 * Creates the store. A filter is a cursor: nothing is collected for it, and a poll reads the blocks
 * since the last one. Only pool transactions are retained, once for all filters, because they
 * cannot be read again later.
 */
export function createFilterStore({
  limits = DEFAULT_FILTER_LIMITS,
  now = () => performance.now(),
  watchPending,
  criteria,
  onRefused,
}: FilterStoreOptions): FilterStore {
  const places = createClientBudget({ total: limits.filters, ...(onRefused === undefined ? {} : { onRefused }) })
  /** in the order of their last polls, oldest first */
  const filters = new Map<string, Filter>()
  const recent = createRecentTransactions(limits)
  let transactionFilters = 0

  const remove = (id: string): boolean => {
    const filter = filters.get(id)
    if (filter === undefined) return false
    places.giveBack(filter.client, 1)
    criteria.giveBack(filter.client, filter.bytes)
    if (filter.spec.kind === 'transactions') {
      watchPending?.(-1)
      if (--transactionFilters === 0) recent.clear()
    }
    return filters.delete(id)
  }
  const expire = (): void => {
    for (const [id, { polledMs }] of filters) {
      if (now() - polledMs <= limits.lifetimeMs) return
      remove(id)
    }
  }
  const find = (id: string): Filter | undefined => {
    expire()
    const filter = filters.get(id)
    if (filter === undefined) return undefined
    filter.polledMs = now()
    filters.delete(id)
    filters.set(id, filter)
    return filter
  }

  return {
    add: async (spec, height, client) => {
      expire()
      const bytes = sizeOf(spec)
      if (!places.take(client, 1)) return undefined
      if (!criteria.take(client, bytes)) {
        places.giveBack(client, 1)
        return undefined
      }
      const id = newIdentifier()
      const next = spec.kind === 'transactions' ? recent.next() : height + 1
      filters.set(id, { client, spec, bytes, next, polledMs: now() })
      if (spec.kind === 'transactions') {
        watchPending?.(1)
        transactionFilters++
      }
      return id
    },
    poll: async (id, height) => {
      const filter = find(id)
      return filter === undefined ? undefined : pollFilter(filter, height, recent, limits.blocksPerPoll)
    },
    rewind: async (id, from) => {
      const filter = filters.get(id)
      if (filter !== undefined) filter.next = Math.min(filter.next, from)
    },
    describe: async (id) => find(id)?.spec,
    remove: async (id) => {
      expire()
      return remove(id)
    },
    addTransactions: (transactions) => {
      expire()
      if (transactionFilters > 0) recent.add(transactions)
    },
  }
}

function pollFilter(filter: Filter, height: number, recent: RecentTransactions, maxBlocks: number): FilterPoll {
  const { spec, next } = filter
  if (spec.kind === 'transactions') {
    const found = recent.since(next)
    filter.next = found.next
    return { kind: 'transactions', full: spec.full, transactions: found.transactions }
  }
  const to = Math.min(height, next + maxBlocks - 1)
  filter.next = Math.max(next, to + 1)
  if (spec.kind === 'blocks') return { kind: 'blocks', from: next, to }
  const { criteria, fromBlock = 0, toBlock = Number.MAX_SAFE_INTEGER } = spec
  return { kind: 'logs', criteria, from: Math.max(next, fromBlock), to: Math.min(to, toBlock) }
}

/**
 * Returns the bytes of a filter's texts. Both are hex digits and JSON's own characters, a byte
 * each.
 */
function sizeOf(spec: FilterSpec): number {
  return spec.kind === 'logs' ? spec.request.length + spec.criteria.length : 0
}

/** The newest pool transactions, numbered in the order in which they came. */
interface RecentTransactions {
  add(transactions: readonly PooledTransaction[]): void
  /** Returns the number of the next transaction. */
  next(): number
  /**
   * Returns some of the retained transactions from number `first` on; `next` is the number to
   * continue from.
   */
  since(first: number): { readonly transactions: readonly PooledTransaction[]; readonly next: number }
  /** Forgets all transactions; the numbers continue. */
  clear(): void
}

interface RecentTransactionLimits {
  readonly transactions: number
  readonly transactionBytes: number
}

/** Memory of a transaction besides its bytes. */
const OVERHEAD_BYTES = 300
/** Most transactions of one call, so that their JSON stays far below the limit of an answer. */
const MAX_GIVEN = 20_000
const MAX_GIVEN_BYTES = 4_194_304

/** Retains the newest transactions within the limits. */
function createRecentTransactions({
  transactions: maxCount,
  transactionBytes,
}: RecentTransactionLimits): RecentTransactions {
  let recent: PooledTransaction[] = []
  /** dropped transactions at the front of `recent`, which are removed many at a time */
  let dropped = 0
  /** number of the first transaction in `recent` */
  let base = 0
  let bytes = 0

  const sizeOf = ({ raw }: PooledTransaction): number => raw.length + OVERHEAD_BYTES
  const compact = (): void => {
    recent = recent.slice(dropped)
    base += dropped
    dropped = 0
  }

  return {
    add: (transactions) => {
      for (const transaction of transactions) {
        recent.push(transaction)
        bytes += sizeOf(transaction)
      }
      while (recent.length - dropped > maxCount || bytes > transactionBytes) {
        bytes -= sizeOf(recent[dropped]!)
        dropped++
      }
      if (dropped > recent.length / 2) compact()
    },
    next: () => base + recent.length,
    since: (first) => {
      const start = Math.max(first - base, dropped)
      let end = start
      let given = 0
      while (end < recent.length && end - start < MAX_GIVEN && given < MAX_GIVEN_BYTES) given += sizeOf(recent[end++]!)
      return { transactions: recent.slice(start, end), next: base + end }
    },
    clear: () => {
      base += recent.length
      recent = []
      dropped = 0
      bytes = 0
    },
  }
}
