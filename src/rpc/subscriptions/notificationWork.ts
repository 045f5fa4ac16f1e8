import { setImmediate as nextTurn } from 'node:timers/promises'
import { createClientBudget } from '../transport/clientBudget.ts'
import type { NotificationEnd } from '../transport/socketProtocol.ts'

/** A subscriber to notifications. */
export interface NotificationSubscriber {
  /** the client that the subscription counts for */
  readonly client: string
  /** Takes the end of a notification, which is the same for all subscribers to one event. */
  deliver(end: NotificationEnd): void
  /** Ends the connection, because the client's subscriptions are too much work. */
  drop(): void
}

/** The cost of notifying subscribers, in units of at most 0.3 µs, and the clients that cause it. */
export interface NotificationWork {
  /** Counts work that serves no subscriber in particular. */
  spend(amount: number): void
  /**
   * Counts work for a subscriber. false: it exceeds the client's share, and the subscriber is
   * dropped.
   */
  spendFor(subscriber: Pick<NotificationSubscriber, 'client' | 'drop'>, amount: number): boolean
  /** Lets other connections have their turn when this turn is used up; undefined: it is not. */
  pause(): Promise<void> | undefined
}

interface NotificationWorkOptions {
  /** units for all clients together */
  readonly total?: number
  /** called when a subscriber is dropped */
  readonly onDropped?: (() => void) | undefined
}

/** About 3 ms of work in one turn of the event loop, before other connections have theirs. */
const WORK_PER_TURN = 10_000
/**
 * Work for one block's notifications. A client alone has a fifth (`ClientBudget`), some 12,000
 * short notifications: each transaction of a full block nine times. Above that, its connections are
 * dropped.
 */
const WORK_PER_BLOCK = 2_000_000
/**
 * Work to write a notification to a socket, and the number of its bytes that take one more unit.
 */
const DELIVERY_WORK = 30
const BYTES_WRITTEN = 1_024

/** Returns the work to write a notification of this many bytes. */
export function deliveryWork(bytes: number): number {
  return DELIVERY_WORK + bytes / BYTES_WRITTEN
}

export function createNotificationWork(options: NotificationWorkOptions): NotificationWork {
  const { total = WORK_PER_BLOCK, onDropped } = options
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
