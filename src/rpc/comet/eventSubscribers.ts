import type { EventCondition, EventQuery, EventValues } from '../events/eventQuery.ts'
import type { NotificationSubscriber } from '../subscriptions/notificationWork.ts'
import type { ClientBudget } from '../transport/clientBudget.ts'

/**
 * A subscriber to the events that match a query. `deliver` gets the part of a notification's result
 * after the member `query`.
 */
export interface EventSubscriber extends NotificationSubscriber {
  /** characters that `deliver` retains, and writes before the end */
  readonly startLength: number
}

/** A query, and all subscriptions to it with the same text. It is matched once for all of them. */
export interface SharedQuery {
  readonly query: EventQuery
  /** with the height from which on each is notified */
  readonly subscribers: ReadonlyMap<EventSubscriber, number>
}

/** The queries of all subscriptions of one socket thread, found by the events that may meet them. */
export interface EventSubscribers {
  readonly size: number
  /**
   * Starts a subscription; the returned function ends it. undefined: it exceeds the memory budget.
   * @param fromHeight the first block that the subscriber is notified of
   */
  add(query: EventQuery, fromHeight: number, subscriber: EventSubscriber): (() => void) | undefined
  /** Whether events with this `tm.event` may match a query. */
  wants(kind: string): boolean
  /**
   * Returns the queries to compare with an event: those whose most selective condition the event
   * meets.
   */
  candidates(values: EventValues): readonly SharedQuery[]
}

interface IndexedQuery extends SharedQuery {
  readonly subscribers: Map<EventSubscriber, number>
  /** the `tm.event` that it requires; undefined: any */
  readonly kind: string | undefined
  readonly place: Place
}

/**
 * Position of a query in the index: by a value that its events must have for a key or, without such
 * a condition, by the key alone.
 */
interface Place {
  readonly key: string
  readonly value: string | undefined
}

/** Keys that all events of a kind have, so they select little. */
const OWN_KEYS: ReadonlySet<string> = new Set(['tm.event', 'tx.height', 'block.height'])

/** Memory of a subscription, and of each condition of its query, besides their texts. */
const SUBSCRIPTION_BYTES = 1_500
const CONDITION_BYTES = 300
/**
 * A query is in memory as written, with normalized spaces, and in parts; a character takes up to
 * two bytes.
 */
const BYTES_PER_CHARACTER = 6

/**
 * Creates the subscriptions of a socket thread.
 * @param budget bytes for the queries, returned when a subscription ends
 */
export function createEventSubscribers(budget: ClientBudget): EventSubscribers {
  const queries = new Map<string, IndexedQuery>()
  const byKey = new Map<string, Map<string | undefined, Set<IndexedQuery>>>()
  /** number of queries by the `tm.event` that they require */
  const kinds = new Map<string | undefined, number>()
  let size = 0

  const countKind = (kind: string | undefined, change: 1 | -1): void => {
    const count = (kinds.get(kind) ?? 0) + change
    if (count === 0) kinds.delete(kind)
    else kinds.set(kind, count)
  }
  const insert = (query: EventQuery): IndexedQuery => {
    const shared = { query, subscribers: new Map(), kind: kindOf(query), place: placeOf(query) }
    const { key, value } = shared.place
    const byValue = byKey.get(key) ?? new Map<string | undefined, Set<IndexedQuery>>()
    byKey.set(key, byValue)
    const sharing = byValue.get(value)
    if (sharing === undefined) byValue.set(value, new Set([shared]))
    else sharing.add(shared)
    queries.set(query.text, shared)
    countKind(shared.kind, 1)
    return shared
  }
  const remove = (shared: IndexedQuery): void => {
    const { key, value } = shared.place
    const byValue = byKey.get(key)!
    const sharing = byValue.get(value)!
    sharing.delete(shared)
    if (sharing.size === 0) byValue.delete(value)
    if (byValue.size === 0) byKey.delete(key)
    queries.delete(shared.query.text)
    countKind(shared.kind, -1)
  }

  return {
    get size() {
      return size
    },
    add: (query, fromHeight, subscriber) => {
      const bytes = bytesOf(query) + 2 * subscriber.startLength
      if (!budget.take(subscriber.client, bytes)) return undefined
      const shared = queries.get(query.text) ?? insert(query)
      shared.subscribers.set(subscriber, fromHeight)
      size++
      return () => {
        if (!shared.subscribers.delete(subscriber)) return
        if (shared.subscribers.size === 0) remove(shared)
        size--
        budget.giveBack(subscriber.client, bytes)
      }
    },
    wants: (kind) => kinds.has(kind) || kinds.has(undefined),
    candidates: (values) => {
      const found: SharedQuery[] = []
      for (const [key, ofKey] of values) {
        const byValue = byKey.get(key)
        if (byValue === undefined) continue
        for (const value of [undefined, ...new Set(ofKey)])
          for (const query of byValue.get(value) ?? []) found.push(query)
      }
      return found
    },
  }
}

/**
 * Returns the kind of events that a query requires, as nearly all queries do. No event matches a
 * query for two kinds.
 */
function kindOf({ conditions }: EventQuery): string | undefined {
  const named = conditions.find((condition) => condition.key === 'tm.event' && equalTo(condition) !== undefined)
  return named && equalTo(named)
}

/** Returns the value that a condition requires; undefined when several values meet it. */
function equalTo(condition: EventCondition): string | undefined {
  return condition.operator === '=' && typeof condition.operand === 'string' ? condition.operand : undefined
}

function placeOf({ conditions }: EventQuery): Place {
  const best = conditions.reduce((a, b) => (selectivity(b) > selectivity(a) ? b : a))
  return { key: best.key, value: equalTo(best) }
}

/**
 * Returns how selective a condition is: a value rules out most events, `tm.event` few, a key that
 * all events have does not rule out any.
 */
function selectivity(condition: EventCondition): number {
  const hasValue = equalTo(condition) !== undefined
  if (hasValue && condition.key !== 'tm.event') return 3
  if (!OWN_KEYS.has(condition.key)) return 2
  return hasValue ? 1 : 0
}

function bytesOf({ text, conditions }: EventQuery): number {
  return SUBSCRIPTION_BYTES + conditions.length * CONDITION_BYTES + text.length * BYTES_PER_CHARACTER
}
