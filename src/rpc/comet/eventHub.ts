import { setImmediate as nextTurn } from 'node:timers/promises'
import { type ClientBudget, createClientBudget } from '../clientBudget.ts'
import type { RpcLog } from '../errors.ts'
import { type EventQuery, type EventValues, meetsCondition } from '../events/eventQuery.ts'
import type { ContextLease } from '../runMethod.ts'
import { type NotificationEnd, notificationEnd } from '../websocket.ts'
import { BLOCK_EVENT_KINDS, type BlockEventsContext, blockEventsOf, type CometEvent } from './blockEvents.ts'
import {
  createEventSubscribers,
  type EventSubscriber,
  type EventSubscribers,
  type SharedQuery,
} from './eventSubscribers.ts'

/** All CometBFT subscriptions of one socket thread. */
export interface CometEventHub {
  /** Starts a subscription; the returned function ends it. undefined: the queries of the client, or of all, take too much memory. */
  add(query: EventQuery, subscriber: EventSubscriber): (() => void) | undefined
}

interface CometEventHubOptions {
  /** calls `listener` for each newest block, also when several were published at once */
  readonly onHead: (listener: (height: number) => void) => void
  /** the head that clients see already: the first events are of the block after it */
  readonly headHeight: number
  /** on the newest blocks; `release` must follow */
  readonly lease: () => Pick<ContextLease, 'release'> & { readonly context: BlockEventsContext }
  /** bytes for the queries */
  readonly budget: ClientBudget
  /** work for the events of one block; absent: `WORK_PER_BLOCK` */
  readonly workPerBlock?: number
  /** called when a subscriber is dropped because its client asks for too much work */
  readonly onDropped?: () => void
  readonly log: Pick<RpcLog, 'error'>
}

/**
 * Work is counted in comparisons of a condition with a value, which take up to 0.3 µs. In one turn of the event loop there are so many,
 * about 3 ms of them, before other connections have their turn.
 */
const WORK_PER_TURN = 10_000
/** To find the queries for an event, beside its values; to write a notification to a socket, beside its bytes. */
const EVENT_WORK = 20
const DELIVERY_WORK = 30
/** Bytes of an event that are made, or written to a socket, for the work of a comparison. */
const BYTES_MADE = 64
const BYTES_WRITTEN = 1_024
/**
 * Of one block, for all clients together. A client alone has a fifth of it (`ClientBudget`), which is each transaction of a full block
 * nine times; beyond it, its connections are dropped.
 */
const WORK_PER_BLOCK = 2_000_000

/** Notifies of every height once and in order. Without subscribers nothing is done. */
export function createCometEventHub(options: CometEventHubOptions): CometEventHub {
  const { onHead, headHeight, lease, budget, workPerBlock = WORK_PER_BLOCK, onDropped, log } = options
  const subscribers = createEventSubscribers(budget)
  let notifiedHeight = headHeight
  let newest = headHeight
  let isNotifying = false

  const notifyAll = async (): Promise<void> => {
    isNotifying = true
    try {
      while (notifiedHeight < newest && subscribers.size > 0) {
        const { context, release } = lease()
        try {
          const work = createBlockWork(workPerBlock, onDropped)
          await notifyBlock(context, ++notifiedHeight, subscribers, work)
        } finally {
          release()
        }
      }
      if (subscribers.size === 0) notifiedHeight = newest
    } catch (error) {
      log.error({ error, height: notifiedHeight }, 'subscribers were not notified of a block')
    } finally {
      isNotifying = false
    }
  }

  onHead((height) => {
    newest = height
    if (!isNotifying) void notifyAll()
  })

  // Blocks that were published before are not for a new subscriber.
  return { add: (query, subscriber) => subscribers.add(query, newest + 1, subscriber) }
}

/** What the events of one block cost, and whom. */
interface BlockWork {
  /** Counts work that is for nobody in particular. */
  spend(amount: number): void
  /** Counts work for a subscriber. false: it is more than the share of its client, and the subscriber is dropped. */
  spendFor(subscriber: EventSubscriber, amount: number): boolean
  /** Lets other connections have their turn when this one is used up; undefined: it is not. */
  pause(): Promise<void> | undefined
}

function createBlockWork(total: number, onDropped: (() => void) | undefined): BlockWork {
  const shares = createClientBudget({ total })
  let ofTurn = 0
  const spend = (amount: number): void => {
    ofTurn += amount
  }
  return {
    spend,
    spendFor: (subscriber, amount) => {
      spend(amount)
      if (shares.take(subscriber.client, amount)) return true
      onDropped?.()
      subscriber.drop()
      return false
    },
    pause: () => {
      if (ofTurn < WORK_PER_TURN) return undefined
      ofTurn = 0
      return nextTurn()
    },
  }
}

/** The order is that of the events: each goes to all its subscribers before the next one. */
async function notifyBlock(
  context: BlockEventsContext,
  height: number,
  subscribers: EventSubscribers,
  work: BlockWork,
): Promise<void> {
  for (const kind of BLOCK_EVENT_KINDS) {
    if (!subscribers.wants(kind)) continue
    for (const event of blockEventsOf(context, height, kind)) {
      work.spend(EVENT_WORK + event.values.size)
      await work.pause()
      await deliverEvent(event, height, subscribers.candidates(event.values), work)
    }
  }
}

/** The event is written as JSON once for all its subscribers. */
async function deliverEvent(
  event: CometEvent,
  height: number,
  candidates: readonly SharedQuery[],
  work: BlockWork,
): Promise<void> {
  let end: NotificationEnd | undefined
  for (const shared of candidates) {
    if (!(await isMet(shared, event.values, work))) continue
    // Subscriptions may end, and begin for later blocks, while others have their turn: the iteration goes along.
    for (const [subscriber, fromHeight] of shared.subscribers) {
      if (fromHeight > height) continue
      if (end === undefined) {
        end = endOf(event)
        work.spend(end.length / BYTES_MADE)
      }
      if (work.spendFor(subscriber, DELIVERY_WORK + (subscriber.keptLength + end.length) / BYTES_WRITTEN))
        subscriber.deliver(end)
      await work.pause()
    }
  }
}

function endOf({ data, values }: CometEvent): NotificationEnd {
  return notificationEnd(`"data":${JSON.stringify(data())},"events":${JSON.stringify(Object.fromEntries(values))}}}`)
}

/** Matches a query once for all its subscribers. The first of them answers for the work. */
async function isMet({ query, subscribers }: SharedQuery, values: EventValues, work: BlockWork): Promise<boolean> {
  for (const condition of query.conditions) {
    const [first] = subscribers.keys()
    if (first === undefined) return false
    work.spendFor(first, 1 + (values.get(condition.key)?.length ?? 0))
    await work.pause()
    if (!meetsCondition(condition, values)) return false
  }
  return true
}
