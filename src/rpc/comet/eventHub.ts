import { setImmediate as nextTurn } from 'node:timers/promises'
import type { RpcLog } from '../errorResponse.ts'
import { type EventQuery, matchesEvents } from '../events/eventQuery.ts'
import type { ContextLease } from '../runMethod.ts'
import {
  BLOCK_EVENT_KINDS,
  type BlockEventKind,
  type BlockEventsContext,
  blockEventsOf,
  type CometEvent,
} from './json/eventJson.ts'

/** All CometBFT subscriptions of one socket thread. */
export interface CometEventHub {
  /** Starts one. @param deliver takes the JSON text of a notification's result. The function that it gives ends it. */
  add(query: EventQuery, deliver: (result: string) => void): () => void
}

export interface CometEventHubOptions {
  /** calls `listener` for each newest block, also when several were published at once */
  readonly onHead: (listener: (height: number) => void) => void
  /** the head that clients see already: the first events are of the block after it */
  readonly headHeight: number
  /** on the newest blocks; `release` must follow */
  readonly lease: () => Pick<ContextLease, 'release'> & { readonly context: BlockEventsContext }
  readonly log: Pick<RpcLog, 'error'>
}

interface Subscriber {
  readonly query: EventQuery
  readonly deliver: (result: string) => void
}

/** Events that are looked at before other work of the thread has a turn. */
const EVENTS_PER_TURN = 256

/** Tells every height once and in order. Without subscribers nothing is done. */
export function createCometEventHub({ onHead, headHeight, lease, log }: CometEventHubOptions): CometEventHub {
  const subscribers = new Set<Subscriber>()
  let toldHeight = headHeight
  let newest = headHeight
  let isTelling = false

  const notifyAll = async (): Promise<void> => {
    isTelling = true
    try {
      while (toldHeight < newest && subscribers.size > 0) {
        const { context, release } = lease()
        try {
          await notifyBlock(context, ++toldHeight, subscribers)
        } finally {
          release()
        }
      }
      if (subscribers.size === 0) toldHeight = newest
    } catch (error) {
      log.error({ error, height: toldHeight }, 'the subscribers were not told of a block')
    } finally {
      isTelling = false
    }
  }

  onHead((height) => {
    newest = height
    if (!isTelling) void notifyAll()
  })

  return {
    add: (query, deliver) => {
      // What was published before is none of its business.
      if (subscribers.size === 0 && !isTelling) toldHeight = newest
      const subscriber = { query, deliver }
      subscribers.add(subscriber)
      return () => subscribers.delete(subscriber)
    },
  }
}

async function notifyBlock(
  context: BlockEventsContext,
  height: number,
  subscribers: ReadonlySet<Subscriber>,
): Promise<void> {
  let looked = 0
  for (const kind of BLOCK_EVENT_KINDS) {
    const interested = [...subscribers].filter(({ query }) => mayMatch(query, kind))
    if (interested.length === 0) continue
    for (const event of blockEventsOf(context, height, kind)) {
      tell(event, interested)
      if (++looked % EVENTS_PER_TURN === 0) await nextTurn()
    }
  }
}

function tell(event: CometEvent, subscribers: readonly Subscriber[]): void {
  let data: string | undefined
  for (const { query, deliver } of subscribers) {
    if (!matchesEvents(query, event.values)) continue
    data ??= `"data":${JSON.stringify(event.data())},"events":${JSON.stringify(Object.fromEntries(event.values))}`
    deliver(`{"query":${JSON.stringify(query.text)},${data}}`)
  }
}

/** Nearly all queries name the kind of events that they want. */
function mayMatch({ conditions }: EventQuery, kind: BlockEventKind): boolean {
  return conditions.every(
    (condition) => condition.key !== 'tm.event' || condition.operator !== '=' || condition.operand === kind,
  )
}
