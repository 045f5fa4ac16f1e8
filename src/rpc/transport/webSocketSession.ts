import type { Duplex } from 'node:stream'
import type { RawData, WebSocket } from 'ws'
import { createCaller, monotonicMs, scopeOf } from '../jsonrpc/callScope.ts'
import { type AnswerText, answerBuffer } from '../jsonrpc/resultText.ts'
import type { ClientBudget } from './clientBudget.ts'
import type { RateLimit } from './rateLimit.ts'
import type { NotificationEnd, SocketProtocol, SocketSubscriptions } from './socketProtocol.ts'
import { UnfinishedMessage } from './unfinishedMessage.ts'
import { bytesInSocket, type UnreadBytes, type UnreadMessage } from './unreadBytes.ts'

export interface WebSocketLimits {
  readonly subscriptions: number
  /** running requests of one socket, and their bytes; further ones are not read from the network */
  readonly requestsInFlight: number
  readonly requestBytesInFlight: number
  /** milliseconds in which a client has to send the rest of a message that it has begun */
  readonly messageMs: number
  /** bytes that may wait for a client that does not read; above that, it is dropped */
  readonly bufferedBytes: number
  /** milliseconds for which a client may leave everything unread */
  readonly stalledMs: number
  /** milliseconds of silence after which the client is pinged, and within which it has to answer */
  readonly pingMs: number
  readonly pongMs: number
  /** milliseconds for the closing handshake; after that the memory of waiting messages is freed */
  readonly closingMs: number
}

/** When a client may come again whose running messages take too much memory. */
const RETRY_SECONDS = 1
/**
 * Messages that are refused one after another before the connection is closed: refusing a short
 * message costs about as much as answering it, and a client that respects the waiting time does not
 * send so many.
 */
const MAX_REFUSALS = 256

/** RFC 6455, section 7.4.1 and the IANA registry. */
export const CLOSE_CODES = { goingAway: 1001, policyViolation: 1008, tryAgainLater: 1013 } as const

interface Message {
  readonly text: string
  /** when its last byte was read; see `scopeOf` */
  readonly arrivedMs: number
}

interface Subscription {
  readonly end: () => void
  /** notifications from before the client got the ID; undefined once it has the ID */
  queued: QueuedNotification[] | undefined
}

interface QueuedNotification extends UnreadMessage {
  readonly start: string
  readonly end: NotificationEnd
}

export interface SessionOptions {
  /** the stream that the WebSocket reads */
  readonly stream: Duplex
  /** the client that its messages count for */
  readonly client: string
  readonly protocol: SocketProtocol
  readonly rateLimit: Pick<RateLimit, 'admit'>
  readonly requests: ClientBudget
  /** of the subscriptions of all sockets */
  readonly budget: ClientBudget
  /** of all sockets */
  readonly unread: UnreadBytes
  /** called when more bytes have to wait */
  readonly onUnread: () => void
  readonly limits: WebSocketLimits
}

/** One WebSocket connection: its requests, its subscriptions and its health. */
export class WebSocketSession {
  readonly #socket: WebSocket
  readonly #stream: Duplex
  readonly client: string
  readonly #caller = createCaller()
  readonly #protocol: SocketProtocol
  readonly #rateLimit: Pick<RateLimit, 'admit'>
  readonly #requests: ClientBudget
  readonly #budget: ClientBudget
  readonly #limits: WebSocketLimits
  readonly #subscriptions = new Map<string, Subscription>()
  readonly #waiting: Message[] = []
  readonly #unfinished: UnfinishedMessage
  #inFlight = 0
  #inFlightLength = 0
  /** messages that were refused since the last accepted one */
  #refusals = 0
  /** the data of the pong that is sent at the end of this turn of the event loop */
  #pingData: Buffer | undefined
  readonly #unread: UnreadBytes
  readonly #onUnread: () => void
  /** messages that wait for this client */
  readonly #messages = new Set<UnreadMessage>()
  #unreadBytes = 0
  #lastReceivedMs: number
  #pingedMs: number | undefined
  #flushedMs: number

