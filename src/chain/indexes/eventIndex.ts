import { type Address, moduleAddress, parseAddress } from '../../primitives/address.ts'
import { sha256 } from '../../primitives/hash.ts'
import { Column, columnKey, HEIGHT_BYTES, heightBytes } from '../../storage/columns.ts'
import type { DatabaseReader } from '../../storage/database.ts'
import { type BlockEvents, evmTransfers, type NativeEvent, type StoredEntry } from '../block/entries.ts'
import { hashedHeights, indexedHeights, type TermMemo } from './termHeights.ts'

/**
 * The index of events maps a term (a kind byte and 6 bytes) to the heights of blocks that contain it. It may name blocks that do not
 * match, but never misses one that does; readers check the events themselves.
 */
const TERM_BYTES = 7

/** An attribute of an event. Its key includes the event's type: `transfer.sender`. Without a value: any value. */
export interface EventTerm {
  readonly key: string
  readonly value?: string
}

/**
 * Every EVM transaction has the same few bank events, so these must not have many index entries: of their attributes only accounts are
 * indexed, and an account has one term for all its roles.
 */
const Kind = { bank: 0, account: 1, attribute: 2, key: 3, envelope: 4 } as const

/**
 * A key in addition to those of events. Its values are the sha256 of the bytes of EVM transactions, in hex, which Cosmos clients use
 * as the hash of every entry of data.txs.
 */
export const ENVELOPE_HASH_KEY = 'tx.sha256'

/** Attributes that name accounts, in the events of a bank transfer and a fee. */
const ACCOUNT_KEYS: ReadonlySet<string> = new Set([
  'coin_spent.spender',
  'coin_received.receiver',
  'transfer.recipient',
  'transfer.sender',
  'message.sender',
  'tx.fee_payer',
])
/** All attributes of those events. */
const BANK_KEYS: ReadonlySet<string> = new Set([
  ...ACCOUNT_KEYS,
  'coin_spent.amount',
  'coin_received.amount',
  'transfer.amount',
  'tx.fee',
])
const FEE_COLLECTOR = moduleAddress('fee_collector')
const BANK_TERM = new Uint8Array(TERM_BYTES)

/** Prefix of all keys of `ENVELOPE_HASH_KEY`. */
export const ENVELOPE_TERMS = columnKey(Column.eventTerm, Uint8Array.of(Kind.envelope))

/** The term contains the end of an address, because many vanity addresses begin with the same bytes. */
const ADDRESS_START = 20 - (TERM_BYTES - 1)

function eventTerm(kind: number, bytes: Uint8Array): Uint8Array {
  const term = new Uint8Array(TERM_BYTES)
  term[0] = kind
  term.set(bytes, 1)
  return term
}

function hashTerm(kind: number, text: string): Uint8Array {
  return eventTerm(kind, sha256(new TextEncoder().encode(text)).subarray(0, TERM_BYTES - 1))
}

/** Returns the term of an attribute in the index. */
function termOf({ key, value }: EventTerm): Uint8Array {
  if (key === ENVELOPE_HASH_KEY && value !== undefined) return envelopeTerm(Buffer.from(value, 'hex'))
  if (!BANK_KEYS.has(key)) {
    return value === undefined ? hashTerm(Kind.key, key) : hashTerm(Kind.attribute, `${key}=${value}`)
  }
  const account = value !== undefined && ACCOUNT_KEYS.has(key) ? accountOf(value) : undefined
  return account === undefined ? BANK_TERM : eventTerm(Kind.account, account.subarray(ADDRESS_START))
}

function envelopeTerm(hash: Uint8Array): Uint8Array {
  return eventTerm(Kind.envelope, hash.subarray(0, TERM_BYTES - 1))
}

function accountOf(text: string): Address | undefined {
  try {
    return parseAddress(text)
  } catch (error) {
    if (error instanceof TypeError) return undefined
    throw error
  }
}

/**
 * Returns the keys under which the EVM transactions of a block are found by the sha256 of their
 * bytes.
 */
export function envelopeKeys(height: number, entries: readonly StoredEntry[]): Uint8Array[] {
  const suffix = heightBytes(height)
  const keys: Uint8Array[] = []
  for (const entry of entries) {
    if (entry.kind === 'evm') keys.push(termKey(Kind.envelope, sha256(entry.signed.transaction.raw), 0, suffix))
  }
  return keys
}

/**
 * Returns the keys of the index entries for a block's events, except {@link envelopeKeys}. Accounts
 * of transfers have a faster path, because a full block has thousands of them.
 */
