import { bloomBits, bloomMayContainAny, isEmptyBloom, type Log } from '../../chain/block/receipt.ts'
import type { ChainReader } from '../../chain/store/chainReader.ts'
import { bytesKey } from '../../primitives/bytes.ts'
import { readBlockLogs } from '../eth/logs.ts'
import type { LogFilter } from '../params/logFilter.ts'
import type { ClientBudget } from '../transport/clientBudget.ts'
import { type NotificationEnd, notificationEnd } from '../transport/socketProtocol.ts'
import { deliveryWork, type NotificationSubscriber, type NotificationWork } from './notificationWork.ts'

/**
 * Returns the part of a notification that all subscribers to a result share.
 * @param result JSON text
 */
export function resultEnd(result: string): NotificationEnd {
  return notificationEnd(`${result}}}`)
}

/** Criteria of a log. */
type LogCriteria = Pick<LogFilter, 'addresses' | 'topics'>

/** A range of blocks. */
interface Heights {
  readonly from: number
  /** undefined: open */
  readonly to?: number | undefined
}

/** All log subscriptions of one socket thread. */
export interface LogSubscribers {
  /**
   * Starts a subscription; the returned function ends it. undefined: its criteria exceed the memory budget.
   * @param heights the blocks whose logs the subscriber gets
   */
  add(criteria: LogCriteria, heights: Heights, subscriber: NotificationSubscriber): (() => void) | undefined
  /**
   * Delivers the logs of a block to the subscriptions that they match, in order.
   * @param chain read at once, not after a pause
   * @throws Error (rejects) when the block has no header or no receipts
   */
  notify(
    chain: Pick<ChainReader, 'header' | 'hash' | 'transactions' | 'receipts'>,
    height: number,
    work: NotificationWork,
  ): Promise<void>
}

/**
 * A subscription has up to five lists of alternatives: addresses are position 0, topics are
 * positions 1 to 4. Its keys are the combinations of one alternative from each of several
 * positions, joined. A log has one such combination for a set of positions, so one look-up in a
 * table finds all matching subscriptions with these positions: a new block requires no loop over
 * the alternatives of subscriptions.
 */
interface Subscriber {
  readonly target: NotificationSubscriber
  readonly heights: Heights
  /**
   * the table that has the subscription: the positions that its keys join, and how many topics a
   * log needs
   */
  readonly shape: number
  readonly keys: readonly string[]
  /**
   * positions whose combinations would be too many keys; they are checked after a look-up in the
   * table
   */
  readonly unkeyed: readonly { readonly position: number; readonly wanted: ReadonlySet<string> }[]
  /**
   * bits of the alternatives of each position; undefined when there are too many to check for each
   * block
   */
  readonly bloomBits: readonly Uint16Array[] | undefined
  /** its part of the memory budget */
  readonly bytes: number
}

/**
 * Most keys of a subscription that joins positions. A single position may have more alternatives:
 * all that a request names.
 */
const MAX_JOINED_KEYS = 256

/**
 * The order in which positions become part of the keys: first the positions that are likely to rule
 * out most logs.
 */
const POSITIONS_BY_SELECTIVITY = [4, 3, 2, 0, 1]

/** A shape has one bit for each position in the keys and, above these bits, the number of topics. */
const POSITION_BITS = 5

/**
 * While all subscriptions together have at most this many alternatives, bloom filters may make it
 * unnecessary to read a block's receipts.
 */
const MAX_BLOOM_ALTERNATIVES = 1_000

/**
 * Memory of a subscription, and of one entry of a table or set besides the characters of its key.
 */
const SUBSCRIBER_BYTES = 1_000
const ENTRY_BYTES = 300

/** Work to find the subscriptions that a log matches. */
const LOG_WORK = 20

/** The subscriptions that have each key, for one shape. */
type KeyTable = Map<string, Set<Subscriber>>

/**
 * Creates the log subscriptions of a socket thread.
 * @param budget bytes for the criteria, returned when a subscription ends
 */
