import { entryHash, type NativeEvent } from '../../chain/block/entries.ts'
import { ENVELOPE_HASH_KEY, type EventTerm } from '../../chain/indexes/eventIndex.ts'
import type { ChainReader } from '../../chain/store/chainReader.ts'
import { eventsOfEntry } from '../../execution/entryEvents.ts'
import { bytesToUpperHex, equalBytes, hexToBytes, toBuffer } from '../../primitives/bytes.ts'
import { sha256 } from '../../primitives/hash.ts'
import {
  type EventCondition,
  type EventQuery,
  eventValues,
  heightRange,
  indexTerms,
  matchesEvents,
} from './eventQuery.ts'

/** The chain's data that searches read. */
export type SearchChain = Pick<
  ChainReader,
  | 'headHeight'
  | 'oldestBlock'
  | 'indexedFrom'
  | 'consensusBlock'
  | 'entryResults'
  | 'blockEvents'
  | 'eventHeights'
  | 'locate'
  | 'locateNative'
>

interface SearchOptions {
  /**
   * awaited between blocks, and while the index is read: lets other work run, and throws when the
   * time is over
   */
  readonly pause: () => Promise<void>
}

/**
 * A search that finds too much, or that would miss results. The message says what the client can
 * do.
 */
export class SearchError extends Error {
  override readonly name = 'SearchError'
  readonly reason: 'too many' | 'not indexed'

  constructor(reason: SearchError['reason'], message: string) {
    super(message)
    this.reason = reason
  }
}

/** Most results of one search; the answer is one page. */
const MAX_FOUND = 100_000

/** Position of a transaction: the block's height, and the index in data.txs. */
export interface FoundTransaction {
  readonly height: number
  readonly position: number
}

/** Keys that every transaction has; they are not in the index. */
const TX_OWN_KEYS: ReadonlySet<string> = new Set(['tm.event', 'tx.height', 'tx.hash'])
/** An attribute of every transaction, by which blocks without transactions are skipped. */
const ANY_TRANSACTION: EventTerm = { key: 'tx.fee' }

/**
 * Finds the transactions of both kinds whose events match a query, oldest first (state/txindex/kv
 * of CometBFT).
 * @throws SearchError when there are too many, or when some blocks are not in the index
 */
export async function findTransactions(
  chain: SearchChain,
  query: EventQuery,
  { pause }: SearchOptions,
): Promise<readonly FoundTransaction[]> {
  const [low, high] = searchedRange(chain, query, 'transaction')
  const requested = hashIn(query)
  if (requested !== undefined) {
    const at = await locateTransaction(chain, requested.hash)
    const rest = { ...query, conditions: query.conditions.filter((condition) => condition !== requested.condition) }
    return at !== undefined && at.height >= low && at.height <= high && isMatch(chain, at, rest) ? [at] : []
  }
  const found: FoundTransaction[] = []
  if (low > high) return found
  const ownTerms = indexTerms(query, TX_OWN_KEYS)
  const terms = ownTerms.length > 0 ? ownTerms : [ANY_TRANSACTION]
  for await (const height of candidateHeights(chain, 'transaction', terms, low, high, pause)) {
    await pause()
    for (let position = 0; position < (chain.entryResults(height)?.length ?? 0); position++) {
      if (!isMatch(chain, { height, position }, query)) continue
      if (found.length >= MAX_FOUND) throw tooMany()
      found.push({ height, position })
    }
  }
  return found
}

/**
 * Locates a transaction by the hash of a native one or of an EVM one; or by the sha256 of an EVM
 * one, which Cosmos clients use as its hash.
 */
export async function locateTransaction(chain: SearchChain, hash: Uint8Array): Promise<FoundTransaction | undefined> {
  const native = chain.locateNative(hash)
  if (native !== undefined) return native
  const evm = chain.locate(hash)
  if (evm === undefined) return locateEnvelope(chain, hash)
  const position = chain
    .entryResults(evm.height)
    ?.findIndex((entry) => entry.kind === 'evm' && entry.index === evm.index)
  return position === undefined || position < 0 ? undefined : { height: evm.height, position }
}

