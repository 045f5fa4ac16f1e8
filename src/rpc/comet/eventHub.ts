import type { RoundEvent } from '../../consensus/roundEvents.ts'
import { type EventQuery, type EventValues, meetsCondition } from '../events/eventQuery.ts'
import type { RpcLog } from '../jsonrpc/errors.ts'
import type { ContextLease } from '../jsonrpc/runMethod.ts'
import { createNotificationWork, deliveryWork, type NotificationWork } from '../subscriptions/notificationWork.ts'
import type { ClientBudget } from '../transport/clientBudget.ts'
import { type NotificationEnd, notificationEnd } from '../transport/socketProtocol.ts'
import { BLOCK_EVENT_KINDS, type BlockEventsContext, blockEventsOf, type CometEvent } from './blockEvents.ts'
import {
  createEventSubscribers,
  type EventSubscriber,
  type EventSubscribers,
  type SharedQuery,
} from './eventSubscribers.ts'
import { cometEventOf, wantsRoundEvents } from './roundEvents.ts'

/** All CometBFT subscriptions of one socket thread. */
export interface CometEventHub {
  /**
   * Starts a subscription; the returned function ends it. undefined: the queries of the client, or
   * of all clients, take too much memory.
   */
  add(query: EventQuery, subscriber: EventSubscriber): (() => void) | undefined
}

/** Source of the events of rounds, while they are wanted. */
export interface RoundEventSource {
  /** Counts one subscription more (1) or less (-1) that wants them. */
  watch(change: 1 | -1): void
  /** Calls the only listener with the events since its last call. */
  onEvents(listener: (events: readonly RoundEvent[]) => void): void
}

interface CometEventHubOptions {
  /** calls `listener` for each newest block, also when several were published at once, until the returned function is called */
  readonly onHead: (listener: (height: number) => void) => () => void
  readonly rounds: RoundEventSource
  /**
   * the head that clients already know: the first events for a subscriber are of the block after it
   */
  readonly headHeight: () => number
  /** on the newest blocks; `release` must follow */
  readonly lease: () => Pick<ContextLease, 'release'> & { readonly context: BlockEventsContext }
  /** bytes for the queries */
  readonly budget: ClientBudget
  /** absent: the default of `NotificationWork` */
  readonly workPerBlock?: number
  /** for the events of a round; absent: {@link WORK_PER_ROUND} */
  readonly workPerRound?: number
  /** called when a subscriber is dropped because its client causes too much work */
  readonly onDropped?: () => void
  readonly log: Pick<RpcLog, 'error'>
}

/** Work to find the queries for an event, besides the comparison of its values. */
const EVENT_WORK = 20
/**
 * Bytes of an event's JSON that are made in one unit of work. The comparison of a condition with a
 * value is one unit too.
 */
const BYTES_MADE = 64
/**
 * Work for the events of a round, in addition to the work for a block, because a round without a
 * decision has no block. A client alone has a fifth, some 3,000 events; 50 validators make about
 * 110 in a round. Above that, its connections are dropped.
 */
const WORK_PER_ROUND = 500_000
/**
 * Most events of rounds that wait for this thread; further ones are dropped, and counted. A round
 * of 50 validators has some 110.
 */
const MAX_WAITING_EVENTS = 4_096

/**
 * Creates the hub. It notifies of every height once and in order. Without subscribers it does not
 * follow heads.
 */