  constructor(socket: WebSocket, options: SessionOptions) {
    const { stream, client, protocol, rateLimit, requests, budget, unread, onUnread, limits } = options
    this.#socket = socket
    this.#stream = stream
    this.client = client
    this.#protocol = protocol
    this.#rateLimit = rateLimit
    this.#requests = requests
    this.#budget = budget
    this.#unread = unread
    this.#onUnread = onUnread
    this.#limits = limits
    this.#lastReceivedMs = performance.now()
    this.#flushedMs = this.#lastReceivedMs
    this.#unfinished = new UnfinishedMessage(requests, client)
    // Before `ws` reads them: a complete message counts as one that is being answered, and not
    // twice.
    stream.prependListener('data', (bytes: Buffer) => this.#read(bytes))
    socket.on('message', (data) => this.#received(toText(data)))
    socket.on('pong', () => this.#markAlive())
    socket.on('ping', (data) => this.#pinged(data))
    socket.on('close', () => {
      this.#endAll()
      this.#freeMessages()
      this.#unfinished.release()
    })
    // `ws` closes the socket by itself after an error (a frame that is too large, a reset
    // connection).
    socket.on('error', () => {
      this.#endAll()
      this.#discardInput()
    })
  }

  get subscriptionCount(): number {
    return this.#subscriptions.size
  }

  /** Memory of the messages that wait for this client, as if nothing were shared with others. */
  get unreadBytes(): number {
    return this.#unreadBytes
  }

  /**
   * Checks the connection, about once per second: pings an idle client, drops one that is dead,
   * does not read or does not complete its message.
   */
  check(nowMs: number): void {
    const { messageMs, stalledMs, pingMs, pongMs } = this.#limits
    const isReading = this.#socket.readyState === this.#socket.OPEN && !this.#socket.isPaused
    if (isReading && this.#unfinished.isLate(nowMs, messageMs))
      this.#refuseRest(CLOSE_CODES.policyViolation, 'the message was not complete in time')
    if (this.#socket.bufferedAmount === 0) this.#flushedMs = nowMs
    if (nowMs - this.#flushedMs > stalledMs) this.drop()
    else if (this.#pingedMs !== undefined && nowMs - this.#pingedMs > pongMs) this.#socket.terminate()
    else if (this.#pingedMs === undefined && nowMs - this.#lastReceivedMs > pingMs) {
      this.#pingedMs = nowMs
      if (this.#socket.readyState === this.#socket.OPEN) this.#socket.ping()
    }
  }

  /**
   * Closes the connection of a client that reads too slowly, so that its waiting messages do not
   * fill the memory.
   */
  drop(): void {
    this.close(CLOSE_CODES.tryAgainLater, 'the client reads too slowly')
  }

  /**
   * Closes the connection without a closing handshake, because the memory of the waiting messages
   * is needed at once.
   */
  abandon(): void {
    this.#endAll()
    this.#socket.terminate()
    this.#freeMessages()
  }

  close(code: number, reason: string): void {
    this.#endAll()
    if (this.#socket.readyState !== this.#socket.OPEN) return
    // The client's part of the closing handshake has to be read.
    this.#socket.resume()
    this.#socket.close(code, reason)
    const timer = setTimeout(() => this.#socket.terminate(), this.#limits.closingMs).unref()
    this.#socket.once('close', () => clearTimeout(timer))
  }

  #read(bytes: Uint8Array): void {
    if (!this.#unfinished.add(bytes, performance.now()))
      this.#refuseRest(CLOSE_CODES.tryAgainLater, 'messages under way take too much memory')
  }

  /**
   * Closes the connection of a client whose message is not complete; the rest of the message is
   * read and discarded.
   */
  #refuseRest(code: number, reason: string): void {
    this.#discardInput()
    if (this.#socket.readyState === this.#socket.OPEN) this.close(code, reason)
    else this.#socket.terminate()
  }

  #discardInput(): void {
    this.#stream.removeAllListeners('data')
    this.#stream.resume()
  }

  #received(text: string): void {
    this.#markAlive()
    if (this.#socket.readyState !== this.#socket.OPEN) return
    const waitSeconds = this.#admit(text.length)
    if (waitSeconds > 0) {
      this.#refuse(text, waitSeconds)
      return
    }
    this.#refusals = 0
    const message = { text, arrivedMs: monotonicMs() }
    // Messages in the same network packet arrive although reading is paused.
    if (this.#isBusy) this.#waiting.push(message)
    else void this.#answer(message)
  }

  #refuse(text: string, waitSeconds: number): void {
    if (++this.#refusals > MAX_REFUSALS) {
      this.close(CLOSE_CODES.tryAgainLater, 'the client keeps sending although it has to wait')
      return
    }
    const refusal = this.#protocol.refuse(text, waitSeconds)
    if (refusal !== undefined) this.#send(refusal)
  }

  /**
   * Returns the seconds after which a message of this length may come again; 0: it is admitted, and
   * its bytes are taken.
   */
  #admit(length: number): number {
    const waitSeconds = this.#rateLimit.admit(this.client, length)
    if (waitSeconds > 0) return waitSeconds
    return this.#requests.take(this.client, length) ? 0 : RETRY_SECONDS
  }

  get #isBusy(): boolean {
    const { requestsInFlight, requestBytesInFlight } = this.#limits
    return this.#inFlight >= requestsInFlight || this.#inFlightLength >= requestBytesInFlight
  }

  async #answer({ text, arrivedMs }: Message): Promise<void> {
    this.#inFlight++
    this.#inFlightLength += text.length
    if (this.#isBusy) this.#socket.pause()
    const started: string[] = []
    const answer = await this.#protocol.answer(
      text,
      scopeOf(this.client, this.#caller.signal, arrivedMs),
      this.#subscriptionsFor(started),
    )
    this.#inFlight--
    this.#inFlightLength -= text.length
    this.#requests.giveBack(this.client, text.length)
    if (answer !== undefined) this.#send(answer)
    for (const id of started) this.#confirm(id, this.#protocol.confirms(answer, id))
    while (!this.#isBusy) {
      const next = this.#waiting.shift()
      if (next === undefined) break
      void this.#answer(next)
    }
    if (!this.#isBusy && this.#socket.isPaused) {
      this.#unfinished.restart(performance.now())
      this.#socket.resume()
    }
  }

  /**
   * Returns the subscriptions for the answer to one message; collects the IDs of those that it
   * starts in `started`.
   */
  #subscriptionsFor(started: string[]): SocketSubscriptions {
    const subscriptions = this.#subscriptions
    return {
      get count() {
        return subscriptions.size
      },
      has: (id) => subscriptions.has(id),
      start: (id, begin) => {
        if (!this.#budget.take(this.client, 1)) return false
        try {
          const drop = (): void =>
            this.close(CLOSE_CODES.tryAgainLater, 'the subscriptions of the client are too much work')
          const hasUnread = (): boolean => this.#unreadBytes > 0
          const stop = begin((start, end) => this.#notify(id, start, end), drop, hasUnread)
          subscriptions.set(id, { end: stop, queued: [] })
        } catch (error) {
          this.#budget.giveBack(this.client, 1)
          throw error
        }
        started.push(id)
        return true
      },
      end: (id) => this.#unsubscribe(id),
      endAll: () => {
        for (const id of [...subscriptions.keys()]) this.#unsubscribe(id)
      },
    }
  }

  #unsubscribe(id: string): boolean {
    const subscription = this.#subscriptions.get(id)
    if (subscription === undefined) return false
    subscription.end()
    this.#budget.giveBack(this.client, 1)
    this.#release(subscription)
    return this.#subscriptions.delete(id)
  }

  #notify(id: string, start: string, end: NotificationEnd): void {
    const queued = this.#subscriptions.get(id)?.queued
    if (queued === undefined) {
      this.#sendNotification(start, end)
      return
    }
    // The start is one text for the whole subscription.
    const own = typeof end === 'string' ? { ownBytes: end.length, shared: undefined } : { ownBytes: 0, shared: end }
    const notification = { start, end, ...own }
    queued.push(notification)
    this.#hold(notification)
    if (this.#unreadBytes > this.#limits.bufferedBytes) this.drop()
  }

  /**
   * Notes that the answer with a subscription's ID has been sent, so its notifications may follow.
   * Without an answer the client does not have the ID.
   */
  #confirm(id: string, isKnown: boolean): void {
    const subscription = this.#subscriptions.get(id)
    if (subscription === undefined) return
    if (!isKnown) this.#unsubscribe(id)
    else for (const { start, end } of this.#release(subscription)) this.#sendNotification(start, end)
  }

  #release(subscription: Subscription): readonly QueuedNotification[] {
    const { queued = [] } = subscription
    subscription.queued = undefined
    for (const notification of queued) this.#free(notification)
    return queued
  }

  #sendNotification(start: string, end: NotificationEnd): void {
    if (typeof end === 'string') {
      this.#send(start + end)
      return
    }
    if (!this.#mayTake()) return
    this.#socket.send(start, { fin: false })
    this.#sendText(end, { ownBytes: start.length, shared: end })
  }

  #send(answer: AnswerText): void {
    if (!this.#mayTake()) return
    const text = typeof answer === 'string' ? answer : answerBuffer(answer)
    this.#sendText(text, { ownBytes: text.length, shared: undefined })
  }

  /** Whether the socket takes a message: it is open, and the client reads. */
  #mayTake(): boolean {
    if (this.#socket.readyState !== this.#socket.OPEN) return false
    if (this.#unreadBytes <= this.#limits.bufferedBytes) return true
    this.drop()
    return false
  }

  /** @param message the memory of the message when it has to wait */
  #sendText(text: string | Buffer, message: UnreadMessage): void {
    this.#socket.send(text, { binary: false }, (error) => this.#written(message, error))
    this.#holdUnwritten(message)
  }

  /**
   * Answers only the newest ping in a turn of the event loop, which RFC 6455, section 5.5.3,
   * allows: pings do not count as requests, and a ping is six bytes for the client, but a system
   * call for the node.
   */
  #pinged(data: Buffer): void {
    this.#markAlive()
    const isFirst = this.#pingData === undefined
    this.#pingData = data
    if (isFirst) setImmediate(() => this.#pong())
  }

  #pong(): void {
    const data = this.#pingData!
    this.#pingData = undefined
    if (!this.#mayTake()) return
    const message = { ownBytes: data.length, shared: undefined }
    this.#socket.pong(data, false, (error) => this.#written(message, error))
    this.#holdUnwritten(message)
  }

  #written(message: UnreadMessage, error: Error | null | undefined): void {
    this.#free(message)
    if (!error) this.#flushedMs = performance.now()
  }

  /**
   * Holds a message that the system has not taken at once: one that it has taken no longer uses our
   * memory.
   */
  #holdUnwritten(message: UnreadMessage): void {
    if (this.#socket.bufferedAmount > 0) this.#hold(message)
  }

  #hold(message: UnreadMessage): void {
    this.#messages.add(message)
    this.#unread.add(message)
    this.#unreadBytes += bytesInSocket(message)
    this.#onUnread()
  }

  #free(message: UnreadMessage): void {
    if (!this.#messages.delete(message)) return
    this.#unread.remove(message)
    this.#unreadBytes -= bytesInSocket(message)
  }

  #freeMessages(): void {
    for (const message of this.#messages) this.#free(message)
  }

  #markAlive(): void {
    this.#lastReceivedMs = performance.now()
    this.#pingedMs = undefined
  }

  #endAll(): void {
    this.#caller.leave()
    for (const subscription of this.#subscriptions.values()) {
      subscription.end()
      this.#release(subscription)
    }
    this.#budget.giveBack(this.client, this.#subscriptions.size)
    this.#subscriptions.clear()
    for (const { text } of this.#waiting) this.#requests.giveBack(this.client, text.length)
    this.#waiting.length = 0
  }
}

function toText(data: RawData): string {
  if (Array.isArray(data)) return Buffer.concat(data).toString('utf8')
  return Buffer.isBuffer(data) ? data.toString('utf8') : Buffer.from(data).toString('utf8')
}
