import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
import type { z } from 'zod'
import type { account, Movement } from '../../accounts/shapes.ts'
import type { Block } from '../../blocks/shapes.ts'
import type {
  Call,
  CallPage,
  Contract,
  ContractDetail,
  InternalCall,
  Log,
  StateChanges,
  TracedPage,
  TraceState,
} from '../../contracts/shapes.ts'
import type { Deposit, Proposal, parameters, proposalDetail, Vote } from '../../governance/shapes.ts'
import type { NetworkNode, network } from '../../network/shapes.ts'
import type { found, status } from '../../server/shapes.ts'
import type { period } from '../../statistics/shapes.ts'
import type { Token, TokenHolder, TokenHolding, TokenTransfer } from '../../tokens/shapes.ts'
import type { mempool, Transaction, transactionDetail } from '../../transactions/shapes.ts'

/* Queries of the explorer's API, by which a page requests an answer once and caches it. */

export type {
  Block,
  Call,
  Contract,
  ContractDetail,
  InternalCall,
  Log,
  Movement,
  NetworkNode,
  StateChanges,
  Token,
  TokenHolder,
  TokenHolding,
  TokenTransfer,
  TraceState,
  Transaction,
}
export type ProposalDetail = z.infer<typeof proposalDetail>
export type { Proposal }
export type Status = z.infer<typeof status>
export type TransactionDetail = z.infer<typeof transactionDetail>
export type Account = z.infer<typeof account>
export type Mempool = z.infer<typeof mempool>
export type Parameters = z.infer<typeof parameters>
/** Numbers of an hour or a day. */
export type Period = z.infer<typeof period>
type Network = z.infer<typeof network>
export type Found = z.infer<typeof found>
export interface Page<T, C = number> {
  readonly items: readonly T[]
  readonly next: C | null
  /** of lists that are made of calls */
  readonly untraced?: TracedPage<T>['untraced']
  readonly indexedFrom?: TracedPage<T>['indexedFrom']
}

/** The explorer has nothing under this name, or does not understand it; the message is its own. */
export class NotFound extends Error {}

/** Blocks and transactions never change: what is known of one is asked for once. */
const FINAL = { staleTime: Number.POSITIVE_INFINITY } as const

/** An answer of the explorer's API to a path below its prefix. */
export async function get<T>(path: string, signal: AbortSignal): Promise<T> {
  const response = await fetch(`/api/v1/${path}`, { signal })
  const answer = (await response.json()) as T & { readonly error?: string }
  if (response.ok) return answer
  const message = answer.error ?? `status ${response.status}`
  throw response.status < 500 ? new NotFound(message) : new Error(message)
}

/** The part of a list, for its path. */
export function pageQuery(before: number | string | undefined, limit: number): string {
  return before === undefined ? `?limit=${limit}` : `?limit=${limit}&before=${before}`
}

function afterQuery(after: number | undefined): string {
  return after === undefined ? '' : `?after=${after}`
}

const LIST = 25

export const statusQuery = queryOptions({
  queryKey: ['status'],
  queryFn: ({ signal }) => get<Status>('status', signal),
  refetchInterval: 10_000,
})

export function blocksQuery(before?: number, limit = LIST) {
  return queryOptions({
    queryKey: ['blocks', before ?? 'newest', limit],
    queryFn: ({ signal }) => get<Page<Block>>(`blocks${pageQuery(before, limit)}`, signal),
    placeholderData: keepPreviousData,
  })
}

/** Blocks of `of`, as `validators/…`. */
export function blocksOfQuery(of: string, before?: number) {
  return queryOptions({
    queryKey: ['blocks of', of, before ?? 'newest'],
    queryFn: ({ signal }) => get<Page<Block>>(`${of}/blocks${pageQuery(before, LIST)}`, signal),
    placeholderData: keepPreviousData,
  })
}

export function blockQuery(id: string) {
  return queryOptions({
    queryKey: ['block', id],
    queryFn: ({ signal }) => get<Block>(`blocks/${id}`, signal),
    ...FINAL,
  })
}

export function transactionQuery(hash: string) {
  return queryOptions({
    queryKey: ['transaction', hash],
    queryFn: ({ signal }) => get<TransactionDetail>(`transactions/${hash}`, signal),
    ...FINAL,
  })
}

export function accountQuery(address: string) {
  return queryOptions({
    queryKey: ['account', address],
    queryFn: ({ signal }) => get<Account>(`addresses/${address}`, signal),
    refetchInterval: 5_000,
  })
}

/** `of` is empty for all transactions, or `blocks/…` or `addresses/…`. */
export function transactionsQuery(of: string, before?: number, limit = LIST) {
  return queryOptions({
    queryKey: ['transactions', of, before ?? 'newest', limit],
    queryFn: ({ signal }) =>
      get<Page<Transaction>>(`${of === '' ? '' : `${of}/`}transactions${pageQuery(before, limit)}`, signal),
    placeholderData: keepPreviousData,
  })
}

export function movementsQuery(of: string, before?: string) {
  return queryOptions({
    queryKey: ['movements', of, before ?? 'newest'],
    queryFn: ({ signal }) => get<Page<Movement, string>>(`${of}/movements${pageQuery(before, LIST)}`, signal),
    placeholderData: keepPreviousData,
  })
}

