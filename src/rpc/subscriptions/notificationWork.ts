import { setImmediate as nextTurn } from 'node:timers/promises'
import { createClientBudget } from '../transport/clientBudget.ts'
import type { NotificationEnd } from '../transport/websocket.ts'

/** Somebody who is told of something. */
export interface NotificationSubscriber {
  /** whom the subscription counts for */
  readonly client: string
  /** Takes the end of a notification; all who are told of the same get the same. */
  deliver(end: NotificationEnd): void
  /** Ends the connection: what its client has subscribed to is too much work. */
  drop(): void
}

/** What it costs to tell subscribers of something, and whom. A unit is 0.3 µs or less. */
export interface NotificationWork {
  /** Counts work that is for nobody in particular. */
  spend(amount: number): void
  /** Counts work for a subscriber. false: it is more than the share of its client, and the subscriber is dropped. */
  spendFor(subscriber: Pick<NotificationSubscriber, 'client' | 'drop'>, amount: number): boolean
  /** Lets other connections have their turn when this one is used up; undefined: it is not. */
  pause(): Promise<void> | undefined
}

interface NotificationWorkOptions {
  /** units for all clients together */
  readonly total?: number
  /** called when a subscriber is dropped */
  readonly onDropped?: (() => void) | undefined
}

/** About 3 ms of work are done in one turn of the event loop before other connections have theirs. */
const WORK_PER_TURN = 10_000
/**
 * To tell of one block. A client alone has a fifth of it (`ClientBudget`), some 12,000 short notifications: each transaction of a full
 * block nine times. Beyond it, its connections are dropped.
 */
const WORK_PER_BLOCK = 2_000_000
/** To write a notification to a socket, and how many of its bytes are written for one unit more. */
const DELIVERY_WORK = 30
const BYTES_WRITTEN = 1_024

/** The work to write a notification of so many bytes. */
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
