import { eventsOfEntry } from '../../app/entryEvents.ts'
import { entryHash } from '../../chain/entryKind.ts'
import { hexToBytes, toBuffer } from '../../primitives/bytes.ts'
import { type EventCondition, type EventQuery, heightRange, indexTerms } from './eventQuery.ts'
import { matchesSearch } from './matchesSearch.ts'
import { lowestSearched, MAX_FOUND, type SearchChain, type SearchOptions, tooMany } from './search.ts'

/** Where a transaction is: its position is that in data.txs. */
export interface FoundTransaction {
  readonly height: number
  readonly position: number
}

/** Keys that every transaction has and no index holds. */
const OWN_KEYS: ReadonlySet<string> = new Set(['tm.event', 'tx.height', 'tx.hash'])

/**
 * Transactions of both kinds whose events meet a query, oldest first (state/txindex/kv of CometBFT).
 * @throws SearchError when there are too many
 */
export async function findTransactions(
  chain: SearchChain,
  query: EventQuery,
  { pause }: SearchOptions,
): Promise<readonly FoundTransaction[]> {
  const [low, high] = heightRange(query, 'tx.height', lowestSearched(chain), chain.headHeight)
  const hash = hashIn(query)
  if (hash !== undefined) {
    const at = locateTransaction(chain, hash)
    return at !== undefined && at.height >= low && at.height <= high && isMatch(chain, at, query) ? [at] : []
  }
  const found: FoundTransaction[] = []
  if (low > high) return found
  for await (const height of chain.eventHeights(indexTerms(query, OWN_KEYS), low, high)) {
    await pause()
    for (let position = 0; position < (chain.entryResults(height)?.length ?? 0); position++) {
      if (!isMatch(chain, { height, position }, query)) continue
      if (found.length >= MAX_FOUND) throw tooMany()
      found.push({ height, position })
    }
  }
  return found
}

/** Where a transaction is, by the hash of a native one or of an EVM one. */
export function locateTransaction(
  chain: Pick<SearchChain, 'locate' | 'locateNative' | 'entryResults'>,
  hash: Uint8Array,
): FoundTransaction | undefined {
  const native = chain.locateNative(hash)
  if (native !== undefined) return native
  const evm = chain.locate(hash)
  if (evm === undefined) return undefined
  const position = chain
    .entryResults(evm.height)
    ?.findIndex((entry) => entry.kind === 'evm' && entry.index === evm.index)
  return position === undefined || position < 0 ? undefined : { height: evm.height, position }
}

function isMatch(chain: SearchChain, { height, position }: FoundTransaction, query: EventQuery): boolean {
  const entry = chain.entryResults(height)?.[position]
  const raw = chain.consensusBlock(height)?.txs[position]
  // What could not start is in the block's data, but is no transaction of it.
  if (entry === undefined || raw === undefined || entry.kind === 'skipped') return false
  const wantsHash = query.conditions.some(({ key }) => key === 'tx.hash')
  const own = {
    'tm.event': 'Tx',
    'tx.height': String(height),
    ...(wantsHash ? { 'tx.hash': toBuffer(entryHash(raw)).toString('hex').toUpperCase() } : {}),
  }
  return matchesSearch(upperCaseHash(query), eventsOfEntry(entry), own)
}

/** Hashes are compared in capitals, with or without 0x. */
function upperCaseHash(query: EventQuery): EventQuery {
  return { ...query, conditions: query.conditions.map(withUpperCaseHash) }
}

function withUpperCaseHash(condition: EventCondition): EventCondition {
  const { key } = condition
  if (key !== 'tx.hash' || condition.operator !== '=' || typeof condition.operand !== 'string') return condition
  return { key, operator: '=', operand: condition.operand.replace(/^0x/i, '').toUpperCase() }
}

/** The hash that the query asks for, if it asks for one. */
function hashIn({ conditions }: EventQuery): Uint8Array | undefined {
  for (const condition of conditions) {
    if (condition.key !== 'tx.hash' || condition.operator !== '=' || typeof condition.operand !== 'string') continue
    const digits = condition.operand.replace(/^0x/i, '')
    if (/^[0-9a-fA-F]{64}$/.test(digits)) return hexToBytes(`0x${digits}`)
  }
  return undefined
}