export function statisticsQuery(unit: 'hour' | 'day', limit: number) {
  return queryOptions({
    queryKey: ['statistics', unit, limit],
    queryFn: ({ signal }) => get<Page<Period>>(`statistics?unit=${unit}&limit=${limit}`, signal),
    refetchInterval: 10_000,
    placeholderData: keepPreviousData,
  })
}

export const parametersQuery = queryOptions({
  queryKey: ['parameters'],
  queryFn: ({ signal }) => get<Parameters>('parameters', signal),
})

export const mempoolQuery = queryOptions({
  queryKey: ['mempool'],
  queryFn: ({ signal }) => get<Mempool>('mempool', signal),
  refetchInterval: 1_000,
})

export function proposalsQuery(before?: number) {
  return queryOptions({
    queryKey: ['proposals', before ?? 'newest'],
    queryFn: ({ signal }) => get<Page<Proposal>>(`proposals${pageQuery(before, LIST)}`, signal),
    placeholderData: keepPreviousData,
  })
}

export function proposalQuery(id: string) {
  return queryOptions({
    queryKey: ['proposal', id],
    queryFn: ({ signal }) => get<ProposalDetail>(`proposals/${encodeURIComponent(id)}`, signal),
    refetchInterval: 5_000,
  })
}

export function tokenQuery(address: string) {
  return queryOptions({
    queryKey: ['token', address],
    queryFn: ({ signal }) => get<Token>(`tokens/${address}`, signal),
    refetchInterval: 5_000,
  })
}

/** Votes of `of`, `proposals/…` or `addresses/…`. */
export function votesQuery(of: string, before?: number) {
  return queryOptions({
    queryKey: ['votes', of, before ?? 'newest'],
    queryFn: ({ signal }) => get<Page<Vote>>(`${of}/votes${pageQuery(before, LIST)}`, signal),
    placeholderData: keepPreviousData,
  })
}

export function depositsQuery(id: string, before?: number) {
  return queryOptions({
    queryKey: ['deposits', id, before ?? 'newest'],
    queryFn: ({ signal }) =>
      get<Page<Deposit>>(`proposals/${encodeURIComponent(id)}/deposits${pageQuery(before, LIST)}`, signal),
    placeholderData: keepPreviousData,
  })
}

/** The newest votes of an account. */
export function accountVotesQuery(address: string) {
  return queryOptions({
    queryKey: ['votes of', address],
    queryFn: ({ signal }) => get<Page<Vote>>(`addresses/${address}/votes?limit=100`, signal),
  })
}

/** A list about tokens, by its path. */
export function tokenListQuery<T>(path: string, before?: string) {
  return queryOptions({
    queryKey: ['token list', path, before ?? 'newest'],
    queryFn: ({ signal }) => get<Page<T, string>>(`${path}${pageQuery(before, LIST)}`, signal),
    placeholderData: keepPreviousData,
  })
}

export function transactionLogsQuery(hash: string) {
  return infiniteQueryOptions({
    queryKey: ['transaction logs', hash],
    queryFn: ({ pageParam, signal }) => get<Page<Log>>(`transactions/${hash}/logs${afterQuery(pageParam)}`, signal),
    initialPageParam: undefined as number | undefined,
    getNextPageParam: ({ next }) => next ?? undefined,
    ...FINAL,
  })
}

export function transactionCallsQuery(hash: string) {
  return infiniteQueryOptions({
    queryKey: ['transaction calls', hash],
    queryFn: ({ pageParam, signal }) => get<CallPage>(`transactions/${hash}/calls${afterQuery(pageParam)}`, signal),
    initialPageParam: undefined as number | undefined,
    getNextPageParam: ({ next }) => next ?? undefined,
    ...FINAL,
  })
}

export function stateChangesQuery(hash: string) {
  return queryOptions({
    queryKey: ['state changes', hash],
    queryFn: ({ signal }) => get<StateChanges>(`transactions/${hash}/state-changes`, signal),
    ...FINAL,
  })
}

export function contractQuery(address: string) {
  return queryOptions({
    queryKey: ['contract', address],
    queryFn: ({ signal }) => get<ContractDetail>(`contracts/${address}`, signal),
  })
}

/** A list of logs, internal calls or contracts, by its path, which may have a query of its own. */
export function placeListQuery<T>(path: string, before?: string) {
  const part = pageQuery(before, LIST)
  return queryOptions({
    queryKey: ['place list', path, before ?? 'newest'],
    queryFn: ({ signal }) =>
      get<Page<T, string>>(`${path}${path.includes('?') ? part.replace('?', '&') : part}`, signal),
    placeholderData: keepPreviousData,
  })
}

export const networkQuery = queryOptions({
  queryKey: ['network'],
  queryFn: ({ signal }) => get<Network>('network', signal),
  refetchInterval: 10_000,
})

export function nodesQuery(isVerified: boolean, before?: number) {
  return queryOptions({
    queryKey: ['nodes', isVerified, before ?? 'newest'],
    queryFn: ({ signal }) =>
      get<Page<NetworkNode>>(`network/nodes${pageQuery(before, LIST)}&verified=${isVerified}`, signal),
    placeholderData: keepPreviousData,
    refetchInterval: 10_000,
  })
}

export async function search(text: string): Promise<readonly Found[]> {
  const { items } = await get<{ readonly items: readonly Found[] }>(
    `search?q=${encodeURIComponent(text)}`,
    AbortSignal.timeout(10_000),
  )
  return items
}
