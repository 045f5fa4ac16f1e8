import type { CallScope } from '../jsonrpc/callScope.ts'
import type { AnswerText } from '../jsonrpc/resultText.ts'

/** A protocol over a WebSocket. */
export interface SocketProtocol {
  /**
   * Answers a message; undefined: there is nothing to answer.
   * @param scope the client and the deadline
   */
  answer(text: string, scope: CallScope, subscriptions: SocketSubscriptions): Promise<AnswerText | undefined>
  /**
   * Returns the answer to a message that comes so soon that the client has to wait for `seconds`.
   */
  refuse(text: string, seconds: number): string | undefined
  /**
   * Whether an answer contains the ID of a subscription that it started; a subscription whose ID
   * the client does not get is ended.
   */
  confirms(answer: AnswerText | undefined, id: string): boolean
}

/** The subscriptions of one socket. */
export interface SocketSubscriptions {
  readonly count: number
  has(id: string): boolean
  /**
   * Starts a subscription. Its notifications wait until the answer to the message that started it
   * has been sent.
   * @param begin starts it with three functions: one delivers a notification, one closes the
   *   connection because the notifications are too much work, and one returns whether the client
   *   has not read everything that was sent; returns a function that ends the subscription
   * @returns false: the client, or all clients together, have too many
   */
  start(
    id: string,
    begin: (deliver: DeliverNotification, drop: () => void, hasUnread: () => boolean) => () => void,
  ): boolean
  /** Ends a subscription. false: there was no such subscription */
  end(id: string): boolean
  endAll(): void
}

/** Sends a notification; its text is `start` and `end`. */
export type DeliverNotification = (start: string, end: NotificationEnd) => void

/**
 * The part of a notification that all subscribers to an event share, made once by
 * `notificationEnd`. A long one is bytes, which are in memory once, however many sockets they wait
 * in: they are sent as a separate fragment (RFC 6455, section 5.4). A short one is a text, which is
 * copied into each message.
 */
export type NotificationEnd = string | Buffer

/** Characters from which on an end is a fragment. */
const FRAGMENT_LENGTH = 16_384

export function notificationEnd(text: string): NotificationEnd {
  return text.length < FRAGMENT_LENGTH ? text : Buffer.from(text)
}