export function eventIndexKeys(
  height: number,
  entries: readonly StoredEntry[],
  { begin, end }: BlockEvents,
): Uint8Array[] {
  const suffix = heightBytes(height)
  const keys: Uint8Array[] = []
  const accounts = new Set<number>()
  const addAccount = (address: Address): void => {
    const { size } = accounts
    if (accounts.add(accountNumber(address)).size > size)
      keys.push(termKey(Kind.account, address, ADDRESS_START, suffix))
  }
  let hasBank = false
  const addTerm = (item: EventTerm): void => {
    const term = termOf(item)
    if (term === BANK_TERM) hasBank = true
    else keys.push(columnKey(Column.eventTerm, term, suffix))
  }
  /** values that were seen, by type and key of their attributes; those of accounts together, because an account has one term */
  const seenValues = new Map<string, Map<string, Set<string>>>()
  const accountTexts = new Set<string>()
  const addEvents = (events: readonly NativeEvent[]): void => {
    for (const { type, attributes } of events) {
      const byKey = seenValues.get(type) ?? new Map<string, Set<string>>()
      seenValues.set(type, byKey)
      for (const { key, value } of attributes) {
        let values = byKey.get(key)
        if (values === undefined) {
          const name = `${type}.${key}`
          values = ACCOUNT_KEYS.has(name) ? accountTexts : new Set<string>()
          byKey.set(key, values)
          addTerm({ key: name })
        }
        const { size } = values
        if (values.add(value).size > size) addTerm({ key: `${type}.${key}`, value })
      }
    }
  }

  let hasEvm = false
  for (const entry of entries) {
    if (entry.kind === 'native') addEvents(entry.result.events)
    if (entry.kind !== 'evm') continue
    hasEvm = true
    addAccount(entry.signed.sender)
    for (const { from, to } of evmTransfers(entry)) {
      if (from !== entry.signed.sender) addAccount(from)
      addAccount(to)
    }
    addEvents(entry.events)
  }
  addEvents(begin)
  addEvents(end)
  if (hasEvm) addAccount(FEE_COLLECTOR)
  if (hasEvm || hasBank) keys.push(columnKey(Column.eventTerm, BANK_TERM, suffix))
  return keys
}

/** Returns the part of an address that is in its term, as a number. */
function accountNumber(address: Address): number {
  let high = 0
  for (let i = ADDRESS_START; i < 17; i++) high = high * 256 + address[i]!
  return high * 0x1_00_00_00 + address[17]! * 0x1_00_00 + address[18]! * 0x1_00 + address[19]!
}

/** Like `columnKey` with the term of this kind and these bytes, from `start` on. */
function termKey(kind: number, bytes: Uint8Array, start: number, suffix: Uint8Array): Uint8Array {
  const key = new Uint8Array(1 + TERM_BYTES + HEIGHT_BYTES)
  key[0] = Column.eventTerm
  key[1] = kind
  for (let i = 0; i < TERM_BYTES - 1; i++) key[2 + i] = bytes[start + i]!
  for (let i = 0; i < HEIGHT_BYTES; i++) key[1 + TERM_BYTES + i] = suffix[i]!
  return key
}

/** Times that a list is asked for its next height, at most 64 entries each, between two pauses. */
const STEPS_PER_PAUSE = 32

/**
 * Yields the heights in [from, to], ascending, whose blocks contain every term; all heights when
 * there is no term.
 * @param pause awaited again and again while lists have nothing in common; if it throws, the search
 * ends
 */
export async function* indexedEventHeights(
  db: DatabaseReader,
  terms: readonly EventTerm[],
  from: number,
  to: number,
  pause?: () => Promise<void>,
): AsyncIterable<number> {
  if (terms.length === 0) {
    for (let height = from; height <= to; height++) yield height
    return
  }
  const lists = terms.map((item) => new HeightList(db, termOf(item), { from, to, pause }))
  try {
    let height = from
    for (let agreeing = 0, next = 0, steps = 1; ; next = (next + 1) % lists.length, steps++) {
      if (steps % STEPS_PER_PAUSE === 0) await pause?.()
      const found = await lists[next]!.firstFrom(height)
      if (found === undefined) return
      agreeing = found === height ? agreeing + 1 : 1
      height = found
      if (agreeing < lists.length) continue
      yield height
      height++
      agreeing = 0
    }
  } finally {
    for (const list of lists) await list.close()
  }
}

/** How many heights are skipped one by one; after that the list is opened again at the requested height. */
const MAX_SKIPPED = 64

/** The ascending heights of one term. */
class HeightList {
  readonly #db: DatabaseReader
  readonly #term: Uint8Array
  readonly #to: number
  readonly #pause: (() => Promise<void>) | undefined
  readonly #memo: TermMemo = {}
  #heights: AsyncIterator<number>

  constructor(
    db: DatabaseReader,
    term: Uint8Array,
    range: { readonly from: number; readonly to: number; readonly pause: (() => Promise<void>) | undefined },
  ) {
    this.#db = db
    this.#term = term
    this.#to = range.to
    this.#pause = range.pause
    this.#heights = this.#open(range.from)
  }

  /** Returns the next height that is not below `least`; `least` must not decrease between calls. */
  async firstFrom(least: number): Promise<number | undefined> {
    for (let skipped = 0; ; skipped++) {
      if (skipped === MAX_SKIPPED) {
        await this.close()
        this.#heights = this.#open(least)
      }
      const { done, value } = await this.#heights.next()
      if (done === true) return undefined
      if (value >= least) return value
    }
  }

  async close(): Promise<void> {
    await this.#heights.return?.()
  }

  #open(from: number): AsyncIterator<number> {
    const term = columnKey(Column.eventTerm, this.#term)
    const heights =
      this.#term[0] === Kind.envelope
        ? hashedHeights(this.#db, term, this.#term.subarray(1), { from, to: this.#to })
        : indexedHeights(this.#db, term, from, this.#to, { pause: this.#pause, memo: this.#memo })
    return heights[Symbol.asyncIterator]()
  }
}
