import { type Address, moduleAddress, parseAddress } from '../primitives/address.ts'
import { bytesKey } from '../primitives/bytes.ts'
import { sha256 } from '../primitives/hash.ts'
import { Column, columnKey, heightBytes, readHeight } from '../storage/columns.ts'
import type { DatabaseReader } from '../storage/database.ts'
import type { BlockEvents, StoredEntry } from './entryResult.ts'
import { evmTransfers } from './evmTransfers.ts'
import type { NativeEvent } from './nativeEvent.ts'
import type { EventTerm } from './reader.ts'

/**
 * The index of events maps a term to the heights of blocks that hold it: a kind byte and 8 bytes. It may name blocks that
 * don't hold what is looked for, never the other way round; readers look at the events.
 */
const TERM_BYTES = 9

/**
 * Every EVM transaction moves coins and makes the same few bank events, so those cost as little as they can: of their
 * attributes only accounts are indexed, one term for an account whatever its part in the block was.
 */
const Kind = { bank: 0, party: 1, attribute: 2, key: 3 } as const

/** Attributes that are accounts, in the events of a bank transfer and a fee. */
const PARTY_KEYS: ReadonlySet<string> = new Set([
  'coin_spent.spender',
  'coin_received.receiver',
  'transfer.recipient',
  'transfer.sender',
  'message.sender',
  'tx.fee_payer',
])
/** All attributes of those events. */
const BANK_KEYS: ReadonlySet<string> = new Set([
  ...PARTY_KEYS,
  'coin_spent.amount',
  'coin_received.amount',
  'transfer.amount',
  'tx.fee',
])
const FEE_COLLECTOR = moduleAddress('fee_collector')
const BANK_TERM = new Uint8Array(TERM_BYTES)

function term(kind: number, bytes: Uint8Array): Uint8Array {
  const made = new Uint8Array(TERM_BYTES)
  made[0] = kind
  made.set(bytes.subarray(0, TERM_BYTES - 1), 1)
  return made
}

function hashTerm(kind: number, text: string): Uint8Array {
  return term(kind, sha256(new TextEncoder().encode(text)))
}

/** Under which blocks with such an attribute are found. */
function termOf({ key, value }: EventTerm): Uint8Array {
  if (!BANK_KEYS.has(key)) {
    return value === undefined ? hashTerm(Kind.key, key) : hashTerm(Kind.attribute, `${key}=${value}`)
  }
  const party = value !== undefined && PARTY_KEYS.has(key) ? accountOf(value) : undefined
  return party === undefined ? BANK_TERM : term(Kind.party, party)
}

function accountOf(text: string): Address | undefined {
  try {
    return parseAddress(text)
  } catch (error) {
    if (error instanceof TypeError) return undefined
    throw error
  }
}

/** Keys of the index entries for a block, each once. */
export function eventIndexKeys(
  height: number,
  entries: readonly StoredEntry[],
  { begin, end }: BlockEvents,
): Uint8Array[] {
  const terms = new Map<string, Uint8Array>()
  const seen = new Set<string>()
  const add = (made: Uint8Array): void => void terms.set(bytesKey(made), made)
  const addParty = (address: Address): void => {
    const name = bytesKey(address)
    if (seen.has(name)) return
    seen.add(name)
    add(term(Kind.party, address))
  }
  const addText = (key: string, value?: string): void => {
    const name = value === undefined ? key : `${key}=${value}`
    if (seen.has(name)) return
    seen.add(name)
    add(termOf(value === undefined ? { key } : { key, value }))
  }
  const addEvents = (events: readonly NativeEvent[]): void => {
    for (const { type, attributes } of events) {
      for (const { key, value } of attributes) {
        addText(`${type}.${key}`)
        addText(`${type}.${key}`, value)
      }
    }
  }

  for (const entry of entries) {
    if (entry.kind === 'native') addEvents(entry.result.events)
    if (entry.kind !== 'evm') continue
    addParty(entry.signed.sender)
    for (const { from, to } of evmTransfers(entry)) {
      addParty(from)
      addParty(to)
    }
    addEvents(entry.events)
  }
  if (entries.some(({ kind }) => kind === 'evm')) {
    addParty(FEE_COLLECTOR)
    add(BANK_TERM)
  }
  addEvents(begin)
  addEvents(end)
  const suffix = heightBytes(height)
  return [...terms.values()].map((made) => columnKey(Column.eventTerm, made, suffix))
}

/** Heights in [from, to], ascending, whose blocks hold every term; all of them when there is none. */
export async function* indexedEventHeights(
  db: DatabaseReader,
  terms: readonly EventTerm[],
  from: number,
  to: number,
): AsyncIterable<number> {
  if (terms.length === 0) {
    for (let height = from; height <= to; height++) yield height
    return
  }
  const lists = terms.map((item) => heightsOf(db, termOf(item), from, to)[Symbol.asyncIterator]())
  try {
    let height = from
    for (let agreeing = 0, next = 0; ; next = (next + 1) % lists.length) {
      const found = await firstFrom(lists[next]!, height)
      if (found === undefined) return
      agreeing = found === height ? agreeing + 1 : 1
      height = found
      if (agreeing < lists.length) continue
      yield height
      height++
      agreeing = 0
    }
  } finally {
    for (const list of lists) await list.return?.()
  }
}

/** The next of a list's heights that is not below `least`. */
async function firstFrom(list: AsyncIterator<number>, least: number): Promise<number | undefined> {
  for (;;) {
    const { done, value } = await list.next()
    if (done === true) return undefined
    if (value >= least) return value
  }
}

async function* heightsOf(db: DatabaseReader, made: Uint8Array, from: number, to: number): AsyncIterable<number> {
  const start = columnKey(Column.eventTerm, made, heightBytes(from))
  const end = columnKey(Column.eventTerm, made, heightBytes(to + 1))
  for await (const [key] of db.entries({ start, end })) yield readHeight(key, 1 + TERM_BYTES)
}