async function locateEnvelope(chain: SearchChain, hash: Uint8Array): Promise<FoundTransaction | undefined> {
  const term = { key: ENVELOPE_HASH_KEY, value: toBuffer(hash).toString('hex') }
  for await (const height of chain.eventHeights([term], lowestSearched(chain), chain.headHeight)) {
    const position = chain
      .entryResults(height)
      ?.findIndex((entry) => entry.kind === 'evm' && equalBytes(sha256(entry.signed.transaction.raw), hash))
    if (position !== undefined && position >= 0) return { height, position }
  }
  return undefined
}

/** Heights that a search found, ascending. */
interface FoundBlocks {
  readonly count: number
  /** @param index from 0 to `count` - 1 */
  heightAt(index: number): number
}

const BLOCK_OWN_KEYS: ReadonlySet<string> = new Set(['tm.event', 'block.height'])

/**
 * Finds the heights of blocks whose own events (of begin and end, not of transactions) match a
 * query, ascending (state/indexer/block/kv of CometBFT).
 * @throws SearchError when there are too many, or when some blocks are not in the index
 */
export async function findBlocks(
  chain: SearchChain,
  query: EventQuery,
  { pause }: SearchOptions,
): Promise<FoundBlocks> {
  const [low, high] = searchedRange(chain, query, 'block')
  if (low > high) return { count: 0, heightAt: () => Number.NaN }
  // A query for heights alone needs no list: it may match every block of the chain.
  if (query.conditions.every(isOfEveryBlock)) return { count: high - low + 1, heightAt: (index) => low + index }
  const found: number[] = []
  const terms = indexTerms(query, BLOCK_OWN_KEYS)
  for await (const height of candidateHeights(chain, 'block', terms, low, high, pause)) {
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

/** Whether every block within the range of heights meets a condition. */
function isOfEveryBlock(condition: EventCondition): boolean {
  if (condition.operator === 'EXISTS') return BLOCK_OWN_KEYS.has(condition.key)
  const { key, operator, operand } = condition
  if (typeof operand === 'string') return key === 'tm.event' && operator === '=' && operand === 'NewBlock'
  return key === 'block.height' && operand.kind === 'number'
}

/**
 * Yields the heights of blocks to search, as the index names them. A single block is read without
 * the index; without terms, all blocks are read.
 * @throws SearchError when some of the blocks are not in the index (CometBFT with the indexer
 *   "null" refuses with the same first words)
 */
async function* candidateHeights(
  chain: SearchChain,
  what: 'transaction' | 'block',
  terms: readonly EventTerm[],
  low: number,
  high: number,
  pause: () => Promise<void>,
): AsyncIterable<number> {
  if (low === high) {
    yield low
    return
  }
  if (terms.length > 0 && low < chain.indexedFrom) {
    const isOff = !Number.isFinite(chain.indexedFrom)
    const wayOut = `ask for one block (${OWN_HEIGHT[what]}=N) or a hash, or another node`
    throw new SearchError(
      'not indexed',
      isOff
        ? `${what} indexing is disabled: this node keeps no index of events (INDEX=off): ${wayOut}`
        : `blocks below ${chain.indexedFrom} are in no index of events of this node: search from there on ` +
            `(${OWN_HEIGHT[what]}>=${chain.indexedFrom}), ${wayOut}; \`coind reindex\` indexes them`,
    )
  }
  yield* chain.eventHeights(terms, low, high, pause)
}

/** The keys of heights in queries. */
const OWN_HEIGHT = { transaction: 'tx.height', block: 'block.height' } as const

/**
 * Returns the range of heights that a query requests, as far as blocks are retained. Without a
 * lower bound in the query it starts at the lowest such block.
 * @throws SearchError when the query requests lower heights, since their blocks would be missing
 *   from the result
 */
function searchedRange(chain: SearchChain, query: EventQuery, what: 'transaction' | 'block'): [number, number] {
  const key = OWN_HEIGHT[what]
  const lowest = lowestSearched(chain)
  const [first, last] = heightRange(query, key, 1, chain.headHeight)
  if (first <= last && first < lowest && (first > 1 || last < Math.min(lowest, chain.headHeight))) {
    throw new SearchError('not indexed', `the oldest block is ${lowest}: search from there on (${key}>=${lowest})`)
  }
  return heightRange(query, key, lowest, chain.headHeight)
}

/** Returns the lowest block that a search can read. */
function lowestSearched({ oldestBlock }: Pick<SearchChain, 'oldestBlock'>): number {
  return Math.max(1, oldestBlock)
}

function tooMany(): SearchError {
  return new SearchError('too many', `more than ${MAX_FOUND} results: narrow the query, for instance by height`)
}

function isMatch(chain: SearchChain, { height, position }: FoundTransaction, query: EventQuery): boolean {
  const entry = chain.entryResults(height)?.[position]
  const raw = chain.consensusBlock(height)?.txs[position]
  // An entry that could not start is in the block's data, but does not count as a transaction.
  if (entry === undefined || raw === undefined || entry.kind === 'skipped') return false
  const wantsHash = query.conditions.some(({ key }) => key === 'tx.hash')
  const own = {
    'tm.event': 'Tx',
    'tx.height': String(height),
    ...(wantsHash ? { 'tx.hash': bytesToUpperHex(entryHash(raw)) } : {}),
  }
  return matchesSearch(upperCaseHash(query), eventsOfEntry(entry), own)
}

/** Converts the query's hash to capitals, in which hashes are compared, with or without 0x. */
function upperCaseHash(query: EventQuery): EventQuery {
  return { ...query, conditions: query.conditions.map(withUpperCaseHash) }
}

function withUpperCaseHash(condition: EventCondition): EventCondition {
  const { key } = condition
  if (key !== 'tx.hash' || condition.operator !== '=' || typeof condition.operand !== 'string') return condition
  return { key, operator: '=', operand: condition.operand.replace(/^0x/i, '').toUpperCase() }
}

/**
 * Returns the hash that the query requires, and the condition with it; undefined when it requires
 * none.
 */
function hashIn({
  conditions,
}: EventQuery): { readonly hash: Uint8Array; readonly condition: EventCondition } | undefined {
  for (const condition of conditions) {
    if (condition.key !== 'tx.hash' || condition.operator !== '=' || typeof condition.operand !== 'string') continue
    const digits = condition.operand.replace(/^0x/i, '')
    if (/^[0-9a-fA-F]{64}$/.test(digits)) return { hash: hexToBytes(`0x${digits}`), condition }
  }
  return undefined
}

/**
 * Whether events match a search. As in CometBFT's index (state/txindex/kv), conditions on the
 * attributes of one type of event have to be met by one and the same event. Unlike there,
 * conditions on several types may be met by one event of each.
 * @param own values that belong to no event, like `tx.height`
 */
export function matchesSearch(
  { conditions }: Pick<EventQuery, 'conditions'>,
  events: readonly NativeEvent[],
  own: Readonly<Record<string, string>>,
): boolean {
  const isOwn = ({ key }: EventCondition): boolean => Object.hasOwn(own, key)
  if (!matchesEvents({ conditions: conditions.filter(isOwn) }, eventValues([], own))) return false
  const byType = Map.groupBy(
    conditions.filter((condition) => !isOwn(condition)),
    ({ key }) => key.slice(0, Math.max(0, key.lastIndexOf('.'))),
  )
  return [...byType].every(([type, together]) =>
    events.some((event) => event.type === type && matchesEvents({ conditions: together }, eventValues([event]))),
  )
}
