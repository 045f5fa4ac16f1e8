import { type EventCondition, type EventQuery, heightRange, indexTerms } from './eventQuery.ts'
import { matchesSearch } from './matchesSearch.ts'
import { lowestSearched, MAX_FOUND, type SearchChain, type SearchOptions, tooMany } from './search.ts'

/** Heights that a search found, ascending. */
export interface FoundBlocks {
  readonly count: number
  /** @param index from 0 to `count` - 1 */
  heightAt(index: number): number
}

const OWN_KEYS: ReadonlySet<string> = new Set(['tm.event', 'block.height'])

/**
 * Heights of blocks whose own events (of begin and end, not of transactions) meet a query, ascending (state/indexer/block/kv of CometBFT).
 * @throws SearchError when there are too many
 */
export async function findBlocks(
  chain: SearchChain,
  query: EventQuery,
  { pause }: SearchOptions,
): Promise<FoundBlocks> {
  const [low, high] = heightRange(query, 'block.height', lowestSearched(chain), chain.headHeight)
  if (low > high) return { count: 0, heightAt: () => Number.NaN }
  // Every block of the chain may be asked for: the range says it all.
  if (query.conditions.every(isOfEveryBlock)) return { count: high - low + 1, heightAt: (index) => low + index }
  const found: number[] = []
  for await (const height of chain.eventHeights(indexTerms(query, OWN_KEYS), low, high)) {
    await pause()
    const events = chain.blockEvents(height)
    if (events === undefined) continue
    const own = { 'tm.event': 'NewBlock', 'block.height': String(height) }
    if (!matchesSearch(query, [...events.begin, ...events.end], own)) continue
    if (found.length >= MAX_FOUND) throw tooMany()
    found.push(height)
  }
  return { count: found.length, heightAt: (index) => found[index]! }
}

/** Whether a condition holds for every block within the range of heights. */
function isOfEveryBlock(condition: EventCondition): boolean {
  if (condition.operator === 'EXISTS') return OWN_KEYS.has(condition.key)
  const { key, operator, operand } = condition
  if (typeof operand === 'string') return key === 'tm.event' && operator === '=' && operand === 'NewBlock'
  return key === 'block.height' && operand.kind === 'number'
}
