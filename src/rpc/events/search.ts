import type { ChainReader } from '../../chain/store.ts'

/** A search over so much that it has no useful answer. The message tells the client what to do. */
export class SearchError extends Error {
  override readonly name = 'SearchError'
}

/** Found entries that one answer is chosen from, at most. */
export const MAX_FOUND = 100_000

export interface SearchOptions {
  /** called between blocks: it may let others work, and throws when the time is over */
  readonly pause: () => Promise<void>
}

/** What searches read of the chain. */
export type SearchChain = Pick<
  ChainReader,
  | 'headHeight'
  | 'oldestBlock'
  | 'consensusBlock'
  | 'entryResults'
  | 'blockEvents'
  | 'eventHeights'
  | 'locate'
  | 'locateNative'
>

/** Lowest block that a search can look into. */
export function lowestSearched({ oldestBlock }: Pick<SearchChain, 'oldestBlock'>): number {
  return Math.max(1, oldestBlock)
}

export function tooMany(): SearchError {
  return new SearchError(`more than ${MAX_FOUND} results: narrow the query, for instance by height`)
}
