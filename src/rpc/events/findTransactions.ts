import { eventsOfEntry } from '../../app/entryEvents.ts'
import { entryHash } from '../../chain/entries.ts'
import { ENVELOPE_HASH_KEY, type EventTerm } from '../../chain/eventIndex.ts'
import { equalBytes, hexToBytes, toBuffer } from '../../primitives/bytes.ts'
import { sha256 } from '../../primitives/hash.ts'
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
/** What every transaction has, so that blocks without any are passed over. */
const ANY_TRANSACTION: EventTerm = { key: 'tx.fee' }

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
  const asked = hashIn(query)
  if (asked !== undefined) {
    const at = await locateTransaction(chain, asked.hash)
    const rest = { ...query, conditions: query.conditions.filter((condition) => condition !== asked.condition) }
    return at !== undefined && at.height >= low && at.height <= high && isMatch(chain, at, rest) ? [at] : []
  }
  const found: FoundTransaction[] = []
  if (low > high) return found
  const terms = indexTerms(query, OWN_KEYS)
  for await (const height of chain.eventHeights(terms.length > 0 ? terms : [ANY_TRANSACTION], low, high)) {
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
 * Where a transaction is, by the hash of a native one or of an EVM one; or by the sha256 of an EVM one, which is what Cosmos clients
 * take for its hash.
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

/** The hash that the query asks for, if it asks for one, and where it does. */
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