export function createLogSubscribers(budget: ClientBudget): LogSubscribers {
  const subscribers = new Set<Subscriber>()
  const tables = new Map<number, KeyTable>()
  /** alternatives of all subscriptions with bloom bits */
  let bloomAlternatives = 0
  let withoutBloomBits = 0

  /** Counts a subscription that starts (1) or ends (-1). */
  const count = ({ bloomBits }: Subscriber, change: 1 | -1): void => {
    if (bloomBits === undefined) withoutBloomBits += change
    else bloomAlternatives += change * bloomBits.reduce((sum, bits) => sum + bits.length / 3, 0)
  }
  const end = (subscriber: Subscriber): void => {
    if (!subscribers.delete(subscriber)) return
    removeKeys(tables, subscriber)
    count(subscriber, -1)
    budget.giveBack(subscriber.target.client, subscriber.bytes)
  }
  const mayMatch = (bloom: Uint8Array): boolean => {
    if (subscribers.size === 0 || isEmptyBloom(bloom)) return false
    // Above this number, reading the block costs less than examining every subscription.
    const isTooMany = withoutBloomBits > 0 || Math.max(bloomAlternatives, subscribers.size) > MAX_BLOOM_ALTERNATIVES
    if (isTooMany) return true
    return subscribers.values().some(({ bloomBits = [] }) => bloomBits.every((bits) => bloomMayContainAny(bloom, bits)))
  }

  return {
    add: (criteria, heights, target) => {
      const subscriber = prepare(criteria, heights, target)
      if (!budget.take(target.client, subscriber.bytes)) return undefined
      subscribers.add(subscriber)
      addKeys(tables, subscriber)
      count(subscriber, 1)
      return () => end(subscriber)
    },
    notify: async (chain, height, work) => {
      if (subscribers.size === 0) return
      const header = chain.header(height)
      if (header === undefined) throw new Error(`block ${height} was published without its header`)
      if (!mayMatch(header.logsBloom)) return
      for (const { log, text } of readBlockLogs(chain, height)) {
        work.spend(LOG_WORK)
        let end: NotificationEnd | undefined
        for (const subscriber of findSubscribers(tables, log)) {
          // Subscriptions may end, and start for later blocks, while others have their turn.
          if (!isWithin(subscriber.heights, height) || !subscribers.has(subscriber)) continue
          end ??= resultEnd(text())
          if (work.spendFor(subscriber.target, deliveryWork(end.length))) subscriber.target.deliver(end)
          const otherTurns = work.pause()
          if (otherTurns !== undefined) await otherTurns
        }
        const otherTurns = work.pause()
        if (otherTurns !== undefined) await otherTurns
      }
    },
  }
}

function isWithin({ from, to = Number.POSITIVE_INFINITY }: Heights, height: number): boolean {
  return from <= height && height <= to
}

/** Prepares everything that matching needs; retains nothing of `criteria` itself. */
function prepare(
  { addresses, topics }: LogCriteria,
  { from, to }: Heights,
  target: NotificationSubscriber,
): Subscriber {
  const lists = [addresses, ...topics].map((alternatives) => [...new Set(alternatives.map(bytesKey))])
  const alternatives = lists.reduce((sum, list) => sum + list.length, 0)
  const keyed = keyedPositions(lists)
  let keys = ['']
  for (const position of keyed) keys = keys.flatMap((start) => lists[position]!.map((item) => start + item))
  const unkeyed = lists.flatMap((list, position) =>
    list.length === 0 || keyed.includes(position) ? [] : [{ position, wanted: new Set(list) }],
  )
  const entries = [...keys, ...unkeyed.flatMap(({ wanted }) => [...wanted])]
  return {
    target,
    heights: { from, to },
    shape: keyed.reduce((bits, position) => bits | (1 << position), topics.length << POSITION_BITS),
    keys,
    unkeyed,
    bloomBits:
      alternatives > MAX_BLOOM_ALTERNATIVES
        ? undefined
        : [addresses, ...topics].filter(({ length }) => length > 0).map(bloomBits),
    bytes: entries.reduce((sum, entry) => sum + entry.length + ENTRY_BYTES, SUBSCRIBER_BYTES),
  }
}

/**
 * Returns the positions that the keys join, ascending: at least one, and more as long as the
 * combinations stay few.
 */
function keyedPositions(lists: readonly (readonly string[])[]): number[] {
  const keyed: number[] = []
  let combinations = 1
  for (const position of POSITIONS_BY_SELECTIVITY) {
    const count = lists[position]?.length ?? 0
    if (count === 0) continue
    const addsTooMany = keyed.length > 0 && count > 1 && combinations * count > MAX_JOINED_KEYS
    if (addsTooMany) continue
    combinations *= count
    keyed.push(position)
  }
  return keyed.sort((a, b) => a - b)
}

function addKeys(tables: Map<number, KeyTable>, subscriber: Subscriber): void {
  const table: KeyTable = tables.get(subscriber.shape) ?? new Map()
  tables.set(subscriber.shape, table)
  for (const key of subscriber.keys) {
    const sharing = table.get(key)
    if (sharing === undefined) table.set(key, new Set([subscriber]))
    else sharing.add(subscriber)
  }
}

function removeKeys(tables: Map<number, KeyTable>, subscriber: Subscriber): void {
  const table = tables.get(subscriber.shape)!
  for (const key of subscriber.keys) {
    const sharing = table.get(key)!
    sharing.delete(subscriber)
    if (sharing.size === 0) table.delete(key)
  }
  if (table.size === 0) tables.delete(subscriber.shape)
}

/**
 * Returns the subscribers whose criteria the log matches: one look-up in each table, of at most 62
 * tables.
 */
function findSubscribers(tables: ReadonlyMap<number, KeyTable>, { address, topics }: Log): Subscriber[] {
  const items = [address, ...topics].map(bytesKey)
  const found: Subscriber[] = []
  for (const [shape, table] of tables) {
    if (topics.length < shape >> POSITION_BITS) continue
    const key = items.filter((_, position) => (shape & (1 << position)) !== 0).join('')
    for (const subscriber of table.get(key) ?? []) {
      if (subscriber.unkeyed.every(({ position, wanted }) => wanted.has(items[position]!))) found.push(subscriber)
    }
  }
  return found
}
