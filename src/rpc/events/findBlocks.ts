import { type EventQuery, heightRange, indexTerms } from './eventQuery.ts'
import { matchesSearch } from './matchesSearch.ts'
import { lowestSearched, MAX_FOUND, type SearchChain, type SearchOptions, tooMany } from './search.ts'

const OWN_KEYS: ReadonlySet<string> = new Set(['tm.event', 'block.height'])

/**
 * Heights of blocks whose own events (of begin and end, not of transactions) meet a query, ascending (state/indexer/block/kv of CometBFT).
 * @throws SearchError when there are too many
 */
export async function findBlocks(
  chain: SearchChain,
  query: EventQuery,
  { pause }: SearchOptions,
): Promise<readonly number[]> {
  const [low, high] = heightRange(query, 'block.height', lowestSearched(chain), chain.headHeight)
  const found: number[] = []
  if (low > high) return found
  for await (const height of chain.eventHeights(indexTerms(query, OWN_KEYS), low, high)) {
    await pause()
    const events = chain.blockEvents(height)
    if (events === undefined) continue
    const own = { 'tm.event': 'NewBlock', 'block.height': String(height) }
    if (!matchesSearch(query, [...events.begin, ...events.end], own)) continue
    if (found.length >= MAX_FOUND) throw tooMany()
    found.push(height)
  }
  return found
}