export function createCometEventHub(options: CometEventHubOptions): CometEventHub {
  const { onHead, rounds, headHeight, lease, budget, workPerBlock, onDropped, log } = options
  const subscribers = createEventSubscribers(budget)
  let notifiedHeight = 0
  let newest = 0
  let isNotifying = false
  /** while heads are followed */
  let unfollow: (() => void) | undefined

  const notifyAll = async (): Promise<void> => {
    isNotifying = true
    try {
      while (notifiedHeight < newest && subscribers.size > 0) {
        const { context, release } = lease()
        try {
          const work = createNotificationWork({
            ...(workPerBlock === undefined ? {} : { total: workPerBlock }),
            onDropped,
          })
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

  const follow = (): void => {
    if (unfollow !== undefined) return
    newest = headHeight()
    notifiedHeight = newest
    unfollow = onHead((height) => {
      newest = height
      if (isNotifying) return
      if (subscribers.size > 0) return void notifyAll()
      unfollow?.()
      unfollow = undefined
    })
  }

  const reporter = createRoundReporter(options, subscribers)
  rounds.onEvents(reporter.report)

  return {
    add: (query, subscriber) => {
      follow()
      // Blocks that were published earlier are not for a new subscriber.
      const end = subscribers.add(query, newest + 1, subscriber)
      return end && wantsRoundEvents(query) ? reporter.watched(end) : end
    },
  }
}

/** Notifies of the events of rounds, in their order. */
function createRoundReporter(
  { rounds, workPerRound = WORK_PER_ROUND, onDropped, log }: CometEventHubOptions,
  subscribers: EventSubscribers,
) {
  const waiting: RoundEvent[] = []
  let watchers = 0
  let isReporting = false
  let newest = { height: 0, round: 0 }
  let work = createNotificationWork({ total: workPerRound, onDropped })

  /**
   * Starts the budget of a round; late votes of earlier rounds count to that of the newest round.
   */
  const enter = ({ height, round }: { readonly height: number; readonly round: number }): void => {
    if (height < newest.height || (height === newest.height && round <= newest.round)) return
    newest = { height, round }
    work = createNotificationWork({ total: workPerRound, onDropped })
  }

  const reportAll = async (): Promise<void> => {
    isReporting = true
    try {
      for (let event = waiting.shift(); event !== undefined; event = waiting.shift()) {
        // A vote may be of a round that this node is not in.
        if (event.kind !== 'Vote') enter(event)
        const comet = cometEventOf(event)
        const candidates = subscribers.candidates(comet.values)
        if (candidates.length === 0) continue
        work.spend(EVENT_WORK)
        await work.pause()
        await deliverEvent(comet, Number.POSITIVE_INFINITY, candidates, work)
      }
    } catch (error) {
      log.error({ error, ...newest }, 'subscribers were not notified of a round')
    } finally {
      isReporting = false
    }
  }

  return {
    report: (events: readonly RoundEvent[]): void => {
      if (watchers === 0) return
      const room = MAX_WAITING_EVENTS - waiting.length
      waiting.push(...events.slice(0, room))
      for (let dropped = room; dropped < events.length; dropped++) onDropped?.()
      if (!isReporting) void reportAll()
    },
    /** Counts a subscription that wants these events until the returned function ends it. */
    watched: (end: () => void): (() => void) => {
      watchers++
      rounds.watch(1)
      let hasEnded = false
      return () => {
        end()
        if (hasEnded) return
        hasEnded = true
        watchers--
        rounds.watch(-1)
      }
    },
  }
}

/**
 * Notifies of a block's events in their order: each goes to all its subscribers before the next
 * one.
 */
async function notifyBlock(
  context: BlockEventsContext,
  height: number,
  subscribers: EventSubscribers,
  work: NotificationWork,
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

/** Delivers an event, which is formatted as JSON once for all its subscribers. */
async function deliverEvent(
  event: CometEvent,
  height: number,
  candidates: readonly SharedQuery[],
  work: NotificationWork,
): Promise<void> {
  let end: NotificationEnd | undefined
  for (const shared of candidates) {
    if (!(await isMet(shared, event.values, work))) continue
    // Subscriptions may end, and start for later blocks, while others have their turn: the
    // iteration covers these changes.
    for (const [subscriber, fromHeight] of shared.subscribers) {
      if (fromHeight > height) continue
      if (end === undefined) {
        end = endOf(event)
        work.spend(end.length / BYTES_MADE)
      }
      if (work.spendFor(subscriber, deliveryWork(subscriber.startLength + end.length))) subscriber.deliver(end)
      await work.pause()
    }
  }
}

function endOf({ data, values }: CometEvent): NotificationEnd {
  return notificationEnd(`"data":${JSON.stringify(data())},"events":${JSON.stringify(Object.fromEntries(values))}}}`)
}

/** Matches a query once for all its subscribers. The work counts for the first of them. */
async function isMet(
  { query, subscribers }: SharedQuery,
  values: EventValues,
  work: NotificationWork,
): Promise<boolean> {
  for (const condition of query.conditions) {
    const [first] = subscribers.keys()
    if (first === undefined) return false
    work.spendFor(first, 1 + (values.get(condition.key)?.length ?? 0))
    await work.pause()
    if (!meetsCondition(condition, values)) return false
  }
  return true
}
